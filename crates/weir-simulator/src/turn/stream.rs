//! Writes what the model says: whole, and in pieces if requested.

use super::{End, Run};
use crate::cancel::Stop;
use crate::json::Json;
use crate::ledger::Tokens;
use crate::lines;
use crate::misbehave::Point;
use crate::script::Step;
use crate::tools::{self, Call};
use crate::{array, object};

/// A message being written.
pub(super) struct Message {
    id: String,
    model: String,
    /// The usage that the API reports at the start.
    usage: Json,
    /// Known from the beginning if the response comes in one piece.
    stop_reason: Option<String>,
    pub(super) blocks: Vec<Json>,
    pub(super) calls: Vec<Call>,
}

impl Message {
    fn new(id: String, model: String) -> Self {
        let usage = object! {};
        Self { id, model, usage, stop_reason: None, blocks: Vec::new(), calls: Vec::new() }
    }

    fn head(&self, content: Json) -> Json {
        object! {
            "id" => self.id.as_str(),
            "type" => "message",
            "role" => "assistant",
            "model" => self.model.as_str(),
            "content" => content,
            "stop_reason" => self.stop_reason.as_deref(),
            "stop_sequence" => Json::Null,
            "usage" => &self.usage,
        }
    }
}

/// Words with the spaces after them, as the API sends them.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split_inclusive(' ')
}

/// The first and the second half of a text.
fn halves(text: &str) -> [String; 2] {
    let middle = text.chars().count() / 2;
    [text.chars().take(middle).collect(), text.chars().skip(middle).collect()]
}

