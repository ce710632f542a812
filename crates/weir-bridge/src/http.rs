//! The HTTP client of the bridge: rustls, no redirects, timeouts.

use std::time::Duration;

use weir_base::error::with_causes;

use crate::error::BridgeError;

/// A client that waits at most `timeout` for a response.
pub fn client(timeout: Duration) -> Result<reqwest::Client, BridgeError> {
    // Fails if a provider is installed already. Any provider will do.
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder()
        .user_agent(concat!("weir/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(Duration::from_secs(10))
        .timeout(timeout)
        // A redirect could send a token to another host.
        .redirect(reqwest::redirect::Policy::none())
        .build()
        .map_err(|error| BridgeError::Failed(format!("cannot create the HTTP client: {error}")))
}

/// Reads the body of a response, up to `max_bytes`. The error is a short reason.
pub async fn read_at_most(mut response: reqwest::Response, max_bytes: u64) -> Result<Vec<u8>, String> {
    let too_large = || format!("it is larger than {} MB", max_bytes >> 20);
    if response.content_length().is_some_and(|size| size > max_bytes) {
        return Err(too_large());
    }
    let mut data = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(reason)? {
        if u64::try_from(data.len() + chunk.len()).is_ok_and(|size| size > max_bytes) {
            return Err(too_large());
        }
        data.extend_from_slice(&chunk);
    }
    Ok(data)
}

/// Why a request failed, without the URL, which may contain a token.
pub fn reason(error: reqwest::Error) -> String {
    with_causes(&error.without_url())
}
