//! Deliberate misbehaviour of the simulated CLI. The full table is in the documentation of the parent module.
//!
//! This module parses requests for misbehaviour. The code that misbehaves looks it up in [`Misbehaviour`].

use std::time::Duration;

use crate::json::{Json, parse};

/// A point in a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Point {
    /// Before anything is written.
    Start,
    /// Instead of the response to `initialize`.
    Initialize,
    /// After the `init` line, before the reply.
    Turn,
    /// In the middle of the reply's text.
    Mid,
    /// After the reply, instead of the result.
    Result,
}

impl Point {
    fn of(name: Option<&str>) -> Option<Self> {
        match name {
            Some("start") => Some(Self::Start),
            Some("initialize") => Some(Self::Initialize),
            None | Some("turn") => Some(Self::Turn),
            Some("mid") => Some(Self::Mid),
            Some("result") => Some(Self::Result),
            Some(_) => None,
        }
    }
}

/// One kind of misbehaviour.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Misbehaviour {
    // How lines are written from now on.
    SingleBytes,
    SplitUtf8,
    CrLf,
    Escapes,
    ReorderedKeys,
    DuplicateResponses,
    /// Extra members of permission requests from now on.
    AskWith(Json),
    // Lines written before the reply.
    HugeLine {
        bytes: usize,
    },
    SmallLines {
        bytes: usize,
    },
    Messages {
        count: u64,
    },
    StderrFlood {
        bytes: usize,
    },
    UnknownType,
    UnknownSubtype,
    UnknownBlock,
    ChangedType,
    BrokenJson,
    SandboxDebug,
    BlankLines,
    KeepAlive,
    RateLimit {
        seconds: u64,
    },
    UnknownControlRequest,
    CancelledRequest,
    Elicit(Json),
    Orphan {
        seconds: u64,
    },
    // How a turn ends.
    StrayResult,
    LateResult {
        after: Duration,
    },
    NoResult,
    ResultObject,
    EmptyResult,
    TruncatedResult,
    EmptyResultFirst,
    // The process.
    Silence {
        at: Point,
    },
    Crash {
        at: Point,
        exit: Option<u8>,
        signal: Option<String>,
    },
    SlowStart {
        time: Duration,
    },
    IgnoreSigterm,
    IgnoreSigint,
    IgnoreEof,
    IgnoreInterrupt,
    OtherSession,
    Coalesce(bool),
}

/// A request for unknown misbehaviour.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("simulated claude: no such misbehaviour: {0}; the documentation of the simulated CLI lists them")]
pub(crate) struct UnknownMisbehaviour(String);

/// Parses the value in a step or script file: a name, an object of names and values, or a list of those.
pub(crate) fn read(value: &Json) -> Result<Vec<Misbehaviour>, UnknownMisbehaviour> {
    match value {
        Json::Null => Ok(Vec::new()),
        Json::String(name) => Ok(vec![one(name, &Json::Null)?]),
        Json::Array(items) => {
            items.iter().map(read).collect::<Result<Vec<_>, _>>().map(|lists| lists.concat())
        }
        Json::Object(members) => members.iter().map(|(name, value)| one(name, value)).collect(),
        other => Err(UnknownMisbehaviour(other.to_string())),
    }
}

/// Parses the environment variable: JSON, or comma-separated names.
pub(crate) fn read_text(text: &str) -> Result<Vec<Misbehaviour>, UnknownMisbehaviour> {
    match parse(text) {
        Ok(value) => read(&value),
        Err(_) => text
            .split(',')
            .map(str::trim)
            .filter(|name| !name.is_empty())
            .map(|name| one(name, &Json::Null))
            .collect(),
    }
}

