//! The labels of events in the log, so that some queries need not read all of it.
//!
//! They only say where to look: a reader still checks the labelled line itself.

use weir_transcript::lookup::{LineTopic, LineTopics};
use weir_wire::{Line, MessageId, ToolUseId};

/// Calls that change files, and their results.
pub(crate) const FILES: &str = "files";

/// Label of the result of a call.
pub(crate) fn output_of(tool: &ToolUseId) -> String {
    format!("output {tool}")
}

/// Label of a message with pictures or documents.
pub(crate) fn pictures_of(message: &MessageId) -> String {
    format!("pictures {message}")
}

/// The labels of the next line.
pub(crate) fn labels(topics: &mut LineTopics, line: &Line<'_>) -> Vec<String> {
    let label = |topic| match topic {
        LineTopic::FileChange => FILES.to_owned(),
        LineTopic::ToolOutput(tool) => output_of(&tool),
    };
    topics.of(line).into_iter().map(label).collect()
}
