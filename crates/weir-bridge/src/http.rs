//! The one HTTP client of the bridge: rustls, no redirects, limits on time.

use std::time::Duration;

use crate::error::BridgeError;

/// A client that waits at most so long for an answer.
pub fn client(patience: Duration) -> Result<reqwest::Client, BridgeError> {
    // Whoever was first has chosen; it does not matter which one it is.
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder()
        .user_agent(concat!("weir/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(Duration::from_secs(10))
        .timeout(patience)
        // A redirect could carry a token to somebody else.
        .redirect(reqwest::redirect::Policy::none())
        .build()
        .map_err(|error| BridgeError::Failed(format!("the HTTP client cannot be made: {error}")))
}

/// Why a request got no answer, without the address, which may hold a token.
pub fn reason(error: reqwest::Error) -> String {
    let error = error.without_url();
    let mut text = error.to_string();
    let mut source = std::error::Error::source(&error);
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    text
}
