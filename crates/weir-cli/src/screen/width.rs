//! The width of the terminal.

use std::io::{self, IsTerminal as _};

/// The width of the terminal; `None` if the output goes elsewhere.
pub(crate) fn width() -> Option<usize> {
    #[cfg(unix)]
    if io::stdout().is_terminal() {
        let size = rustix::termios::tcgetwinsize(rustix::stdio::stdout()).ok()?;
        return Some(usize::from(size.ws_col)).filter(|width| *width > 0);
    }
    None
}
