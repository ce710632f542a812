//! Keeps the terminal's settings: an editor that is cut off in the middle of a line would leave it in raw mode.

/// Restores the terminal's settings when dropped.
pub(super) struct SavedSettings {
    #[cfg(unix)]
    settings: Option<rustix::termios::Termios>,
}

impl SavedSettings {
    pub(super) fn new() -> Self {
        Self {
            #[cfg(unix)]
            settings: rustix::termios::tcgetattr(rustix::stdio::stdin()).ok(),
        }
    }
}

#[cfg(unix)]
impl Drop for SavedSettings {
    fn drop(&mut self) {
        if let Some(settings) = &self.settings {
            // A terminal that is gone needs nothing.
            let _ = rustix::termios::tcsetattr(
                rustix::stdio::stdin(),
                rustix::termios::OptionalActions::Drain,
                settings,
            );
        }
    }
}
