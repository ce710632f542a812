//! Sessions that are resumed in another process.

use super::{runs, says, says_for, script};
use crate::scenario::model::{Action, Condition, Process, Scenario};

const ID: &str = "11111111-2222-4333-8444-555555555555";

pub(super) fn scenarios() -> Vec<Scenario> {
    let first = || Process::conversation([script([says_for("first process", 1000, 200)])]);
    let second = || Process::conversation([script([says_for("second process", 3000, 400)])]);
    vec![
        Scenario::new("resume", "a second process resumes the session", first())
            .shows("turn 2 cost 0.015000")
            .then(second().flags(["--resume", "{{SESSION}}"])),
        Scenario::new("fork", "a second process continues under another id", first())
            .shows("forked")
            .shows("turn 2 cost 0.015000")
            .then(second().flags(["--resume", "{{SESSION}}", "--fork-session"])),
        Scenario::new("continue", "a second process continues the newest session", first())
            .shows("turn 2 cost 0.015000")
            .then(second().flags(["--continue"])),
        Scenario::new("continue-nothing", "there is no session to continue", second().flags(["--continue"]))
            .shows("turn 1 Succeeded*"),
        Scenario::new(
            "resume-missing",
            "the session does not exist",
            Process::new([Action::Await(Condition::Exit)]).flags(["--resume", ID]),
        )
        .shows("process 1 ended: code Some(1) *"),
        Scenario::new(
            "session-id",
            "a custom id, which can be used once",
            first().flags(["--session-id", ID]),
        )
        .shows("process 1 ended: code Some(0) *")
        .shows("process 2 ended: code Some(1) *")
        .then(Process::new([Action::Await(Condition::Exit)]).flags(["--session-id", ID])),
        Scenario::new(
            "session-id-wrong",
            "an invalid id",
            Process::new([Action::Await(Condition::Exit)]).flags(["--session-id", "not-a-uuid"]),
        )
        .shows("process 1 ended: code Some(1) *"),
        Scenario::new(
            "no-persistence",
            "nothing is saved, so there is nothing to resume",
            first().flags(["--no-session-persistence"]),
        )
        .shows("process 2 ended: code Some(1) *")
        .then(Process::new([Action::Await(Condition::Exit)]).flags(["--resume", "{{SESSION}}"])),
        Scenario::new(
            "resume-interrupted",
            "a session whose last turn was interrupted is resumed",
            Process::new([
                Action::Send(script([
                    runs("touch started; sleep 63").with("text", "working"),
                    says("never"),
                ])),
                Action::Await(Condition::File("started")),
                Action::Request("interrupt-1", crate::object! { "subtype" => "interrupt" }),
                Action::Await(Condition::Results(1)),
            ]),
        )
        .shows("turn 1 Interrupted*")
        .shows("turn 2 Succeeded*")
        .then(second().flags(["--resume", "{{SESSION}}"])),
        Scenario::new(
            "clear",
            "the conversation starts over in the same process",
            Process::conversation([
                script([says_for("before", 1000, 200)]),
                "/clear".into(),
                script([says_for("after", 3000, 400)]),
            ]),
        )
        .shows("*text Complete \"after\""),
    ]
}
