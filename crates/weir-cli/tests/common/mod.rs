//! Runs `weir` from outside, on a simulated CLI which is `weir` itself, in a temporary folder.

#![expect(unused, reason = "each test program uses only a part")]
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot run the program should stop"
)]

mod capture;
mod place;
mod running;
mod terminal;

pub(crate) use place::{Done, Place};
pub(crate) use running::Running;
pub(crate) use terminal::Terminal;
pub(crate) use weir_testkit::blocking::until_some as eventually;
pub(crate) use weir_testkit::http::{Answer, Client, Event, Events};

/// A prompt that runs a script.
pub(crate) fn script(steps: &str) -> String {
    format!("@@[{steps}]")
}

/// Prints a text.
pub(crate) const SAYS_HELLO: &str = r#"@@[{"text":"Hello there"}]"#;

/// Runs a command that needs permission.
pub(crate) const TOUCHES: &str =
    r#"@@[{"tool":"Bash","input":{"command":"touch made"}},{"text":"Finished"}]"#;

/// Prints a word, and the next one after a long time.
pub(crate) const IS_SLOW: &str = r#"@@[{"text":"one two three","wdelay":60}]"#;

/// A short pause between two polls.
pub(crate) fn breathe() {
    std::thread::park_timeout(std::time::Duration::from_millis(5));
}
