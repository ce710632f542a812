//! The labels of lines and messages in the log, so that some queries need not read all of it.
//!
//! They only say where to look: a reader still checks the labelled line itself.

use weir_wire::{ContentBlock, Line, Message, MessageId, ToolUseId, ToolUseResult};

/// Calls that change files, and their results.
pub(crate) const FILES: &str = "files";
/// How many calls are remembered until their results arrive. An agent has a few at a time.
const MAX_OPEN: usize = 1000;

/// Label of the result of a call.
pub(crate) fn output_of(tool: &ToolUseId) -> String {
    format!("output {tool}")
}

/// Label of the pictures of a message.
pub(crate) fn pictures_of(message: &MessageId) -> String {
    format!("pictures {message}")
}

/// Finds the labels of consecutive lines.
#[derive(Debug, Default)]
pub(crate) struct Labeller {
    /// Calls that change files and have no result yet, the oldest first.
    open: Vec<ToolUseId>,
}

impl Labeller {
    /// The labels of the next line.
    pub(crate) fn labels(&mut self, line: &Line<'_>) -> Vec<String> {
        let mut labels = Vec::new();
        match line.body.message() {
            Some(Message::Assistant(message)) => {
                for block in message.message.content.blocks() {
                    if let ContentBlock::ToolUse(call) = block
                        && changes_files(&call.name.to_str())
                    {
                        if let Some(id) = call.id {
                            self.called(id.to_id());
                        }
                        labels.push(FILES.to_owned());
                    }
                }
            }
            Some(Message::User(message)) => {
                let structured = message.tool_use_result.as_ref();
                let mut changes =
                    matches!(structured, Some(ToolUseResult::FileChange(_) | ToolUseResult::Notebook(_)));
                for block in message.message.content.blocks() {
                    if let ContentBlock::ToolResult(result) = block
                        && let Some(id) = result.tool_use_id
                    {
                        let tool = id.to_id();
                        labels.push(output_of(&tool));
                        changes |= self.end_call(&tool);
                    }
                }
                if changes {
                    labels.push(FILES.to_owned());
                }
            }
            _ => {}
        }
        labels.dedup();
        labels
    }

    fn called(&mut self, tool: ToolUseId) {
        if self.open.len() >= MAX_OPEN {
            self.open.remove(0);
        }
        self.open.push(tool);
    }

    /// Returns whether the call was open, and forgets it.
    fn end_call(&mut self, tool: &ToolUseId) -> bool {
        let place = self.open.iter().position(|open| open == tool);
        place.map(|place| self.open.remove(place)).is_some()
    }
}

/// Tools from whose calls [`weir_transcript`] derives file changes, with or without a structured result.
fn changes_files(name: &str) -> bool {
    matches!(name, "Write" | "Edit" | "MultiEdit" | "NotebookEdit")
}

#[cfg(test)]
mod tests {
    use weir_testkit::Capture;
    use weir_transcript::Change;
    use weir_wire::Decoder;

    use super::*;
    use crate::history::History;

    /// The paths and diffs in a log of these lines.
    fn changes<'a>(lines: impl Iterator<Item = &'a [u8]>) -> Vec<(String, String)> {
        let mut history = History::new(1000);
        let mut changes = Vec::new();
        for (number, line) in lines.enumerate() {
            let event = weir_store::Event {
                seq: number as u64 + 1,
                at: 1,
                kind: "line".to_owned(),
                client_id: None,
                payload: line.to_vec(),
                check: None,
            };
            history.replay_with(event, &mut |_, change| {
                if let Change::FileChanged(change) = change {
                    changes.push((change.path.clone(), change.diff.clone()));
                }
            });
        }
        changes
    }

    #[test]
    fn labelled_lines_have_the_same_changes_as_all_lines() {
        let mut seen = 0;
        for capture in Capture::all().unwrap() {
            let bytes = capture.read().unwrap();
            let lines = || bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
            let (mut labeller, mut decoder) = (Labeller::default(), Decoder::new());
            let labelled: Vec<&[u8]> = lines()
                .filter(|line| labeller.labels(&decoder.decode(line)).contains(&FILES.to_owned()))
                .collect();
            let all = changes(lines());
            assert_eq!(changes(labelled.iter().copied()), all, "{capture:?}");
            seen += all.len();
        }
        assert!(seen > 5, "only {seen} changes in all recordings");
    }

    #[test]
    fn a_result_is_found_by_its_call() {
        let mut decoder = Decoder::new();
        let line = br#"{"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"x"},{"type":"tool_result","tool_use_id":"t2","content":"y"}]}}"#;
        let labels = Labeller::default().labels(&decoder.decode(line));
        assert_eq!(labels, [output_of(&"t1".into()), output_of(&"t2".into())]);
        assert!(Labeller::default().labels(&decoder.decode(br#"{"type":"system"}"#)).is_empty());
    }
}
