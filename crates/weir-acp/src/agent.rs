//! The agent's side of a connection with an editor.

use std::fmt;
use std::sync::Arc;

use tokio::io::{AsyncRead, AsyncWrite};
use weir_host::Host;

use crate::connection;
use crate::extras::Extras;
use crate::guard::Guard;
use crate::lines;
use crate::outbox::Outbox;

/// Sessions of a host for editors. Cloning gives another handle to the same.
#[derive(Clone)]
pub struct AcpAgent {
    pub(crate) host: Host,
    pub(crate) guard: Arc<dyn Guard>,
    pub(crate) extras: Option<Extras>,
}

/// Why a connection with an editor ended early.
#[derive(Debug, thiserror::Error)]
#[error("the connection with the editor failed: {0}")]
pub struct AcpError(String);

impl AcpAgent {
    /// Offers the sessions of a host to an editor that may do what the guard says.
    pub fn new(host: Host, guard: Arc<dyn Guard>) -> Self {
        Self { host, guard, extras: None }
    }

    /// Uses MCP servers and further folders of the editor, if the guard says that it is the owner's. The host's recipe
    /// must pass them on to the CLI.
    #[must_use]
    pub fn extras(mut self, extras: Extras) -> Self {
        self.extras = Some(extras);
        self
    }

    /// Speaks with an editor over byte streams, until it closes its end. Sessions outlive that.
    ///
    /// # Errors
    /// If the streams fail.
    pub async fn serve(
        self,
        input: impl AsyncRead + Send + Unpin + 'static,
        output: impl AsyncWrite + Send + Unpin + 'static,
    ) -> Result<(), AcpError> {
        let outbox = Outbox::of_stream();
        let transport = lines::transport(input, output, outbox.clone());
        connection::serve(self, outbox, transport).await.map_err(|error| AcpError(error.to_string()))
    }
}

impl fmt::Debug for AcpAgent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AcpAgent").field("guard", &self.guard).finish_non_exhaustive()
    }
}