fn one(name: &str, value: &Json) -> Result<Misbehaviour, UnknownMisbehaviour> {
    use Misbehaviour as M;
    let unknown = || {
        UnknownMisbehaviour(if *value == Json::Null { name.to_owned() } else { format!("{name}: {value}") })
    };
    let number = |usual: f64| value.as_f64().unwrap_or(usual).max(0.0);
    let megabytes = |usual: f64| (number(usual) * 1_048_576.0) as usize;
    let seconds = |usual: f64| Duration::try_from_secs_f64(number(usual)).unwrap_or_default();
    let point = || Point::of(value.as_str().or_else(|| value.str_of("at"))).ok_or_else(unknown);
    Ok(match name {
        "single_bytes" => M::SingleBytes,
        "split_utf8" => M::SplitUtf8,
        "crlf" => M::CrLf,
        "escapes" => M::Escapes,
        "reordered_keys" => M::ReorderedKeys,
        "duplicate_responses" => M::DuplicateResponses,
        "huge_line" => M::HugeLine { bytes: megabytes(2.0) },
        "small_lines" => M::SmallLines { bytes: megabytes(12.0) },
        "messages" => M::Messages { count: number(3_000.0) as u64 },
        "stderr_flood" => M::StderrFlood { bytes: megabytes(4.0) },
        "unknown_type" => M::UnknownType,
        "unknown_subtype" => M::UnknownSubtype,
        "unknown_block" => M::UnknownBlock,
        "changed_type" => M::ChangedType,
        "broken_json" => M::BrokenJson,
        "sandbox_debug" => M::SandboxDebug,
        "blank_lines" => M::BlankLines,
        "keep_alive" => M::KeepAlive,
        "rate_limit" => M::RateLimit { seconds: number(3_600.0) as u64 },
        "unknown_control_request" => M::UnknownControlRequest,
        "cancelled_request" => M::CancelledRequest,
        "ask_with" => M::AskWith(value.clone()),
        "elicit" => M::Elicit(value.clone()),
        "orphan" => M::Orphan { seconds: number(60.0) as u64 },
        "stray_result" => M::StrayResult,
        "late_result" => M::LateResult { after: seconds(0.2) },
        "no_result" => M::NoResult,
        "result_object" => M::ResultObject,
        "empty_result" => M::EmptyResult,
        "truncated_result" => M::TruncatedResult,
        "empty_result_first" => M::EmptyResultFirst,
        "silence" => M::Silence { at: point()? },
        "crash" => M::Crash {
            at: point()?,
            exit: value.integer_of("exit").and_then(|code| u8::try_from(code).ok()),
            signal: value.str_of("signal").map(str::to_owned),
        },
        "exit_without_result" => M::Crash { at: Point::Result, exit: Some(0), signal: None },
        "slow_start" => M::SlowStart { time: seconds(0.5) },
        "ignore_sigterm" => M::IgnoreSigterm,
        "ignore_sigint" => M::IgnoreSigint,
        "ignore_eof" => M::IgnoreEof,
        "ignore_interrupt" => M::IgnoreInterrupt,
        "other_session" => M::OtherSession,
        "coalesce" => M::Coalesce(*value != Json::Bool(false)),
        _ => return Err(unknown()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_objects_and_lists_are_read() {
        let crash = Misbehaviour::Crash { at: Point::Mid, exit: Some(3), signal: None };
        assert_eq!(
            read_text(r#"["crlf",{"crash":{"at":"mid","exit":3},"huge_line":1},"silence"]"#).unwrap(),
            [
                Misbehaviour::CrLf,
                crash,
                Misbehaviour::HugeLine { bytes: 1 << 20 },
                Misbehaviour::Silence { at: Point::Turn }
            ]
        );
        assert_eq!(read_text("crlf, escapes").unwrap(), [Misbehaviour::CrLf, Misbehaviour::Escapes]);
    }

    #[test]
    fn unknown_misbehaviour_is_an_error() {
        assert!(read_text("tomorrow").unwrap_err().to_string().contains("tomorrow"));
        assert!(read_text(r#"{"silence":"nowhere"}"#).is_err());
        assert!(read_text("[1]").is_err());
    }
}
