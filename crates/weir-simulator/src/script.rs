//! Scripts in prompts: what the model should say and do, written into the message for it.
//!
//! A prompt contains `@@[step, step, …]`. Step `k` is played when `k` assistant messages follow the message with the
//! last script. The script of a sub-agent is inside a string of the outer one, in the prompt of the call. Both the
//! simulated CLI and the scripted API read scripts with this module, so one prompt works on both. It plays nothing
//! itself.
//!
//! | key of a step | what it does |
//! |---|---|
//! | `thinking` | a thinking block with this text (`signature` for its signature) |
//! | `text` | a text block |
//! | `tool`, `input` | a tool call |
//! | `tools` | several of them: `[{"tool": …, "input": …}, …]` |
//! | `sleep` | seconds before the response begins |
//! | `wdelay` | seconds between words |
//! | `usage` | members that replace those of the default usage (100 in, 50 out) |
//! | `stop_reason` | instead of `end_turn` or `tool_use` |
//! | `status`, `etype`, `msg`, `headers` | an API error with this HTTP status, type, message and headers |
//! | `times` | the error or failure occurs only for this many attempts, then comes the rest of the step |
//! | `ok_headers` | headers of a successful response |
//! | `break` | the connection fails: `"stream"` cuts it in the middle of the response, `"connection"` closes it without one, `"error"` sends an error in the middle |
//! | `misbehave` | only for the simulated CLI, see its documentation |

use std::borrow::Cow;
use std::time::Duration;

use crate::json::{Json, parse_prefix};

/// The text that begins a script.
pub const MARK: &str = "@@[";
/// The same in a text that was escaped so that the CLI finds no file names in it.
const ESCAPED_MARK: &str = "\\@\\@[";

/// What is played when a script has no more steps.
pub const OVER: &str = "(script is over)";

/// A script: its steps in order.
#[derive(Debug, Clone, PartialEq)]
pub struct Script {
    /// The steps.
    pub steps: Vec<Step>,
    /// The original text of the script, which identifies it.
    pub source: String,
}

/// A call of a tool.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolCall {
    /// The name of the tool.
    pub tool: String,
    /// Its arguments.
    pub input: Json,
}

/// An API error.
#[derive(Debug, Clone, PartialEq)]
pub struct ApiError {
    /// The HTTP status.
    pub status: u16,
    /// The error's type.
    pub kind: String,
    /// Its message.
    pub message: String,
    /// Headers of the response, in order.
    pub headers: Vec<(String, String)>,
    /// The number of attempts that fail; `None` for all.
    pub times: Option<u64>,
}

/// How a connection to the API fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Break {
    /// It is closed without a response.
    Connection,
    /// It is cut in the middle of the response.
    Stream,
    /// An error, or something that is not JSON, arrives in the middle of the response.
    Error,
}

impl Break {
    fn of(name: &str) -> Option<Self> {
        match name {
            "connection" => Some(Self::Connection),
            "stream" => Some(Self::Stream),
            "error" | "malformed" => Some(Self::Error),
            _ => None,
        }
    }
}

/// One response of the model.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    /// The text of a thinking block.
    pub thinking: Option<String>,
    /// The signature of the thinking block.
    pub signature: String,
    /// The text of a text block.
    pub text: Option<String>,
    /// Calls of tools.
    pub tools: Vec<ToolCall>,
    /// The delay before the response.
    pub sleep: Duration,
    /// The delay between two words.
    pub word_delay: Duration,
    /// Members of the usage that differ from the default.
    pub usage: Json,
    /// The stop reason, if it differs from the one implied by the blocks.
    pub stop_reason: Option<String>,
    /// The error that comes first or instead.
    pub error: Option<ApiError>,
    /// Headers of a successful response, in order.
    pub ok_headers: Vec<(String, String)>,
    /// How the connection fails before the response is complete.
    pub breaks: Option<Break>,
    /// The number of attempts that fail; `None` for all.
    pub times: Option<u64>,
    /// Misbehaviour of the simulated CLI, as written.
    pub misbehave: Json,
}

impl Default for Step {
    fn default() -> Self {
        Self {
            thinking: None,
            signature: "c2lnbmF0dXJlLW9mLXRoaW5raW5n".to_owned(),
            text: None,
            tools: Vec::new(),
            sleep: Duration::ZERO,
            word_delay: Duration::ZERO,
            usage: Json::Object(Vec::new()),
            stop_reason: None,
            error: None,
            ok_headers: Vec::new(),
            breaks: None,
            times: None,
            misbehave: Json::Null,
        }
    }
}

