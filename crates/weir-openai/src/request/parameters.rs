//! Parameters: which are used, which have no effect, which are ignored, and which are refused.

use serde_json::{Map, Value};

use super::Endpoint;
use crate::error::OpenAiError;

/// What happens to unsupported parameters. By default tuning parameters are ignored with a warning, and parameters that
/// change the meaning of the answer are refused.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Leniency {
    strict: bool,
    ignored: Vec<String>,
}

impl Leniency {
    /// Also refuses tuning parameters.
    #[must_use]
    pub fn strict(mut self, strict: bool) -> Self {
        self.strict = strict;
        self
    }

    /// Always ignores these parameters.
    #[must_use]
    pub fn ignoring<T: Into<String>>(mut self, names: impl IntoIterator<Item = T>) -> Self {
        self.ignored.extend(names.into_iter().map(Into::into));
        self
    }

    /// Whether the operator chose to ignore this parameter.
    pub(super) fn ignores(&self, name: &str) -> bool {
        self.ignored.iter().any(|ignored| ignored == name)
    }
}

/// How a parameter is treated.
enum Rule {
    /// Used elsewhere, or without visible effect.
    Fine,
    /// Tunes an answer: this value has no effect, others are ignored.
    Tunes(Option<Value>, &'static str),
    /// The same with several values.
    TunesBut(&'static [&'static str], &'static str),
    /// Changes the meaning of the answer, except with this value.
    Matters(Option<Value>, &'static str),
}

const SAMPLING: &str = "the CLI decides how the model samples";
const TOOLS: &str = "the agent uses its own tools, and cannot call yours";
const LENGTH: &str = "the CLI cannot limit the length of an answer";
const THINKING: &str = "the CLI decides how the model thinks";

fn rule(endpoint: Endpoint, name: &str) -> Rule {
    let is = Some::<Value>;
    match name {
        "model"
        | "stream"
        | "stream_options"
        | "user"
        | "metadata"
        | "safety_identifier"
        | "prompt_cache_key"
        | "prompt_cache_retention"
        | "store"
        | "tools"
        | "tool_choice" => Rule::Fine,
        "messages" | "response_format" if endpoint == Endpoint::Chat => Rule::Fine,
        "input" | "instructions" | "previous_response_id" | "text" if endpoint == Endpoint::Responses => {
            Rule::Fine
        }
        "service_tier" => Rule::TunesBut(&["auto", "default"], "there are no service tiers here"),
        // The CLI summarizes what no longer fits.
        "truncation" => Rule::TunesBut(&["auto"], "the CLI summarizes what no longer fits"),
        "include" => Rule::Tunes(is(serde_json::json!([])), "there is nothing to add to the answer"),
        "temperature" | "top_p" => Rule::Tunes(is(1.0.into()), SAMPLING),
        "presence_penalty" | "frequency_penalty" => Rule::Tunes(is(0.0.into()), SAMPLING),
        "logprobs" => Rule::Tunes(is(false.into()), SAMPLING),
        "seed" | "logit_bias" | "top_logprobs" | "top_k" => Rule::Tunes(None, SAMPLING),
        "parallel_tool_calls" => Rule::Tunes(is(false.into()), TOOLS),
        "max_tool_calls" => Rule::Tunes(None, TOOLS),
        "max_tokens" | "max_completion_tokens" | "max_output_tokens" => Rule::Tunes(None, LENGTH),
        "stop" => Rule::Tunes(is(serde_json::json!([])), "the CLI has no stop sequences"),
        "reasoning_effort" | "reasoning" | "verbosity" | "thinking" => Rule::Tunes(None, THINKING),
        "n" => Rule::Matters(is(1.into()), "there is only one answer per prompt"),
        "background" => Rule::Matters(is(false.into()), "use a session of this server instead"),
        "modalities" => Rule::Matters(is(serde_json::json!(["text"])), "the agent answers in text"),
        "functions" => Rule::Matters(is(serde_json::json!([])), TOOLS),
        "function_call" => Rule::Matters(is("auto".into()), TOOLS),
        "audio" => Rule::Matters(None, "the agent answers in text"),
        "conversation" | "prompt" => Rule::Matters(None, "objects stored at OpenAI are not available here"),
        _ => Rule::Tunes(None, "it is unknown"),
    }
}

/// Refuses parameters that change the meaning, and returns the ignored ones.
pub(super) fn check(
    endpoint: Endpoint,
    body: &Map<String, Value>,
    leniency: &Leniency,
) -> Result<Vec<String>, OpenAiError> {
    let mut ignored = Vec::new();
    for (name, value) in body {
        let (why, tunes) = match rule(endpoint, name) {
            _ if value.is_null() => continue,
            Rule::Fine => continue,
            Rule::Tunes(Some(usual), _) | Rule::Matters(Some(usual), _) if same(value, &usual) => continue,
            Rule::TunesBut(usual, _) if value.as_str().is_some_and(|value| usual.contains(&value)) => {
                continue;
            }
            Rule::Tunes(_, why) | Rule::TunesBut(_, why) => (why, true),
            Rule::Matters(_, why) => (why, false),
        };
        if !leniency.ignores(name) && (leniency.strict || !tunes) {
            return Err(OpenAiError::unsupported(name, why));
        }
        ignored.push(name.clone());
    }
    Ok(ignored)
}

/// Whether two values mean the same; numbers are compared by value.
fn same(one: &Value, other: &Value) -> bool {
    match (one.as_f64(), other.as_f64()) {
        (Some(one), Some(other)) => (one - other).abs() < f64::EPSILON,
        _ => one == other || one.as_str() == Some("none") && other.as_str() == Some("auto"),
    }
}
