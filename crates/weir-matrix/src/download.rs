//! Fetches files that came with messages, and decrypts them.
//!
//! By hand, because the SDK limits neither the size nor the time.

use std::io::{Cursor, Read as _};
use std::time::Duration;

use matrix_sdk::Client;
use matrix_sdk::ruma::MxcUri;
use matrix_sdk::ruma::events::room::{EncryptedFile, MediaSource};
use matrix_sdk_base::crypto::AttachmentDecryptor;
use weir_bridge::channel::RemoteFile;
use weir_bridge::http;

/// Time limit for a request.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(60);
/// Paths of files on homeservers, and whether they need a login. Old homeservers have the second one only.
const PATHS: [(&[&str], bool); 2] = [
    (&["_matrix", "client", "v1", "media", "download"], true),
    (&["_matrix", "media", "v3", "download"], false),
];

/// What is needed to fetch a file, as a string.
pub(crate) fn reference(source: &MediaSource) -> String {
    // Cannot fail: plain data with string keys.
    serde_json::to_string(source).unwrap_or_default()
}

/// Fetches a file of at most `max_bytes`.
pub(crate) async fn download(client: &Client, file: &RemoteFile, max_bytes: u64) -> Result<Vec<u8>, String> {
    let source: MediaSource =
        serde_json::from_str(&file.reference).map_err(|error| format!("its address is unknown: {error}"))?;
    match source {
        MediaSource::Plain(uri) => fetch(client, &uri, max_bytes).await,
        MediaSource::Encrypted(file) => {
            let data = fetch(client, &file.url, max_bytes).await?;
            decrypt(data, *file)
        }
    }
}

async fn fetch(client: &Client, uri: &MxcUri, max_bytes: u64) -> Result<Vec<u8>, String> {
    let (server, id) = uri.parts().map_err(|error| format!("its address is invalid: {error}"))?;
    let requests = http::client(REQUEST_TIMEOUT).map_err(|error| error.to_string())?;
    let mut problem = String::new();
    for (path, needs_login) in PATHS {
        let mut address = client.homeserver();
        address
            .path_segments_mut()
            .map_err(|()| "the homeserver's address has no path".to_owned())?
            .pop_if_empty()
            .extend(path)
            .extend([server.as_str(), id]);
        let mut request = requests.get(address.as_str());
        if let Some(token) = client.access_token().filter(|_| needs_login) {
            request = request.bearer_auth(token);
        }
        let mut response = request.send().await.map_err(http::reason)?;
        // Redirects are followed by hand, because the token must not be sent to another server.
        let elsewhere = response.headers().get("location").and_then(|place| place.to_str().ok());
        if let Some(place) = elsewhere.filter(|_| response.status().is_redirection()) {
            let place = address.join(place).map_err(|error| error.to_string())?;
            response = requests.get(place.as_str()).send().await.map_err(http::reason)?;
        }
        match response.status().as_u16() {
            200 => return http::read_at_most(response, max_bytes).await,
            status => problem = format!("the homeserver answered with status {status}"),
        }
        // Old homeservers do not have the first path.
        if !problem.ends_with("404") {
            break;
        }
    }
    Err(problem)
}

fn decrypt(data: Vec<u8>, file: EncryptedFile) -> Result<Vec<u8>, String> {
    let mut encrypted = Cursor::new(data);
    let mut decryptor = AttachmentDecryptor::new(&mut encrypted, file.into())
        .map_err(|error| format!("it cannot be decrypted: {error}"))?;
    let mut plain = Vec::new();
    decryptor.read_to_end(&mut plain).map_err(|error| format!("it cannot be decrypted: {error}"))?;
    Ok(plain)
}

#[cfg(test)]
mod tests {
    use matrix_sdk::Client;
    use matrix_sdk::ruma::events::room::MediaSource;
    use serde_json::json;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;
    use weir_bridge::channel::RemoteFile;

    use super::{decrypt, download, reference};

    /// A homeserver that serves files only without a login, and does not send their size.
    async fn old_homeserver(file: Vec<u8>) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let mut head = Vec::new();
                while !head.ends_with(b"\r\n\r\n") {
                    head.push(stream.read_u8().await.unwrap());
                }
                let is_known = head.starts_with(b"GET /_matrix/media/v3/download/e.org/1 ");
                let status = if is_known { "200 OK" } else { "404 Not Found" };
                let body: &[u8] = if is_known { &file } else { b"{}" };
                let _ = stream
                    .write_all(format!("HTTP/1.1 {status}\r\nconnection: close\r\n\r\n").as_bytes())
                    .await;
                let _ = stream.write_all(body).await;
            }
        });
        address
    }

    #[tokio::test]
    async fn the_size_is_limited() {
        let size = 3 << 20;
        let address = old_homeserver(vec![7; size]).await;
        let client = Client::builder().homeserver_url(address).build().await.unwrap();
        let file = RemoteFile {
            name: "a".into(),
            media_type: "image/png".into(),
            size: None,
            reference: json!({"url": "mxc://e.org/1"}).to_string(),
        };
        assert_eq!(download(&client, &file, 3 << 20).await.map(|data| data.len()), Ok(size));
        assert_eq!(download(&client, &file, 2 << 20).await, Err("it is larger than 2 MB".to_owned()));
        let gone = RemoteFile { reference: json!({"url": "mxc://e.org/2"}).to_string(), ..file };
        let error = download(&client, &gone, 2 << 20).await.unwrap_err();
        assert_eq!(error, "the homeserver answered with status 404");
    }

    #[test]
    fn a_reference_can_be_read_back() {
        let plain = json!({"url": "mxc://e.org/1"});
        let encrypted = json!({"file": {
            "url": "mxc://e.org/2", "v": "v2", "iv": "w+sE15fzSc0AAAAAAAAAAA",
            "key": {"kty": "oct", "alg": "A256CTR", "ext": true, "key_ops": ["encrypt", "decrypt"],
                "k": "aWF6-32KGYaC3A_FEUCk1Bt0JA37zP0wrStgmdCaW-0"},
            "hashes": {"sha256": "fdSLu/YkRx3Wyh3KQabP3rd6+SFiKg5lsJZQHtkSAYA"},
        }});
        for value in [plain, encrypted] {
            let source: MediaSource = serde_json::from_value(value).unwrap();
            let again: MediaSource = serde_json::from_str(&reference(&source)).unwrap();
            assert_eq!(reference(&again), reference(&source));
            if let MediaSource::Encrypted(file) = source {
                let error = decrypt(b"something else".to_vec(), *file).unwrap_err();
                assert!(error.starts_with("it cannot be decrypted: "), "{error}");
            }
        }
    }
}
