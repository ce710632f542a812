//! Events of a session as pieces of a reply.

use weir_host::WatchEvent;
use weir_transcript::{AgentEventKind, EntryId};
use weir_wire::ApiMessageId;

/// The tool through which the model gives a structured answer. It is the answer itself, not work.
const STRUCTURED: &str = "StructuredOutput";

/// A piece of a reply.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Piece {
    /// More of the answer.
    Text(String),
    /// A tool that the agent uses.
    Reasoning(String),
}

/// What was sent so far.
#[derive(Debug, Default)]
pub(super) struct Progress {
    sent: String,
    block: Option<(EntryId, String)>,
    /// The model's message that the block belongs to.
    message: Option<ApiMessageId>,
}

impl Progress {
    /// Returns what an event adds to the reply.
    pub(super) fn take(&mut self, event: &WatchEvent) -> Option<Piece> {
        let WatchEvent::Agent(event) = event else { return None };
        if event.parent_tool_use_id.is_some() {
            return None;
        }
        match &event.kind {
            // The CLI's text about an API error is not the model's text.
            AgentEventKind::TextDelta { entry, message_id, text, replaces, is_error: false } => {
                self.text(*entry, message_id.as_ref(), text, *replaces).map(Piece::Text)
            }
            AgentEventKind::ToolStart { name, title, .. } if name != STRUCTURED => {
                Some(Piece::Reasoning(format!("{name}: {title}\n")))
            }
            _ => None,
        }
    }

    fn text(
        &mut self,
        entry: EntryId,
        message: Option<&ApiMessageId>,
        text: &str,
        replaces: bool,
    ) -> Option<String> {
        let (block, so_far) = self.block.get_or_insert_with(|| (entry, String::new()));
        let mut new = String::new();
        if *block != entry {
            let is_same_message = message.is_some() && self.message.as_ref() == message;
            new.push_str(if is_same_message || self.sent.is_empty() { "" } else { "\n\n" });
            (*block, *so_far) = (entry, String::new());
        }
        self.message = message.cloned();
        // Sent text cannot be taken back: a replacement can only extend it.
        let more = if replaces { text.strip_prefix(so_far.as_str()).unwrap_or_default() } else { text };
        so_far.push_str(more);
        new.push_str(more);
        self.sent.push_str(&new);
        (!more.is_empty()).then_some(new)
    }

    /// The unsent part of the answer, now that all of it is known.
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

    /// All text sent so far.
    pub(super) fn sent(&self) -> &str {
        &self.sent
    }
}

#[cfg(test)]
mod tests {
    use weir_host::WatchEvent;
    use weir_transcript::{AgentEvent, AgentEventKind, EntryId};
    use weir_wire::{OwnedJson, ToolUseId};

    use super::{Piece, Progress};

    fn agent(kind: AgentEventKind, parent: Option<&str>) -> WatchEvent {
        let parent_tool_use_id = parent.map(ToolUseId::from);
        WatchEvent::Agent(Box::new(AgentEvent { kind, session_id: None, turn_id: None, parent_tool_use_id }))
    }

    fn text(entry: u64, message: Option<&str>, text: &str, replaces: bool) -> AgentEventKind {
        AgentEventKind::TextDelta {
            entry: EntryId(entry),
            message_id: message.map(Into::into),
            text: text.to_owned(),
            replaces,
            is_error: false,
        }
    }

    fn delta(progress: &mut Progress, entry: u64, words: &str, replaces: bool) -> Option<Piece> {
        progress.take(&agent(text(entry, None, words, replaces), None))
    }

    #[test]
    fn text_is_neither_repeated_nor_lost() {
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
        let mut take =
            |entry, message, words| progress.take(&agent(text(entry, Some(message), words, false), None));
        assert_eq!(take(1, "m1", "Let me "), Some(Piece::Text("Let me ".into())));
        assert_eq!(take(2, "m1", "look."), Some(Piece::Text("look.".into())));
        assert_eq!(take(4, "m2", "Done."), Some(Piece::Text("\n\nDone.".into())));
        assert_eq!(progress.rest("Let me look.\n\nDone."), None);
    }

    #[test]
    fn sub_agents_are_ignored() {
        assert_eq!(Progress::default().take(&agent(text(1, None, "x", false), Some("t"))), None);
    }

    #[test]
    fn api_errors_and_structured_output_are_ignored() {
        let error = AgentEventKind::TextDelta {
            entry: EntryId(1),
            message_id: None,
            text: "API Error: 400".to_owned(),
            replaces: false,
            is_error: true,
        };
        assert_eq!(Progress::default().take(&agent(error, None)), None);
        let call = |name: &str| AgentEventKind::ToolStart {
            tool_use_id: "t".into(),
            name: name.to_owned(),
            title: "it".to_owned(),
            input: OwnedJson::default(),
        };
        assert_eq!(Progress::default().take(&agent(call("StructuredOutput"), None)), None);
        let told = Progress::default().take(&agent(call("Read"), None));
        assert_eq!(told, Some(Piece::Reasoning("Read: it\n".into())));
    }
}