impl Run<'_> {
    /// Plays a step and returns its tool calls.
    pub(super) fn play(&mut self, step: &Step, model: String) -> Result<Vec<Call>, End> {
        let usage = step.full_usage().with("output_tokens", 1);
        let message = Message { usage, ..Message::new(self.agent.ids.message(), model) };
        self.play_message(step, message, true)
    }

    /// Plays a step whose response comes in one piece.
    pub(super) fn play_without_stream(
        &mut self,
        step: &Step,
        model: String,
        counts: bool,
    ) -> Result<Vec<Call>, End> {
        let stop_reason = Some(step.stop_reason().to_owned());
        let message = Message {
            usage: step.full_usage(),
            stop_reason,
            ..Message::new(self.agent.ids.message(), model)
        };
        self.without_stream = true;
        let calls = self.play_message(step, message, counts);
        self.without_stream = false;
        calls
    }

    fn play_message(&mut self, step: &Step, mut message: Message, counts: bool) -> Result<Vec<Call>, End> {
        let full = step.full_usage();
        self.open = None;
        let start = object! { "message" => message.head(array![]), "type" => "message_start" };
        let elapsed = u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.first_token.get_or_insert_with(|| self.started.elapsed());
        self.event(&message.id, start, object! { "ttft_ms" => elapsed, "thinking_display" => "updates" });
        self.open =
            Some(OpenStream { id: message.id.clone(), input_tokens: Tokens::of(&full).input, block: None });
        let played = self.play_blocks(step, &mut message);
        if let Err(reason) = played {
            return Err(End::Stopped { reason, in_tool: false });
        }
        let stop = step.stop_reason().to_owned();
        let delta = object! { "stop_reason" => stop.as_str(), "stop_sequence" => Json::Null };
        let spent =
            object! { "output_tokens" => full.get("output_tokens").cloned().unwrap_or(Json::Integer(0)) };
        self.event(
            &message.id,
            object! { "delta" => delta, "usage" => spent, "type" => "message_delta" },
            object! {},
        );
        self.event(&message.id, object! { "type" => "message_stop" }, object! {});
        self.open = None;
        self.stop_reason = Some(stop);
        let tokens = Tokens::of(&full);
        if counts {
            self.sim.ledger().charge(&self.sim.profile, &message.model, tokens);
            self.tokens.add(tokens);
        }
        self.last_tokens = tokens;
        self.history.assistant(std::mem::take(&mut message.blocks));
        Ok(message.calls)
    }

    /// Writes the beginning of a response that never ends.
    pub(super) fn half_a_stream(&mut self, text: &str, step: &Step, model: &str) {
        let usage = step.full_usage().with("output_tokens", 1);
        let id = self.agent.ids.message();
        let message = Message { usage, ..Message::new(id, model.to_owned()) };
        let start = object! { "message" => message.head(array![]), "type" => "message_start" };
        self.event(&message.id, start, object! { "ttft_ms" => 1, "thinking_display" => "updates" });
        self.event(&message.id, block_start(0, object! { "type" => "text", "text" => "" }), object! {});
        for word in words(text) {
            self.event(
                &message.id,
                block_delta(0, object! { "type" => "text_delta", "text" => word }),
                object! {},
            );
        }
    }

    fn play_blocks(&mut self, step: &Step, message: &mut Message) -> Result<(), Stop> {
        if let Some(thinking) = &step.thinking {
            self.play_thinking(step, message, thinking)?;
        }
        if let Some(text) = &step.text {
            self.play_text(step, message, text)?;
        }
        for call in &step.tools {
            let id = self.agent.ids.tool_use();
            let input = self.with_plan_file(&call.input);
            self.play_call(message, Call { id, name: call.tool.clone(), input, starts: None });
        }
        Ok(())
    }

    fn play_thinking(&mut self, step: &Step, message: &mut Message, thinking: &str) -> Result<(), Stop> {
        let index = message.blocks.len();
        let updates = || object! { "thinking_display" => "updates" };
        let empty = object! { "type" => "thinking", "thinking" => "", "signature" => "" };
        self.event(&message.id, block_start(index, empty), updates());
        let mut estimate = 0;
        for half in halves(thinking) {
            let tokens = half.chars().count().div_ceil(4).max(1);
            estimate += tokens;
            self.thinking_tokens(estimate, tokens);
            let delta = object! { "type" => "thinking_delta", "thinking" => half };
            self.event(&message.id, block_delta(index, delta), updates());
            self.agent.cancel.sleep(step.word_delay)?;
        }
        let delta = object! { "type" => "signature_delta", "signature" => step.signature.as_str() };
        self.event(&message.id, block_delta(index, delta), object! {});
        let block =
            object! { "type" => "thinking", "thinking" => thinking, "signature" => step.signature.as_str() };
        let mut extra = object! {};
        if self.sim.options.partial_messages && !self.sim.profile.is_old() {
            extra = object! { "thinking_duration_ms" => 1, "thinking_display" => "updates" };
        }
        self.whole_block(message, block, extra);
        self.event(&message.id, block_stop(index), object! {});
        Ok(())
    }

    fn thinking_tokens(&self, total: usize, more: usize) {
        if self.streams() && !self.sim.profile.is_old() {
            let estimate = object! { "estimated_tokens" => total, "estimated_tokens_delta" => more };
            self.sim.out.line(&lines::status(self.sim, &self.agent.ids, "thinking_tokens", estimate));
        }
    }

    fn play_text(&mut self, step: &Step, message: &mut Message, text: &str) -> Result<(), Stop> {
        let index = message.blocks.len();
        self.event(&message.id, block_start(index, object! { "type" => "text", "text" => "" }), object! {});
        if let Some(open) = &mut self.open {
            open.block = Some(index);
        }
        let middle = words(text).count() / 2;
        let mut said = String::new();
        for (place, word) in words(text).enumerate() {
            if place == middle {
                self.sim.silence(Point::Mid);
                super::crash(self.sim, Point::Mid);
            }
            if let Err(reason) = self.agent.cancel.check() {
                self.aborted_text(message, &said);
                return Err(reason);
            }
            let delta = object! { "type" => "text_delta", "text" => word };
            self.event(&message.id, block_delta(index, delta), object! {});
            said.push_str(word);
            if let Err(reason) = self.agent.cancel.sleep(step.word_delay) {
                self.aborted_text(message, &said);
                return Err(reason);
            }
        }
        self.text = text.to_owned();
        self.whole_block(message, object! { "type" => "text", "text" => text }, object! {});
        self.event(&message.id, block_stop(index), object! {});
        if let Some(open) = &mut self.open {
            open.block = None;
        }
        Ok(())
    }

    /// The newer version writes what it has of a text that was cut off.
    fn aborted_text(&mut self, message: &mut Message, said: &str) {
        let by_user = matches!(self.agent.cancel.reason(), Some(Stop::Interrupt | Stop::Signal));
        if self.sim.profile.is_old() || said.is_empty() || !by_user {
            return;
        }
        self.whole_block(
            message,
            object! { "type" => "text", "text" => said },
            object! { "aborted" => true },
        );
        self.history.assistant(std::mem::take(&mut message.blocks));
    }

    fn play_call(&mut self, message: &mut Message, call: Call) {
        let index = message.blocks.len();
        let shown = tools::shown_input(self.sim, &call.name, &call.input);
        let empty = object! { "type" => "tool_use", "id" => call.id.as_str(), "name" => call.name.as_str(), "input" => object! {} };
        self.event(&message.id, block_start(index, empty), object! {});
        for half in halves(&spaced(&call.input)) {
            let delta = object! { "type" => "input_json_delta", "partial_json" => half };
            self.event(&message.id, block_delta(index, delta), object! {});
        }
        self.calls += 1;
        let used = if call.name == "Task" { "Agent" } else { &call.name };
        self.agent.used(used);
        let block = object! { "type" => "tool_use", "id" => call.id.as_str(), "name" => call.name.as_str(), "input" => shown };
        let background = self.agent.identity.as_ref().is_some_and(|identity| identity.background);
        if !background {
            self.progress(&call);
        }
        let extra = self.tool_meta(&call);
        self.whole_block(message, block, extra);
        if background {
            self.progress(&call);
        }
        self.event(&message.id, block_stop(index), object! {});
        message.calls.push(call);
    }

    /// The newer version says more about tools of the host's servers.
    fn tool_meta(&self, call: &Call) -> Json {
        match crate::mcp::split_name(&call.name) {
            Some((server, tool)) if !self.sim.profile.is_old() => {
                let mut letters = tool.chars();
                let shown = letters.next().map_or_else(String::new, |first| first.to_uppercase().collect());
                let meta = object! {
                    "id" => call.id.as_str(),
                    "display_name" => shown + letters.as_str(),
                    "server_display_name" => server,
                    "tool_name" => tool,
                };
                object! { "tool_use_meta" => array![meta] }
            }
            _ => object! {},
        }
    }

    /// Reports the progress of a sub-agent.
    fn progress(&self, call: &Call) {
        let Some(identity) = self.agent.identity.as_ref().filter(|_| self.sim.profile.reports_tasks()) else {
            return;
        };
        let about = call.input.str_of("description").unwrap_or(&call.name);
        let about = match call.name.as_str() {
            "Bash" => format!("Running {about}"),
            "Task" | "Agent" => about.to_owned(),
            name => format!("Using {name}"),
        };
        let milliseconds = u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX);
        let usage =
            object! { "total_tokens" => 103, "tool_uses" => self.calls, "duration_ms" => milliseconds };
        let progress = object! {
            "task_id" => identity.task_id.as_str(),
            "run_id" => identity.run_id.as_str(),
            "tool_use_id" => identity.tool_use_id.as_str(),
            "description" => about,
            "subagent_type" => identity.kind.as_str(),
            "usage" => usage,
            "last_tool_name" => call.name.as_str(),
        };
        self.sim.out.line(&lines::system(self.sim, &self.agent.ids, "task_progress", progress));
    }

    /// Writes and saves a complete block.
    fn whole_block(&mut self, message: &mut Message, block: Json, extra: Json) {
        let line = message.head(array![&block]);
        let uuid = self.agent.ids.uuid();
        self.history.save_block(&line, &uuid);
        let is_call = block.str_of("type") == Some("tool_use");
        let shown = if is_call { self.agent.shows_lines(self.sim) } else { self.agent.shows_text(self.sim) };
        message.blocks.push(block);
        if shown {
            let extra = self.line_extra().with_all(extra);
            let line = line.with("context_management", Json::Null);
            self.sim.out.line(&lines::assistant(self.sim, &self.agent, line, &uuid, extra));
        }
    }

    fn streams(&self) -> bool {
        self.sim.options.partial_messages && self.agent.is_main() && !self.without_stream
    }

    fn event(&self, message_id: &str, event: Json, extra: Json) {
        if self.streams() {
            self.sim.out.line(&lines::stream_event(self.sim, &self.agent, event, message_id, extra));
        }
    }

    /// The newer version writes the missing ends of a stream that was cut off.
    pub(super) fn end_stream(&mut self) {
        let Some(open) = self.open.take().filter(|_| !self.sim.profile.is_old()) else { return };
        let Some(index) = open.block else { return };
        self.event(&open.id, object! { "type" => "content_block_stop", "index" => index }, object! {});
        let delta = object! { "container" => Json::Null, "stop_details" => Json::Null, "stop_reason" => Json::Null, "stop_sequence" => Json::Null };
        let usage = object! {
            "output_tokens_details" => object! { "thinking_tokens" => 0 },
            "cache_creation_input_tokens" => 0,
            "cache_read_input_tokens" => 0,
            "input_tokens" => open.input_tokens,
            "iterations" => array![],
            "output_tokens" => 1,
            "server_tool_use" => object! { "web_search_requests" => 0, "web_fetch_requests" => 0 },
            "fallback_credit" => Json::Null,
        };
        let event = object! { "type" => "message_delta", "context_management" => Json::Null, "delta" => delta, "usage" => usage };
        self.event(&open.id, event, object! {});
        let abandoned = object! { "api_message_id" => open.id.as_str(), "from_block_index" => index + 1 };
        self.event(
            &open.id,
            object! { "type" => "message_stop" },
            object! { "abandoned_blocks" => abandoned },
        );
    }

    /// Replaces `{{PLAN}}` in a script by the plan file, which a real model would find in its instructions.
    fn with_plan_file(&self, input: &Json) -> Json {
        let text = input.to_string();
        if !text.contains("{{PLAN}}") {
            return input.clone();
        }
        let path = tools::plan_file(self.sim).display().to_string();
        crate::json::parse(&text.replace("{{PLAN}}", &path)).unwrap_or_else(|_| input.clone())
    }
}

