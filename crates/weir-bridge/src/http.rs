//! The HTTP client of the bridge: rustls, no redirects, timeouts.

use std::time::Duration;

use serde::Serialize;
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
        .map_err(|error| BridgeError::Failed(format!("cannot create the HTTP client: {}", reason(error))))
}

/// Posts JSON. The error is a short reason.
pub async fn post_json(url: &str, body: &impl Serialize, timeout: Duration) -> Result<(), String> {
    let client = client(timeout).map_err(|error| error.to_string())?;
    let response = client.post(url).json(body).send().await.map_err(reason)?;
    let status = response.status();
    if status.is_success() { Ok(()) } else { Err(format!("it answered {status}")) }
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

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;

    use super::*;

    /// Posts to a server that gives this answer. Returns what the server received, and what came of it.
    async fn post(answer: &'static str) -> (String, Result<(), String>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://name:pass%20word@{}/secret?a=\"b\"", listener.local_addr().unwrap());
        let served = async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut received = String::new();
            while !received.ends_with("{\"a\":1}") {
                let mut buffer = [0; 1024];
                let count = stream.read(&mut buffer).await.unwrap();
                received.push_str(std::str::from_utf8(&buffer[..count]).unwrap());
            }
            stream.write_all(answer.as_bytes()).await.unwrap();
            received.to_lowercase()
        };
        let body = serde_json::json!({"a": 1});
        tokio::join!(served, post_json(&url, &body, Duration::from_secs(20)))
    }

    #[tokio::test]
    async fn json_is_posted_with_the_name_and_password_of_the_url() {
        let (received, sent) = post("HTTP/1.1 204 No Content\r\n\r\n").await;
        assert_eq!(sent, Ok(()));
        assert!(received.starts_with("post /secret?a=%22b%22 "), "{received}");
        assert!(received.contains("\r\nauthorization: basic bmftztpwyxnzihdvcmq=\r\n"), "{received}");
        assert!(received.contains("\r\ncontent-type: application/json\r\n"), "{received}");
    }

    #[tokio::test]
    async fn a_redirect_is_not_followed_and_an_error_does_not_show_the_url() {
        // No one would be listening when the second request arrives.
        let moved = "HTTP/1.1 307 Temporary Redirect\r\nLocation: /elsewhere\r\nContent-Length: 0\r\n\r\n";
        assert_eq!(post(moved).await.1, Err("it answered 307 Temporary Redirect".to_owned()));
        let refused = "HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n";
        assert_eq!(post(refused).await.1, Err("it answered 403 Forbidden".to_owned()));
        let error = post("nonsense\r\n\r\n").await.1.unwrap_err();
        assert!(!error.contains("secret") && !error.contains("127.0.0.1"), "{error}");
    }
}
