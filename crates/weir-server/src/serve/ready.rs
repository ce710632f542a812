//! How the server announces its address: a file for programs, a link for people.

use std::io;
use std::path::Path;

use serde::Serialize;

use crate::auth::{Secret, write_private};

/// Content of the ready file.
#[derive(Debug, Clone, Serialize)]
pub struct ReadyFile<'a> {
    /// URL of the server, with the base path and without a trailing slash.
    pub url: &'a str,
    /// An admin token.
    pub token: &'a str,
}

/// Atomically writes the ready file, readable by its owner only: once it exists, clients can connect.
///
/// # Errors
/// If the file cannot be written.
pub fn write_ready_file(path: &Path, ready: &ReadyFile<'_>) -> io::Result<()> {
    let mut text = serde_json::to_vec(ready)?;
    text.push(b'\n');
    write_private(path, &text)
}

/// A link that opens the page with a token. The token is in the fragment, which browsers never send.
pub fn link(url: &str, token: &Secret, session: Option<&str>) -> String {
    let session = session.map(|id| format!("&session={id}")).unwrap_or_default();
    format!("{url}/#token={}{session}", token.reveal())
}
