//! Colours, where the output supports them.

use std::io::IsTerminal as _;

/// Colours for one stream, or none.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Style {
    colours: bool,
}

impl Style {
    pub(crate) fn for_stderr() -> Self {
        Self { colours: std::io::stderr().is_terminal() && colours_are_enabled() }
    }

    pub(crate) fn for_stdout() -> Self {
        Self { colours: std::io::stdout().is_terminal() && colours_are_enabled() }
    }

    /// For the terminal itself, whatever the standard streams are.
    pub(crate) fn for_terminal() -> Self {
        Self { colours: colours_are_enabled() }
    }

    #[cfg(test)]
    pub(crate) fn coloured() -> Self {
        Self { colours: true }
    }

    #[cfg(test)]
    pub(crate) fn plain() -> Self {
        Self { colours: false }
    }

    pub(crate) fn is_coloured(self) -> bool {
        self.colours
    }

    pub(crate) fn good(self, text: &str) -> String {
        self.paint("32", text)
    }

    pub(crate) fn bad(self, text: &str) -> String {
        self.paint("31", text)
    }

    pub(crate) fn careful(self, text: &str) -> String {
        self.paint("33", text)
    }

    pub(crate) fn faint(self, text: &str) -> String {
        self.paint("2", text)
    }

    pub(crate) fn bold(self, text: &str) -> String {
        self.paint("1", text)
    }

    pub(crate) fn accent(self, text: &str) -> String {
        self.paint("36", text)
    }

    fn paint(self, code: &str, text: &str) -> String {
        if self.colours && !text.is_empty() { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }
}

/// `NO_COLOR` and a dumb terminal switch colours off.
fn colours_are_enabled() -> bool {
    let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    !is_set("NO_COLOR") && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}
