//! No terminal to ask on: this system has none of the kind that Weir knows, so requests are denied.

/// A terminal that is never there.
pub(crate) enum Terminal {}

impl Terminal {
    pub(crate) fn open() -> Option<Self> {
        None
    }

    pub(crate) async fn say(&mut self, _text: &str) {
        match *self {}
    }

    pub(crate) async fn ask(&mut self, _prompt: &str) -> Option<String> {
        match *self {}
    }
}