impl Step {
    /// A step that says something.
    pub fn text(text: impl Into<String>) -> Self {
        Self { text: Some(text.into()), ..Self::default() }
    }

    /// Parses a step. Unknown keys are ignored; a value of the wrong type counts as absent.
    pub fn from_json(value: &Json) -> Self {
        let owned = |key: &str| value.str_of(key).map(str::to_owned);
        let mut tools: Vec<_> = value.items_of("tools").iter().filter_map(tool_call).collect();
        if let Some(call) = tool_call(value) {
            tools.insert(0, call);
        }
        let error =
            value.integer_of("status").and_then(|status| u16::try_from(status).ok()).map(|status| ApiError {
                status,
                kind: owned("etype").unwrap_or_else(|| "api_error".to_owned()),
                message: owned("msg").unwrap_or_else(|| "scripted".to_owned()),
                headers: headers(value.get("headers")),
                times: value.integer_of("times").and_then(|times| u64::try_from(times).ok()),
            });
        let usual = Self::default();
        Self {
            thinking: owned("thinking"),
            signature: owned("signature").unwrap_or(usual.signature),
            text: owned("text"),
            tools,
            sleep: seconds(value.get("sleep")),
            word_delay: seconds(value.get("wdelay")),
            usage: value.get("usage").cloned().unwrap_or(usual.usage),
            stop_reason: owned("stop_reason"),
            error,
            ok_headers: headers(value.get("ok_headers")),
            breaks: value.str_of("break").and_then(Break::of),
            times: count(value.get("times")),
            misbehave: value.get("misbehave").cloned().unwrap_or(Json::Null),
        }
    }

    /// The stop reason in the message.
    pub fn stop_reason(&self) -> &str {
        match &self.stop_reason {
            Some(reason) => reason,
            None if self.tools.is_empty() => "end_turn",
            None => "tool_use",
        }
    }

    /// The usage of the whole response.
    pub fn full_usage(&self) -> Json {
        let usual = crate::object! {
            "input_tokens" => 100,
            "output_tokens" => 50,
            "cache_creation_input_tokens" => 0,
            "cache_read_input_tokens" => 0,
        };
        usual.with_all(self.usage.clone())
    }
}

fn tool_call(value: &Json) -> Option<ToolCall> {
    let input = value.get("input").cloned().unwrap_or_else(|| Json::Object(Vec::new()));
    Some(ToolCall { tool: value.str_of("tool")?.to_owned(), input })
}

fn count(value: Option<&Json>) -> Option<u64> {
    value.and_then(Json::as_i64).and_then(|count| u64::try_from(count).ok())
}

/// Seconds as a duration; zero for invalid values.
fn seconds(value: Option<&Json>) -> Duration {
    let seconds = value.and_then(Json::as_f64).unwrap_or(0.0);
    Duration::try_from_secs_f64(seconds).unwrap_or_default()
}

fn headers(value: Option<&Json>) -> Vec<(String, String)> {
    let members = value.map(Json::members).unwrap_or_default().iter();
    members
        .map(|(name, value)| (name.clone(), value.as_str().map_or_else(|| value.to_string(), str::to_owned)))
        .collect()
}

/// The scripts in a text, in order. Scripts that are not valid JSON are skipped.
pub fn scripts(text: &str) -> Vec<Script> {
    let mut found = Vec::new();
    // Older CLIs are sent escaped texts.
    let text =
        if text.contains(ESCAPED_MARK) { Cow::Owned(text.replace("\\@", "@")) } else { Cow::Borrowed(text) };
    let mut rest = &*text;
    while let Some(place) = rest.find(MARK) {
        let (_, from_mark) = rest.split_at(place);
        // The bracket belongs to the JSON.
        let json = from_mark.get(MARK.len() - 1..).unwrap_or_default();
        if let Ok((value, after)) = parse_prefix(json) {
            let source = json.get(..json.len() - after.len()).unwrap_or_default().to_owned();
            found.push(Script { steps: value.items().iter().map(Step::from_json).collect(), source });
            rest = after;
        } else {
            rest = json;
        }
    }
    found
}

/// The last script in a text.
pub fn last_script(text: &str) -> Option<Script> {
    scripts(text).pop()
}

