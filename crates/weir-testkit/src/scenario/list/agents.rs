//! Sub-agents and background commands.

use super::{calls, delegates, runs, says, script};
use crate::scenario::model::{Action, Condition, Process, Scenario};
use crate::{array, object};

pub(super) fn scenarios() -> Vec<Scenario> {
    let one =
        || [runs("echo sub-one").with("text", "sub one looking").with("sleep", 0.3), says("report of one")];
    // Later than the first: 2.1.9 may lose the output of commands that run at the same moment.
    let two =
        || [runs("echo sub-two").with("text", "sub two looking").with("sleep", 0.8), says("report of two")];
    vec![
        Scenario::new(
            "subagents-parallel",
            "two sub-agents at once, with a command of the parent at the same time",
            Process::conversation([script([
                object! {
                    "text" => "Delegating two.",
                    "tools" => array![delegates("first", false, one()), delegates("second", false, two()), runs("echo alongside")],
                },
                says("Parent done."),
            ])]),
        )
        .shows("agent \"first\" * Completed")
        .shows("agent \"second\" * Completed")
        .shows("[1] tool Bash Succeeded \"echo alongside\""),
        Scenario::new(
            "subagent",
            "a sub-agent does a step and reports; the parent streams in pieces, the sub-agent does not",
            Process::conversation([script([
                delegates("look around", false, one()).with("text", "Delegating."),
                says("Parent done."),
            ])])
            .flags(["--include-partial-messages"]),
        )
        .shows("agent \"look around\" * Completed")
        .shows("[1] tool Bash Succeeded \"echo sub-one\""),
        Scenario::new(
            "subagents-nested",
            "a sub-agent of a sub-agent",
            Process::conversation([script([
                delegates("outer", false, [delegates("inner", false, one()), says("outer report")]),
                says("Parent done."),
            ])]),
        )
        .shows("agent \"outer\" * Completed"),
        Scenario::new(
            "subagent-background",
            "a background sub-agent ends while the parent works, and starts a turn without a message",
            Process::new([
                Action::Send(script([
                    delegates(
                        "slow one",
                        true,
                        [runs("echo sub-one").with("text", "sub one looking").with("sleep", 1), says("report of one")],
                    )
                    .with("text", "Delegating in the background."),
                    says("Parent goes on."),
                    says("Parent has heard of it."),
                ])),
                Action::Await(Condition::ResultsWithTasks(2, 1)),
            ]),
        )
        .shows("agent \"slow one\" * background *")
        .shows("[1] text Complete \"Parent goes on.\""),
        Scenario::new(
            "background-bash",
            "a background command ends after the turn, and starts a turn without a message",
            Process::new([
                Action::Send(script([
                    calls(
                        "Bash",
                        object! {
                            "command" => "echo started; sleep 1; echo finished",
                            "description" => "slow thing", "run_in_background" => true,
                        },
                    ),
                    says("It runs in the background."),
                    says("It has finished."),
                ])),
                Action::Await(Condition::ResultsWithTasks(2, 1)),
            ]),
        )
        .shows("command * background=true"),
    ]
}
