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

/// The body of an answer, of at most this many bytes; or why not, in a few words.
pub async fn read_at_most(mut answer: reqwest::Response, max_bytes: u64) -> Result<Vec<u8>, String> {
    let too_large = || format!("it has more than {} MB", max_bytes >> 20);
    if answer.content_length().is_some_and(|size| size > max_bytes) {
        return Err(too_large());
    }
    let mut data = Vec::new();
    while let Some(chunk) = answer.chunk().await.map_err(reason)? {
        if u64::try_from(data.len() + chunk.len()).is_ok_and(|size| size > max_bytes) {
            return Err(too_large());
        }
        data.extend_from_slice(&chunk);
    }
    Ok(data)
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
