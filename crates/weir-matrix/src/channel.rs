//! Matrix as a channel of the bridge.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use matrix_sdk::Client;
use tokio::sync::watch;
use weir_bridge::BridgeError;
use weir_bridge::channel::{
    Capabilities, Channel, Doing, Inlet, MessageRef, Operation, OperationError, RemoteFile,
};
use weir_bridge::config::{MatrixLogin, Secret};
use weir_bridge::markup::Markup;

use crate::{check, download, listen, perform};

/// An event may have 65,536 bytes. Escaped as JSON and then encrypted, a text can take three times its own length.
const LONGEST: usize = 20_000;
/// How long an operation waits for the connection.
const PATIENCE: Duration = Duration::from_secs(20);

/// What the channel works with.
#[derive(Debug, Clone)]
pub struct MatrixOptions {
    /// The homeserver: its address, or the name of the server.
    pub homeserver: String,
    /// How to get into the account.
    pub login: MatrixLogin,
    /// Where the login and the keys are kept. Nobody else should be able to read it.
    pub folder: PathBuf,
    /// Encrypts what is kept there.
    pub passphrase: Option<Secret>,
}

/// Homeservers usually take files of up to 50 MB; one that takes less says so.
const LARGEST_FILE: u64 = 50 << 20;

/// The channel.
#[derive(Debug)]
pub struct MatrixChannel {
    options: MatrixOptions,
    online: watch::Sender<Option<Client>>,
}

impl MatrixChannel {
    /// A channel with these options. Nothing is asked of the homeserver yet.
    pub fn new(options: MatrixOptions) -> Self {
        Self { options, online: watch::Sender::new(None) }
    }

    pub(crate) fn options(&self) -> &MatrixOptions {
        &self.options
    }

    /// From now on operations can be done.
    pub(crate) fn is_online(&self, client: Client) {
        self.online.send_replace(Some(client));
    }

    /// The client, once it knows its rooms.
    async fn client(&self) -> Result<Client, OperationError> {
        let not_yet = || OperationError::Passing("Matrix is not connected yet".to_owned());
        let mut online = self.online.subscribe();
        let client = tokio::time::timeout(PATIENCE, online.wait_for(Option::is_some)).await;
        let client = client.map_err(|_| not_yet())?.map_err(|_| not_yet())?;
        client.clone().ok_or_else(not_yet)
    }
}

impl Channel for MatrixChannel {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            markup: Markup::MatrixHtml,
            longest: LONGEST,
            edits: true,
            deletes: true,
            typing: true,
            buttons: false,
            reactions: true,
            files: true,
            largest_picture: Some(LARGEST_FILE),
            posts_once: true,
            edit_interval_ms: 1_000,
        }
    }

    fn run(self: Arc<Self>, inlet: Inlet) -> Doing<'static, Result<(), BridgeError>> {
        Box::pin(listen::listen(self, inlet))
    }

    fn perform(&self, operation: Operation) -> Doing<'_, Result<Option<MessageRef>, OperationError>> {
        Box::pin(async move {
            let client = self.client().await?;
            perform::perform(&client, operation).await
        })
    }

    fn fetch<'a>(&'a self, file: &'a RemoteFile, max_bytes: u64) -> Doing<'a, Result<Vec<u8>, String>> {
        Box::pin(async move {
            let client = self.client().await.map_err(|error| error.to_string())?;
            download::download(&client, file, max_bytes).await
        })
    }

    fn check(&self) -> Doing<'_, Result<Vec<String>, BridgeError>> {
        Box::pin(check::check(&self.options))
    }
}

#[cfg(test)]
mod tests {
    use weir_bridge::channel::Channel as _;
    use weir_bridge::config::{MatrixLogin, Secret};
    use weir_bridge::markup::Markup;

    use super::{MatrixChannel, MatrixOptions};

    /// The machine's tests of large replies are made with these numbers.
    #[test]
    fn matrix_can_do_what_the_machine_is_tested_with() {
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
