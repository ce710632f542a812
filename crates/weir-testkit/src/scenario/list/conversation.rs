//! Messages and replies.

use super::{runs, says, says_for, script};
use crate::object;
use crate::scenario::model::{Action, Condition, Process, Scenario};

pub(super) fn scenarios() -> Vec<Scenario> {
    vec![
        Scenario::new("hello", "one message, one reply", Process::conversation([script([says("Hello there.")])]))
        .statuses(&[200])
        .shows("[1] text Complete \"Hello there.\"")
        .shows("turn 1 Succeeded, asked by 1 message(s)"),
        Scenario::new(
            "partial",
            "the same text arrives in pieces and whole, and is shown once",
            Process::conversation([script([says("one two three four five")])]).flags(["--include-partial-messages"]),
        )
        .shows("[1] text Complete \"one two three four five\""),
        Scenario::new(
            "thinking",
            "a thinking block before text and a tool, in pieces",
            Process::conversation([script([
                runs("echo thought through").with("thinking", "Which command first?").with("text", "I will run one."),
                says("Done thinking.").with("thinking", "Now I know."),
            ])])
            .flags(["--include-partial-messages"]),
        )
        .shows("[1] thinking Complete \"Which command first?\"")
        .shows("[1] thinking Complete \"Now I know.\""),
        Scenario::new(
            "turns",
            "one process serves several turns, and its cost adds up; cached tokens have their own price",
            Process::conversation([
                script([says_for("first answer", 1000, 200)]),
                script([says_for("second answer", 3000, 400)]),
                script([says("cached").with(
                    "usage",
                    object! {
                        "input_tokens" => 10, "cache_read_input_tokens" => 5000, "cache_creation_input_tokens" => 2000,
                    },
                )]),
            ]),
        )
        .shows("turn 3 cost 0.009780")
        .shows("turn 2 Succeeded, asked by 1 message(s)")
        .shows("turn 1 cost 0.006000")
        .shows("turn 2 cost 0.015000"),
        Scenario::new(
            "coalesced",
            "messages that arrive while a turn runs",
            Process::new([
                Action::Send(script([says("answer to A").with("sleep", 1.5)])),
                Action::Await(Condition::Lines("system", "init", 1)),
                Action::Send(format!("B {}", script([says("answer to B and C")]))),
                Action::Send("C".into()),
                Action::CloseInput,
                Action::Await(Condition::Exit),
            ]),
        )
        .shows("[1] text Complete \"answer to A\"")
        .shows("[2] text Complete \"answer to B and C\""),
        Scenario::new(
            "steered",
            "a message that arrives while a tool runs joins the turn",
            Process::new([
                Action::Send(script([
                    runs("sleep 1.5; echo slept").with("text", "working"),
                    says("answer to A, with what came in between"),
                ])),
                Action::Await(Condition::ToolCalls("Bash", 1)),
                Action::Send("B: please also mention b".into()),
                Action::Await(Condition::Results(1)),
            ]),
        )
        .shows("[1] tool Bash Succeeded \"sleep 1.5; echo slept\"")
        .shows("[1] text Complete \"answer to A, with what came in between\""),
        Scenario::new(
            "pictures",
            "a message with two pictures",
            Process::new([
                Action::SendPictures(script([says("two pixels")]), 2),
                Action::Await(Condition::Results(1)),
            ]),
        )
        .shows("[1] user Host Answered images 2"),
        Scenario::new(
            "rich-text",
            "multi-byte characters in many pieces, and code blocks",
            Process::conversation([
                script([says("naïve 🦀 日本語 e\u{301} \u{200d} \u{1F469}\u{200d}\u{1F680} end")]),
                script([says("# Title\n\n```rust\nfn main() {}\n```\n\nand `code`\n")]),
            ])
            .flags(["--include-partial-messages"]),
        )
        .shows("[1] text Complete \"na*🦀 日本語*")
        .shows("[2] text Complete \"# Title*"),
        Scenario::new(
            "lone-surrogate",
            "a lone surrogate in text and in arguments",
            Process::conversation([
                r#"@@[{"text":"one \ud83d two","tool":"Bash","input":{"command":"echo 'x \ud83d y'","description":"half \ud83d"}},{"text":"end"}]"#
                    .to_owned(),
            ]),
        )
        .shows("[1] text Complete \"one � two\""),
        Scenario::new(
            "max-tokens",
            "the reply is cut off by its token limit",
            Process::conversation([script([says("this ends in the").with("stop_reason", "max_tokens")])]),
        )
        .shows("[1] text Complete \"this ends in the\""),
        Scenario::new(
            "compaction",
            "the history is replaced by a summary",
            Process::conversation([
                script([says_for("first answer", 1000, 200)]),
                "/compact".into(),
                script([says("after the compaction")]),
            ]),
        )
        .shows("*notice compaction *")
        .shows("*text Complete \"after the compaction\""),
    ]
}
