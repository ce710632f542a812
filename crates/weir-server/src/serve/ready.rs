//! How others learn where the server is: a file for programs, a link for people.

use std::io;
use std::path::Path;

use serde::Serialize;

use crate::auth::{Secret, write_private};

/// What stands in the ready file.
#[derive(Debug, Clone, Serialize)]
pub struct ReadyFile<'a> {
    /// Where the server is, with the base path and without a slash at the end.
    pub url: &'a str,
    /// A token with all rights.
    pub token: &'a str,
}

/// Writes the ready file, for its owner only and in one step: who sees it can connect.
///
/// # Errors
/// If it cannot be written.
pub fn write_ready_file(path: &Path, ready: &ReadyFile<'_>) -> io::Result<()> {
    let mut text = serde_json::to_vec(ready)?;
    text.push(b'\n');
    write_private(path, &text)
}

/// A link that opens the page with a token. It stands in the fragment, which browsers send to nobody.
pub fn link(url: &str, token: &Secret, session: Option<&str>) -> String {
    let session = session.map(|id| format!("&session={id}")).unwrap_or_default();
    format!("{url}/#token={}{session}", token.reveal())
}