/// The delay of the first step of the last script in a text.
pub fn first_sleep(text: &str) -> Duration {
    last_script(text).and_then(|script| script.steps.first().map(|step| step.sleep)).unwrap_or_default()
}

/// The texts of a message's content: the string itself, or those of its text blocks.
pub fn texts(content: &Json) -> Vec<&str> {
    match content {
        Json::String(text) => vec![text],
        Json::Array(blocks) => {
            let texts = blocks.iter().filter(|block| block.str_of("type") == Some("text"));
            texts.filter_map(|block| block.str_of("text")).collect()
        }
        _ => Vec::new(),
    }
}

/// A step and its identity, so that attempts can be counted.
#[derive(Debug, Clone, PartialEq)]
pub struct Picked {
    /// The step to play.
    pub step: Step,
    /// The script and the number of the step.
    pub key: String,
}

/// The step to play after these messages (objects with `role` and `content`), oldest first. `None` if no message has
/// a script.
pub fn pick<'m>(messages: impl DoubleEndedIterator<Item = &'m Json>) -> Option<Picked> {
    let mut answers = 0;
    for message in messages.rev() {
        if message.str_of("role") == Some("assistant") {
            answers += 1;
            continue;
        }
        let content = message.get("content").unwrap_or(&Json::Null);
        let script = texts(content).into_iter().rev().find_map(last_script);
        if let Some(script) = script {
            let key = format!("{}#{answers}", script.source);
            let step = script.steps.into_iter().nth(answers).unwrap_or_else(|| Step::text(OVER));
            return Some(Picked { step, key });
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{array, object};

    fn user(text: &str) -> Json {
        object! { "role" => "user", "content" => text }
    }

    fn assistant() -> Json {
        object! { "role" => "assistant", "content" => array![] }
    }

    fn text_after(messages: &[Json]) -> Option<String> {
        pick(messages.iter()).and_then(|picked| picked.step.text)
    }

    #[test]
    fn the_step_is_the_number_of_answers_since_the_script() {
        let script = user(r#"A @@[{"text":"one"},{"text":"two"}] and more"#);
        assert_eq!(text_after(std::slice::from_ref(&script)).as_deref(), Some("one"));
        let results = object! { "role" => "user", "content" => array![object! { "type" => "tool_result" }] };
        assert_eq!(text_after(&[script.clone(), assistant(), results.clone()]).as_deref(), Some("two"));
        assert_eq!(text_after(&[script.clone(), assistant(), results, assistant()]).as_deref(), Some(OVER));
        assert_eq!(text_after(&[script, assistant(), user(r#"@@[{"text":"new"}]"#)]).as_deref(), Some("new"));
        assert_eq!(text_after(&[user("no script")]), None);
    }

    #[test]
    fn a_nested_script_belongs_to_the_string_that_holds_it() {
        let found = scripts(
            r#"@@[{"tool":"Task","input":{"prompt":"go @@[{\"text\":\"inner\"}]"}}] @@[ broken @@[]"#,
        );
        assert_eq!(found.len(), 2);
        let prompt = found[0].steps[0].tools[0].input.str_of("prompt").unwrap();
        assert_eq!(last_script(prompt).unwrap().steps[0].text.as_deref(), Some("inner"));
        assert!(found[1].steps.is_empty());
    }

    #[test]
    fn a_step_has_its_defaults() {
        let step =
            Step::from_json(&object! { "text" => "x", "tools" => array![object! { "tool" => "Read" }] });
        assert_eq!(step.stop_reason(), "tool_use");
        assert_eq!(step.full_usage().integer_of("input_tokens"), Some(100));
        assert_eq!(step.tools[0].input, object! {});
        let error = Step::from_json(
            &object! { "status" => 529, "times" => 2, "headers" => object! { "retry-after" => 1 } },
        );
        let error = error.error.unwrap();
        assert_eq!((error.status, error.times, error.kind.as_str()), (529, Some(2), "api_error"));
        assert_eq!(error.headers, [("retry-after".to_owned(), "1".to_owned())]);
    }

    #[test]
    fn a_lone_surrogate_in_a_script_is_kept() {
        let step = &scripts("@@[{\"text\":\"one \\ud83d two\"}]")[0].steps[0];
        assert_eq!(Json::from(step.text.as_deref()).to_string(), "\"one \\ud83d two\"");
    }
}
