//! The size of the terminal.

use std::io::{self, IsTerminal as _};

/// What is assumed where the size is not known.
const USUAL: (usize, usize) = (80, 24);

/// Columns and rows of the terminal; `None` if the output goes elsewhere.
fn known_size() -> Option<(usize, usize)> {
    #[cfg(unix)]
    if io::stdout().is_terminal() {
        let size = rustix::termios::tcgetwinsize(rustix::stdio::stdout()).ok()?;
        return Some((usize::from(size.ws_col), usize::from(size.ws_row))).filter(|(width, _)| *width > 0);
    }
    None
}

/// The width of the terminal; `None` if the output goes elsewhere.
pub(crate) fn width() -> Option<usize> {
    known_size().map(|(width, _)| width)
}

/// Columns and rows of the terminal, or the usual ones.
pub(crate) fn size() -> (usize, usize) {
    known_size().unwrap_or(USUAL)
}
