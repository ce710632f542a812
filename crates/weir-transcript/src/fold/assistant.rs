//! `assistant` lines: whole blocks, joined to what has streamed of them.

use std::sync::Arc;

use weir_wire::{ApiMessageId, AssistantMessage, Content, ContentBlock, IdRef, Text, ToolUseId};

use super::streams::BlockKind;
use super::{Fold, Sink};
use crate::code_blocks::code_blocks;
use crate::time::milliseconds;
use crate::view::{
    ApiError, BlockState, Change, Entry, EntryBody, EntryId, TextEntry, ThinkingEntry, UnknownReason,
};

/// What all blocks of one line have in common.
struct Whole<'a> {
    parent: Option<IdRef<'a, ToolUseId>>,
    message: Option<ApiMessageId>,
    state: BlockState,
    error: Option<ApiError>,
}

impl Fold {
    pub(super) fn assistant(&mut self, line: &AssistantMessage<'_>, sink: &mut Sink<'_>) {
        self.line_time = line.timestamp.and_then(|stamp| milliseconds(&stamp.to_str()));
        let parent = line.parent_tool_use_id;
        match parent {
            None => self.ensure_turn(sink),
            Some(parent) => {
                self.agent_heard_of(&parent.to_id(), line.task_description, line.subagent_type, sink);
            }
        }
        self.turn_answers(line.user_message_uuids.iter().copied(), sink);
        let whole = Whole {
            parent,
            message: line.message.id.map(|id| id.to_id()),
            state: if line.aborted == Some(true) {
                BlockState::Aborted
            } else {
                BlockState::Complete
            },
            error: api_error(line),
        };
        match &line.message.content {
            Content::Text(text) => self.whole_text(&whole, *text, sink),
            Content::Blocks(blocks) => {
                for block in blocks {
                    self.whole_block(&whole, block, sink);
                }
            }
        }
    }

    fn whole_block(&mut self, whole: &Whole<'_>, block: &ContentBlock<'_>, sink: &mut Sink<'_>) {
        match block {
            ContentBlock::Text(block) => self.whole_text(whole, block.text, sink),
            ContentBlock::Thinking(block) => self.whole_thinking(whole, block.thinking, false, sink),
            ContentBlock::RedactedThinking(_) => self.whole_thinking(whole, Text::default(), true, sink),
            ContentBlock::ToolUse(block) => {
                let id = block.id.to_id();
                self.tool_called(whole.parent, &id, block.name, block.input, false, sink);
                self.confirm_tool(whole, &id);
            }
            ContentBlock::ServerToolUse(block) => {
                let id = block.id.to_id();
                self.tool_called(whole.parent, &id, block.name, block.input, true, sink);
                self.confirm_tool(whole, &id);
            }
            ContentBlock::ServerToolResult(block) => {
                let output = self.raw_output(block.content.unwrap_or_default());
                let failed = block.is_error.unwrap_or(false);
                self.server_tool_ended(whole.parent, &block.tool_use_id.to_id(), output, failed, sink);
            }
            // A model does not send these; if one does, it is shown for what it is.
            ContentBlock::ToolResult(block) => {
                let json = block.source.json();
                self.unknown_part(UnknownReason::UnknownBlock, whole.parent, None, None, json, sink);
            }
            ContentBlock::Image(block) | ContentBlock::Document(block) => {
                let json = block.source.json();
                self.unknown_part(UnknownReason::UnknownBlock, whole.parent, None, None, json, sink);
            }
            ContentBlock::Mismatch { kind, reason, json } => {
                let detail = Some(reason.clone());
                self.unknown_part(
                    UnknownReason::BlockMismatch,
                    whole.parent,
                    Some(*kind),
                    detail,
                    *json,
                    sink,
                );
            }
            ContentBlock::Unknown { kind, json } => {
                self.unknown_part(
                    UnknownReason::UnknownBlock,
                    whole.parent,
                    *kind,
                    None,
                    *json,
                    sink,
                );
            }
            _ => {}
        }
    }

    /// The entry of a block of this kind that has streamed and whose whole line has not come yet.
    fn streamed(&mut self, whole: &Whole<'_>, kind: BlockKind) -> Option<EntryId> {
        let stream = self.streams.of(whole.parent)?;
        if stream.message != whole.message {
            return None;
        }
        // Blocks come whole in the order in which they began, each before the next one starts.
        let block = stream
            .blocks
            .iter_mut()
            .find(|block| !block.whole && block.kind == kind)?;
        block.whole = true;
        Some(block.entry)
    }

    fn confirm_tool(&mut self, whole: &Whole<'_>, tool: &ToolUseId) {
        let entry = self.tools.get(tool).copied();
        if let Some(stream) = self.streams.of(whole.parent)
            && let Some(block) = stream.blocks.iter_mut().find(|block| Some(block.entry) == entry)
        {
            block.whole = true;
        }
    }

    fn whole_text(&mut self, whole: &Whole<'_>, text: Text<'_>, sink: &mut Sink<'_>) {
        if let Some(entry) = self.streamed(whole, BlockKind::Text) {
            return self.complete_text(entry, &text.to_str(), whole, sink);
        }
        let text = text.to_str().into_owned();
        let body = EntryBody::Text(TextEntry {
            message: whole.message.clone(),
            index: None,
            code: code_blocks(&text),
            text,
            state: whole.state,
            error: whole.error.clone(),
        });
        self.add_entry(
            self.turn_for(whole.parent),
            whole.parent.map(|id| id.to_id()),
            body,
            sink,
        );
    }

    fn whole_thinking(&mut self, whole: &Whole<'_>, text: Text<'_>, redacted: bool, sink: &mut Sink<'_>) {
        if let Some(entry) = self.streamed(whole, BlockKind::Thinking) {
            return self.complete_text(entry, &text.to_str(), whole, sink);
        }
        let body = EntryBody::Thinking(ThinkingEntry {
            message: whole.message.clone(),
            index: None,
            text: text.to_str().into(),
            state: whole.state,
            redacted,
        });
        self.add_entry(
            self.turn_for(whole.parent),
            whole.parent.map(|id| id.to_id()),
            body,
            sink,
        );
    }

    /// The whole text is the truth: what is missing is added, and if it differs, it takes the place.
    fn complete_text(&mut self, id: EntryId, whole_text: &str, whole: &Whole<'_>, sink: &mut Sink<'_>) {
        let Some(entry) = self.view.entry(id) else { return };
        let streamed = match &entry.body {
            EntryBody::Text(text) => text.text.as_str(),
            EntryBody::Thinking(thinking) => thinking.text.as_str(),
            _ => return,
        };
        if let Some(missing) = whole_text.strip_prefix(streamed) {
            if !missing.is_empty() {
                self.emit(
                    Change::TextAppended {
                        entry: id,
                        text: missing.to_owned().into(),
                    },
                    sink,
                );
            }
        } else {
            let mut replaced: Entry = entry.clone();
            match &mut replaced.body {
                EntryBody::Text(text) => text.text = whole_text.to_owned(),
                EntryBody::Thinking(thinking) => thinking.text = whole_text.to_owned(),
                _ => {}
            }
            self.emit(Change::EntryReplaced(Arc::new(replaced)), sink);
        }
        self.end_block(id, whole.state, sink);
    }
}

fn api_error(line: &AssistantMessage<'_>) -> Option<ApiError> {
    let is_error = line.is_api_error_message == Some(true) || line.error.is_some();
    is_error.then(|| ApiError {
        error: line.error.map(|error| error.to_str().into()),
        status: line.api_error_status,
        api_type: line.api_error_type.map(|kind| kind.to_str().into()),
    })
}
