//! Selects the step for a request, from its body. Pure.

use crate::json::{Json, parse};
use crate::script::{self, Step};

/// What the model says if a request has no script.
const NO_SCRIPT: &str = "ok";
/// What it says when asked to summarise the conversation.
const SUMMARY: &str = "<analysis>\nShort.\n</analysis>\n<summary>\n1. Primary Request: a scripted test.\n\
                       2. Current Work: none.\n</summary>";
/// Placeholder for the path of the plan file.
const PLAN: &str = "{{PLAN}}";

/// A step, and the faults while it is played.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Choice {
    pub(super) step: Step,
    pub(super) faults: Faults,
    /// Identifies the step, so that attempts can be counted. Empty without a script.
    pub(super) key: String,
}

/// Faults of a response.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Faults {
    /// How the response breaks.
    pub(super) breaks: Option<Break>,
    /// Silence in the middle, in seconds.
    pub(super) stall: f64,
    /// The number of attempts for which it breaks; `None` for all.
    pub(super) times: Option<u64>,
    /// Whether the last usage repeats the input tokens.
    pub(super) full_delta: bool,
}

/// How a response breaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Break {
    /// The connection is cut in the middle of the stream.
    Stream,
    /// An event that is not JSON.
    Malformed,
    /// An error event in the middle of the stream.
    Error,
    /// The connection is closed without a response.
    Connection,
}

impl Faults {
    fn from_json(step: &Json) -> Self {
        let breaks = match step.str_of("break") {
            Some("stream") => Some(Break::Stream),
            Some("malformed") => Some(Break::Malformed),
            Some("error") => Some(Break::Error),
            Some("connection") => Some(Break::Connection),
            _ => None,
        };
        Self {
            breaks,
            stall: step.number_of("stall").unwrap_or(0.0),
            times: step.integer_of("times").and_then(|times| u64::try_from(times).ok()),
            full_delta: step.is_true("full_delta"),
        }
    }
}

/// The step for a request with this body; `text` is the raw body.
pub(super) fn choose(body: &Json, text: &str) -> Choice {
    let messages = body.items_of("messages");
    let plain = |text: &str| Choice { step: Step::text(text), faults: Faults::default(), key: String::new() };
    if let Some(last) = messages.last().filter(|message| asks_for_summary(message)) {
        // The instructions for it may say how long it takes.
        let asked = script::texts(last.get("content").unwrap_or(&Json::Null)).join("\n");
        let sleep = script::first_sleep(&asked);
        return Choice { step: Step { sleep, ..Step::text(SUMMARY) }, ..plain(SUMMARY) };
    }
    let Some(picked) = script::pick(messages.iter()) else { return plain(NO_SCRIPT) };
    // The key is the script and the number of the step: the original step has keys that only this module knows.
    let written = picked.key.rsplit_once('#').and_then(|(source, number)| {
        let source = match plan_file(text) {
            Some(path) if source.contains(PLAN) => source.replace(PLAN, path),
            _ => source.to_owned(),
        };
        parse(&source).ok()?.items().get(number.parse::<usize>().ok()?).cloned()
    });
    match written {
        Some(written) => {
            Choice { step: Step::from_json(&written), faults: Faults::from_json(&written), key: picked.key }
        }
        // The script is over.
        None => Choice { step: picked.step, faults: Faults::default(), key: picked.key },
    }
}

fn asks_for_summary(message: &Json) -> bool {
    let text = script::texts(message.get("content").unwrap_or(&Json::Null)).join("\n");
    text.contains("summary of the conversation")
        || (text.contains("<summary>") && text.contains("<analysis>"))
}

/// The path of the plan file in the text of a request.
fn plan_file(text: &str) -> Option<&str> {
    let ends_path = |letter: char| letter.is_whitespace() || matches!(letter, '`' | '"' | '\'' | '\\');
    let folder = text.find("/.claude/plans/")?;
    let (before, rest) = text.split_at(folder);
    let start = before.rfind(ends_path).map_or(0, |place| place + 1);
    let end = folder + rest.find(".md")? + ".md".len();
    text.get(start..end).filter(|path| path.starts_with('/') && !path.contains(ends_path))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{array, object};

    fn body(text: &str) -> Json {
        object! { "messages" => array![object! { "role" => "user", "content" => text }] }
    }

    fn chosen(text: &str) -> Choice {
        let body = body(text);
        choose(&body, &body.to_string())
    }

    #[test]
    fn without_a_script_the_model_says_ok() {
        assert_eq!(chosen("hello").step.text.as_deref(), Some("ok"));
        assert_eq!(choose(&Json::Null, "").step.text.as_deref(), Some("ok"));
    }

    #[test]
    fn a_summary_is_given_when_asked_for() {
        let text = "Please write a summary of the conversation @@[{\"text\":\"no\"}]";
        assert!(chosen(text).step.text.unwrap().contains("<summary>"));
        let text = "Please write a summary of the conversation @@[{\"sleep\":60}]";
        assert_eq!(chosen(text).step.sleep.as_secs(), 60);
    }

    #[test]
    fn the_plan_file_is_filled_in() {
        let reminder = "write to `/h/.claude/plans/calm-river.md` only";
        let script = r#"@@[{"tool":"Write","input":{"file_path":"{{PLAN}}"}}]"#;
        let choice = chosen(&format!("{reminder} {script}"));
        assert_eq!(choice.step.tools[0].input.str_of("file_path"), Some("/h/.claude/plans/calm-river.md"));
        assert_eq!(chosen(script).step.tools[0].input.str_of("file_path"), Some(PLAN));
    }

    #[test]
    fn faults_are_read_from_the_step() {
        let choice = chosen(r#"@@[{"text":"x","break":"malformed","times":2,"stall":0.5}]"#);
        assert_eq!(
            choice.faults,
            Faults { breaks: Some(Break::Malformed), stall: 0.5, times: Some(2), full_delta: false }
        );
        assert_eq!(chosen("@@[]").step.text.as_deref(), Some(script::OVER));
    }
}
