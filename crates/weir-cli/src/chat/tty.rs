//! The settings of the terminal, kept: an editor that is cut off in the middle of a line would leave it raw.

/// Puts the terminal back to how it was when this is dropped.
pub(super) struct Kept {
    #[cfg(unix)]
    settings: Option<rustix::termios::Termios>,
}

impl Kept {
    pub(super) fn new() -> Self {
        Self {
            #[cfg(unix)]
            settings: rustix::termios::tcgetattr(rustix::stdio::stdin()).ok(),
        }
    }
}

#[cfg(unix)]
impl Drop for Kept {
    fn drop(&mut self) {
        if let Some(settings) = &self.settings {
            // A terminal that has gone needs nothing.
            let _ = rustix::termios::tcsetattr(
                rustix::stdio::stdin(),
                rustix::termios::OptionalActions::Drain,
                settings,
            );
        }
    }
}
