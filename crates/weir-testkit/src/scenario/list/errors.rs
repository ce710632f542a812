//! API errors and limits.

use super::{runs, says, says_for, script};
use crate::json::Json;
use crate::object;
use crate::scenario::model::{Process, Scenario};

pub(super) fn scenarios() -> Vec<Scenario> {
    let mut scenarios = statuses();
    scenarios.extend(streams());
    scenarios.extend(limits());
    scenarios
}

/// A step that is an API error.
fn fails(status: i64, kind: &str, message: &str) -> Json {
    object! { "status" => status, "etype" => kind, "msg" => message }
}

/// The same, but the second attempt returns this text.
fn fails_once(status: i64, kind: &str, message: &str, text: &str) -> Json {
    fails(status, kind, message).with("times", 1).with("text", text)
}

/// A process that gives up after one retry.
fn impatient(step: Json) -> Process {
    Process::conversation([script([step])]).variable("CLAUDE_CODE_MAX_RETRIES", "1")
}

fn statuses() -> Vec<Scenario> {
    // The reset is far in the future, so that it does not happen during the test.
    let limit_headers = object! {
        "retry-after" => "1",
        "x-should-retry" => "true",
        "anthropic-ratelimit-unified-status" => "rejected",
        "anthropic-ratelimit-unified-reset" => "4102444800",
        "anthropic-ratelimit-unified-representative-claim" => "five_hour",
    };
    vec![
        Scenario::new(
            "api-error-400",
            "a request is refused; the process continues",
            Process::conversation([
                script([fails(400, "invalid_request_error", "messages: too odd")]),
                script([says("the process continues")]),
            ]),
        )
        .shows("turn 1 Failed*")
        .shows("turn 1 result success is_error=true")
        .shows("turn 2 Succeeded*"),
        Scenario::new(
            "api-error-401",
            "the key is not accepted",
            impatient(fails(401, "authentication_error", "invalid x-api-key")),
        )
        .shows("turn 1 Failed*"),
        Scenario::new(
            "api-error-429",
            "too many requests, once, with the time of the reset",
            impatient(
                fails_once(429, "rate_limit_error", "slow down", "after the limit")
                    .with("headers", limit_headers),
            ),
        )
        .statuses(&[429, 200])
        .shows("[1] text Complete \"after the limit\""),
        Scenario::new(
            "api-error-529",
            "overloaded until the CLI gives up",
            impatient(fails(529, "overloaded_error", "Overloaded")),
        )
        .statuses(&[529, 529])
        .shows("turn 1 Failed*"),
        Scenario::new(
            "api-error-529-then-ok",
            "overloaded, once",
            impatient(fails_once(529, "overloaded_error", "Overloaded", "after the load")),
        )
        .statuses(&[529, 200])
        .shows("[1] text Complete \"after the load\""),
        Scenario::new(
            "prompt-too-long",
            "the context is full",
            Process::conversation([script([fails(
                400,
                "invalid_request_error",
                "prompt is too long: 250000 tokens > 200000 maximum",
            )])]),
        )
        .shows("turn 1 Failed*")
        .shows("turn 1 text \"Prompt is too long*"),
    ]
}

fn streams() -> Vec<Scenario> {
    let answer = || says("one two three four five six");
    vec![
        Scenario::new(
            "cut-stream",
            "the connection is cut in the middle of an answer, once",
            impatient(answer().with("break", "stream").with("times", 1)),
        )
        .statuses(&[200, 200])
        .shows("[1] text Complete \"one two three four five six\""),
        Scenario::new(
            "cut-stream-partial",
            "the same with pieces: the text so far is discarded",
            impatient(answer().with("break", "stream").with("times", 1))
                .flags(["--include-partial-messages"]),
        )
        .statuses(&[200, 200])
        .shows("[1] text Complete \"one two three four five six\""),
        Scenario::new(
            "no-answer",
            "the connection is closed without an answer, once",
            impatient(answer().with("break", "connection").with("times", 1)),
        )
        .statuses(&[0, 200])
        .shows("[1] text Complete \"one two three four five six\""),
        Scenario::new(
            "stalled-stream",
            "silence in the middle of an answer; the rest comes",
            impatient(answer().with("stall", 2)).flags(["--include-partial-messages"]),
        )
        .statuses(&[200])
        .shows("[1] text Complete \"one two three four five six\""),
        Scenario::new(
            "error-in-stream",
            "an error comes in the middle of an answer, once",
            impatient(answer().with("break", "error").with("times", 1)),
        )
        .statuses(&[200, 200])
        .shows("[1] text Complete \"one two three four five six\""),
    ]
}

fn limits() -> Vec<Scenario> {
    vec![
        Scenario::new(
            "max-turns",
            "the limit for rounds",
            Process::conversation([script([runs("echo one"), runs("echo two"), says("done")])])
                .flags(["--max-turns", "1"]),
        )
        .shows("turn 1 result error_max_turns *"),
        Scenario::new(
            "max-budget",
            "the budget limit",
            Process::conversation([script([
                runs("echo one").with("usage", object! { "input_tokens" => 10_000, "output_tokens" => 1000 }),
                says_for("done", 10_000, 1000),
            ])])
            .flags(["--max-budget-usd", "0.01"]),
        )
        .shows("turn 1 result error_max_budget_usd *"),
    ]
}
