//! Parameters: which are read, which change nothing, which cannot be honoured.

use serde_json::{Map, Value};

use super::Endpoint;
use crate::error::OpenAiError;

/// Parameters that a server ignores although it cannot honour them, because its owner said so.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Leniency {
    ignored: Vec<String>,
}

impl Leniency {
    /// Ignores these.
    pub fn ignoring<T: Into<String>>(names: impl IntoIterator<Item = T>) -> Self {
        Self { ignored: names.into_iter().map(Into::into).collect() }
    }
}

/// What becomes of a parameter.
enum Rule {
    /// It is read elsewhere, or changes nothing that could be seen.
    Fine,
    /// Fine with this value, which is what happens anyway.
    Only(Value),
    /// Fine with these values, which mean that the server decides.
    AnyOf(&'static [&'static str]),
    /// It cannot be honoured.
    Never(&'static str),
}

const SAMPLING: &str = "the CLI decides how the model samples";
const TOOLS: &str = "the agent uses its own tools, and cannot call yours";
const LENGTH: &str = "the CLI has no limit for the length of an answer";

fn rule(endpoint: Endpoint, name: &str) -> Rule {
    match name {
        "model" | "stream" | "stream_options" | "user" | "metadata" | "safety_identifier"
        | "prompt_cache_key" | "store" => Rule::Fine,
        "service_tier" => Rule::AnyOf(&["auto", "default"]),
        "messages" if endpoint == Endpoint::Chat => Rule::Fine,
        "input" | "instructions" | "previous_response_id" if endpoint == Endpoint::Responses => Rule::Fine,
        "include" if endpoint == Endpoint::Responses => Rule::Only(serde_json::json!([])),
        // The CLI sums up what no longer fits.
        "truncation" if endpoint == Endpoint::Responses => Rule::AnyOf(&["auto"]),
        "n" => Rule::Only(Value::from(1)),
        "temperature" | "top_p" => Rule::Only(Value::from(1.0)),
        "presence_penalty" | "frequency_penalty" => Rule::Only(Value::from(0.0)),
        "logprobs" | "parallel_tool_calls" | "background" => Rule::Only(Value::from(false)),
        "response_format" => Rule::Only(serde_json::json!({"type": "text"})),
        "text" => Rule::Only(serde_json::json!({"format": {"type": "text"}})),
        "modalities" => Rule::Only(serde_json::json!(["text"])),
        "tools" | "functions" => Rule::Only(serde_json::json!([])),
        "tool_choice" | "function_call" => Rule::Only(Value::from("auto")),
        "seed" | "logit_bias" | "top_logprobs" | "top_k" => Rule::Never(SAMPLING),
        "max_tokens" | "max_completion_tokens" | "max_output_tokens" => Rule::Never(LENGTH),
        "max_tool_calls" => Rule::Never(TOOLS),
        "stop" => Rule::Never("the CLI has no stop sequences"),
        "reasoning_effort" | "reasoning" | "verbosity" => Rule::Never("the CLI decides how the model thinks"),
        "audio" | "prediction" | "web_search_options" => Rule::Never("there is nothing like it here"),
        "conversation" | "prompt" => Rule::Never("there are no stored objects of OpenAI's here"),
        _ => Rule::Never("it is not known"),
    }
}

/// Refuses what cannot be honoured.
pub(super) fn check(
    endpoint: Endpoint,
    body: &Map<String, Value>,
    leniency: &Leniency,
) -> Result<(), OpenAiError> {
    for (name, value) in body {
        if value.is_null() || leniency.ignored.contains(name) {
            continue;
        }
        match rule(endpoint, name) {
            Rule::Fine => {}
            Rule::Only(usual) if same(value, &usual) => {}
            Rule::AnyOf(usual) if value.as_str().is_some_and(|value| usual.contains(&value)) => {}
            Rule::Only(_) | Rule::AnyOf(_) => {
                let why = match name.as_str() {
                    "tools" | "functions" | "tool_choice" | "function_call" | "parallel_tool_calls" => TOOLS,
                    "temperature" | "top_p" | "presence_penalty" | "frequency_penalty" | "logprobs" => {
                        SAMPLING
                    }
                    "n" => "there is one answer to a prompt",
                    "background" => "use a session of this server for that",
                    "service_tier" => "there are no tiers here",
                    "truncation" => "the CLI sums up what no longer fits",
                    "include" => "there is nothing to add to the answer",
                    _ => "the agent answers in text",
                };
                return Err(OpenAiError::unsupported(name, why));
            }
            Rule::Never(why) => return Err(OpenAiError::unsupported(name, why)),
        }
    }
    Ok(())
}

/// Whether two values mean the same: numbers by their value, whatever their form.
fn same(one: &Value, other: &Value) -> bool {
    match (one.as_f64(), other.as_f64()) {
        (Some(one), Some(other)) => (one - other).abs() < f64::EPSILON,
        _ => one == other || one.as_str() == Some("none") && other.as_str() == Some("auto"),
    }
}
