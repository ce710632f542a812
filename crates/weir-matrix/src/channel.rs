//! Matrix as a channel of the bridge.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use matrix_sdk::Client;
use tokio::sync::watch;
use weir_bridge::BridgeError;
use weir_bridge::channel::{
    BoxFuture, Capabilities, Channel, Inlet, MessageRef, Operation, OperationError, RemoteFile,
};
use weir_bridge::config::{MatrixLogin, Secret};
use weir_bridge::markup::Markup;

use crate::{check, download, listen, perform};

/// Maximum message length. An event may have 65,536 bytes; escaped as JSON and encrypted, a text can take three times
/// its own length.
const MAX_LENGTH: usize = 20_000;
/// How long an operation waits for the connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(20);

/// Options of the channel.
#[derive(Debug, Clone)]
pub struct MatrixOptions {
    /// URL or server name of the homeserver.
    pub homeserver: String,
    /// How to log in.
    pub login: MatrixLogin,
    /// Folder for the login and the keys. Others should not be able to read it.
    pub folder: PathBuf,
    /// Passphrase that encrypts the data in the folder.
    pub passphrase: Option<Secret>,
}

/// Maximum size of a file. Homeservers usually accept 50 MB; one that accepts less refuses the upload.
const MAX_FILE_BYTES: u64 = 50 << 20;

/// The Matrix channel.
#[derive(Debug)]
pub struct MatrixChannel {
    options: MatrixOptions,
    online: watch::Sender<Option<Client>>,
}

impl MatrixChannel {
    /// A channel with these options. Does not contact the homeserver yet.
    pub fn new(options: MatrixOptions) -> Self {
        Self { options, online: watch::Sender::new(None) }
    }

    pub(crate) fn options(&self) -> &MatrixOptions {
        &self.options
    }

    /// Sets the client, so that operations can be performed.
    pub(crate) fn set_online(&self, client: Client) {
        self.online.send_replace(Some(client));
    }

    /// Waits for the client, which is set once it knows its rooms.
    async fn client(&self) -> Result<Client, OperationError> {
        let not_yet = || OperationError::Passing("Matrix is not connected yet".to_owned());
        let mut online = self.online.subscribe();
        let client = tokio::time::timeout(CONNECT_TIMEOUT, online.wait_for(Option::is_some)).await;
        let client = client.map_err(|_| not_yet())?.map_err(|_| not_yet())?;
        client.clone().ok_or_else(not_yet)
    }
}

impl Channel for MatrixChannel {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            markup: Markup::MatrixHtml,
            longest: MAX_LENGTH,
            edits: true,
            deletes: true,
            typing: true,
            buttons: false,
            reactions: true,
            files: true,
            largest_picture: Some(MAX_FILE_BYTES),
            posts_once: true,
            edit_interval_ms: 1_000,
        }
    }

    fn run(self: Arc<Self>, inlet: Inlet) -> BoxFuture<'static, Result<(), BridgeError>> {
        Box::pin(listen::listen(self, inlet))
    }

    fn perform(&self, operation: Operation) -> BoxFuture<'_, Result<Option<MessageRef>, OperationError>> {
        Box::pin(async move {
            let client = self.client().await?;
            perform::perform(&client, operation).await
        })
    }

    fn fetch<'a>(&'a self, file: &'a RemoteFile, max_bytes: u64) -> BoxFuture<'a, Result<Vec<u8>, String>> {
        Box::pin(async move {
            let client = self.client().await.map_err(|error| error.to_string())?;
            download::download(&client, file, max_bytes).await
        })
    }

    fn check(&self) -> BoxFuture<'_, Result<Vec<String>, BridgeError>> {
        Box::pin(check::check(&self.options))
    }
}

#[cfg(test)]
mod tests {
    use weir_bridge::channel::Channel as _;
    use weir_bridge::config::{MatrixLogin, Secret};
    use weir_bridge::markup::Markup;

    use super::{MatrixChannel, MatrixOptions};

    /// The machine's tests of large replies use these numbers.
    #[test]
    fn capabilities_match_those_in_the_tests_of_the_machine() {
        let options = MatrixOptions {
            homeserver: "https://example.org".to_owned(),
            login: MatrixLogin::AccessToken(Secret::new("x")),
            folder: "matrix".into(),
            passphrase: None,
        };
        let can = MatrixChannel::new(options).capabilities();
        assert_eq!((can.markup, can.longest), (Markup::MatrixHtml, 20_000));
        assert!(can.edits && can.posts_once && can.files);
    }
}
