//! Odd input.

use crate::scenario::model::{Action, Condition, Process, Scenario};

pub(super) fn scenarios() -> Vec<Scenario> {
    let writes = |line: &str| {
        Process::new([Action::Write(line.into()), Action::CloseInput, Action::Await(Condition::Exit)])
    };
    vec![
        Scenario::new("no-message", "the input ends immediately", Process::new([]))
            .shows("process 1 ended: code Some(0) *"),
        Scenario::new("empty-line", "an empty line", writes("")),
        Scenario::new(
            "bad-input-line",
            "a line that is not JSON ends the process",
            writes("this is not JSON"),
        )
        .shows("process 1 ended: code Some(1) *"),
        Scenario::new(
            "wrong-input-shape",
            "a message without its envelope",
            writes(r#"{"type":"user","content":"hi"}"#),
        )
        .shows("process 1 ended: code Some(1) *"),
        Scenario::new(
            "unknown-input-type",
            "a type of line that does not exist",
            writes(r#"{"type":"user_message","content":"hi"}"#),
        ),
        Scenario::new("no-verbose", "a required flag is missing", {
            let mut process = Process::new([Action::Await(Condition::Exit)]).flags([
                "-p",
                "--input-format",
                "stream-json",
                "--output-format",
                "stream-json",
            ]);
            process.bare = true;
            process
        })
        .shows("process 1 stderr: *requires --verbose"),
        Scenario::new(
            "unknown-flag",
            "a flag that does not exist",
            Process::new([Action::Await(Condition::Exit)]).flags(["--no-such-flag"]),
        )
        .shows("process 1 ended: code Some(1) *"),
    ]
}
