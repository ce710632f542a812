//! Events of a session as pieces of a reply.

use serde::Deserialize;

/// The tool by which the model gives an answer in a schema. It is the answer and not work.
const STRUCTURED: &str = "StructuredOutput";

/// A piece of a reply.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Piece {
    /// More of the answer.
    Text(String),
    /// What the agent does.
    Reasoning(String),
}

/// What was written so far.
#[derive(Debug, Default)]
pub(super) struct Progress {
    sent: String,
    block: Option<(u64, String)>,
    /// The model's message that the block is a part of.
    message: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Event {
    #[serde(default)]
    parent_tool_use_id: Option<String>,
    #[serde(default)]
    entry: u64,
    #[serde(default)]
    message_id: Option<String>,
    #[serde(default)]
    text: String,
    #[serde(default)]
    replaces: bool,
    #[serde(default)]
    is_error: bool,
    #[serde(default)]
    name: String,
    #[serde(default)]
    title: String,
}

impl Progress {
    /// What an event adds to the reply.
    pub(super) fn hear(&mut self, name: &str, data: &[u8]) -> Option<Piece> {
        if !matches!(name, "agent-text-delta" | "agent-tool-start") {
            return None;
        }
        let event: Event = serde_json::from_slice(data).ok()?;
        // What the CLI says of an error of the API is not what the model says.
        if event.parent_tool_use_id.is_some() || event.is_error {
            return None;
        }
        if name == "agent-tool-start" && event.name == STRUCTURED {
            return None;
        }
        if name == "agent-tool-start" {
            return Some(Piece::Reasoning(format!("{}: {}\n", event.name, event.title)));
        }
        self.text(&event).map(Piece::Text)
    }

    fn text(&mut self, event: &Event) -> Option<String> {
        let (block, so_far) = self.block.get_or_insert_with(|| (event.entry, String::new()));
        let mut new = String::new();
        if *block != event.entry {
            let goes_on = self.message.is_some() && self.message == event.message_id;
            new.push_str(if goes_on || self.sent.is_empty() { "" } else { "\n\n" });
            (*block, *so_far) = (event.entry, String::new());
        }
        self.message.clone_from(&event.message_id);
        // What was sent cannot be taken back: a text that replaces another one can only go on from it.
        let more = match event.replaces {
            true => event.text.strip_prefix(so_far.as_str()).unwrap_or_default(),
            false => event.text.as_str(),
        };
        so_far.push_str(more);
        new.push_str(more);
        self.sent.push_str(&new);
        (!more.is_empty()).then_some(new)
    }

    /// What is missing of the answer now that all of it is known.
    pub(super) fn rest(&mut self, answer: &str) -> Option<String> {
        let answer = answer.trim_end();
        if self.sent.trim_end().ends_with(answer) {
            return None;
        }
        let last = self.block.as_ref().map_or("", |(_, text)| text.as_str());
        let rest = match answer.strip_prefix(last) {
            Some(rest) if !last.is_empty() => rest.to_owned(),
            _ if self.sent.is_empty() => answer.to_owned(),
            _ => format!("\n\n{answer}"),
        };
        self.sent.push_str(&rest);
        (!rest.is_empty()).then_some(rest)
    }

    /// All that was sent.
    pub(super) fn sent(&self) -> &str {
        &self.sent
    }
}

#[cfg(test)]
mod tests {
    use super::{Piece, Progress};

    fn delta(progress: &mut Progress, entry: u64, text: &str, replaces: bool) -> Option<Piece> {
        let data = serde_json::json!({"entry": entry, "text": text, "replaces": replaces}).to_string();
        progress.hear("agent-text-delta", data.as_bytes())
    }

    #[test]
    fn nothing_is_said_twice_and_nothing_is_left_out() {
        let mut progress = Progress::default();
        assert_eq!(delta(&mut progress, 1, "Hel", false), Some(Piece::Text("Hel".into())));
        assert_eq!(delta(&mut progress, 1, "Hello", true), Some(Piece::Text("lo".into())));
        assert_eq!(delta(&mut progress, 4, "Bye", false), Some(Piece::Text("\n\nBye".into())));
        assert_eq!(progress.rest("Bye now"), Some(" now".into()));
        assert_eq!(progress.rest("Bye now"), None);
        assert_eq!(progress.sent(), "Hello\n\nBye now");
        assert_eq!(Progress::default().rest("all"), Some("all".into()));
    }

    #[test]
    fn pieces_of_one_message_follow_each_other_without_a_gap() {
        let mut progress = Progress::default();
        let mut hear = |entry: u64, message: &str, text: &str| {
            let data = serde_json::json!({"entry": entry, "message_id": message, "text": text}).to_string();
            progress.hear("agent-text-delta", data.as_bytes())
        };
        assert_eq!(hear(1, "m1", "Let me "), Some(Piece::Text("Let me ".into())));
        assert_eq!(hear(2, "m1", "look."), Some(Piece::Text("look.".into())));
        assert_eq!(hear(4, "m2", "Done."), Some(Piece::Text("\n\nDone.".into())));
        assert_eq!(progress.rest("Let me look.\n\nDone."), None);
    }

    #[test]
    fn sub_agents_are_not_heard() {
        let data = br#"{"entry":1,"text":"x","parent_tool_use_id":"t"}"#;
        assert_eq!(Progress::default().hear("agent-text-delta", data), None);
    }

    #[test]
    fn neither_errors_nor_the_answer_itself_are_told() {
        let error = br#"{"entry":1,"text":"API Error: 400","is_error":true}"#;
        assert_eq!(Progress::default().hear("agent-text-delta", error), None);
        let output = br#"{"name":"StructuredOutput","title":""}"#;
        assert_eq!(Progress::default().hear("agent-tool-start", output), None);
    }
}