/// A stream that has begun and not ended.
#[derive(Debug)]
pub(crate) struct OpenStream {
    id: String,
    input_tokens: u64,
    block: Option<usize>,
}

fn block_start(index: usize, block: Json) -> Json {
    object! { "index" => index, "content_block" => block, "type" => "content_block_start" }
}

fn block_delta(index: usize, delta: Json) -> Json {
    object! { "index" => index, "delta" => delta, "type" => "content_block_delta" }
}

fn block_stop(index: usize) -> Json {
    object! { "index" => index, "type" => "content_block_stop" }
}

/// JSON with a space after commas and colons, as the scripted API sends arguments.
fn spaced(value: &Json) -> String {
    match value {
        Json::Array(items) => format!("[{}]", items.iter().map(spaced).collect::<Vec<_>>().join(", ")),
        Json::Object(members) => {
            let members =
                members.iter().map(|(key, value)| format!("{}: {}", Json::from(key), spaced(value)));
            format!("{{{}}}", members.collect::<Vec<_>>().join(", "))
        }
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_put_together_are_the_whole() {
        let text = "A streamed  answer 🙂 ";
        assert_eq!(words(text).collect::<String>(), text);
        assert_eq!(halves(text).concat(), text);
        assert_eq!(spaced(&object! { "a" => array![1, "b"] }), r#"{"a": [1, "b"]}"#);
    }
}
