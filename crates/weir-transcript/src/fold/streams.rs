//! Messages while they are being written.
//!
//! With partial messages on, each block arrives twice: in pieces, and complete in an `assistant` line, usually
//! before the line that ends the pieces. This file handles the pieces; `assistant.rs` merges the complete block
//! with them.

use serde::{Deserialize, Serialize};
use weir_wire::{
    ApiMessage, ApiMessageId, BlockStart, ContentBlock, Delta, IdRef, MessageDelta, StreamEvent,
    StreamEventMessage, ToolUseBlock, ToolUseId,
};

use super::{Fold, Sink};
use crate::code_blocks::code_blocks;
use crate::host::HostEvent;
use crate::view::{
    BlockState, Change, Entry, EntryBody, EntryId, Notice, TextEntry, ThinkingEntry, ToolState, UnknownReason,
};

/// Maximum number of agents whose messages are tracked at once.
const MAX_STREAMS: usize = 64;

/// The message that each agent is writing, or wrote last.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct Streams {
    open: Vec<Stream>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Stream {
    parent: Option<ToolUseId>,
    pub(super) message: Option<ApiMessageId>,
    pub(super) blocks: Vec<StreamedBlock>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct StreamedBlock {
    pub(super) index: u64,
    pub(super) entry: EntryId,
    pub(super) kind: BlockKind,
    /// Whether its complete line has arrived.
    pub(super) whole: bool,
    /// Whether its end was announced.
    pub(super) stopped: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum BlockKind {
    Text,
    Thinking,
    Tool,
    Unknown,
}

impl Streams {
    pub(super) fn of(&mut self, parent: Option<IdRef<'_, ToolUseId>>) -> Option<&mut Stream> {
        self.open.iter_mut().find(|stream| stream.belongs_to(parent))
    }

    /// The newest block with this index in the message that an agent is writing.
    fn block(&self, parent: Option<IdRef<'_, ToolUseId>>, index: u64) -> Option<&StreamedBlock> {
        let stream = self.open.iter().find(|stream| stream.belongs_to(parent))?;
        stream.blocks.iter().rfind(|block| block.index == index)
    }

    /// Removes and returns the streams for which `is_over` is true.
    fn take(&mut self, is_over: impl Fn(&Stream) -> bool) -> Vec<Stream> {
        let (over, open) = std::mem::take(&mut self.open).into_iter().partition(is_over);
        self.open = open;
        over
    }
}

impl Streams {
    /// Forgets blocks whose entries were dropped.
    pub(super) fn forget_before(&mut self, first: EntryId) {
        for stream in &mut self.open {
            stream.blocks.retain(|block| block.entry >= first);
        }
    }
}

impl StreamedBlock {
    /// Whether its text can no longer grow.
    fn is_closed(&self) -> bool {
        self.whole || self.stopped
    }
}

impl Stream {
    fn belongs_to(&self, parent: Option<IdRef<'_, ToolUseId>>) -> bool {
        match (&self.parent, parent) {
            (None, None) => true,
            (Some(ours), Some(theirs)) => theirs == *ours,
            _ => false,
        }
    }

    fn block(&mut self, index: u64) -> Option<&mut StreamedBlock> {
        self.blocks.iter_mut().rfind(|block| block.index == index)
    }
}

/// How a message stopped that was cut off or refused.
fn cut_off(delta: &MessageDelta<'_>) -> Option<String> {
    let reason = delta.delta.stop_reason.as_ref()?.to_str().into_owned();
    matches!(reason.as_str(), "max_tokens" | "refusal").then_some(reason)
}

impl Fold {
    /// Takes a piece of a block that has begun. Most lines are one, so they are looked up only once. Returns whether
    /// it was one.
    pub(super) fn append_delta(&mut self, message: &StreamEventMessage<'_>, sink: &mut Sink<'_>) -> bool {
        let StreamEvent::BlockDelta(delta) = &message.event else { return false };
        let Some(block) = self.streams.block(message.parent_tool_use_id, delta.index) else { return false };
        // The complete line has all of it.
        if !block.is_closed() {
            let (entry, kind) = (block.entry, block.kind);
            self.delta(entry, kind, &delta.delta, sink);
        }
        true
    }

    /// Takes any other stream event.
    pub(super) fn stream_event(&mut self, message: &StreamEventMessage<'_>, sink: &mut Sink<'_>) {
        let parent = message.parent_tool_use_id;
        match &message.event {
            StreamEvent::BlockDelta(delta) => {
                self.delta_without_start(message, delta.index, &delta.delta, sink);
            }
            StreamEvent::MessageStart(start) => {
                if parent.is_none() {
                    self.cut_off = None;
                }
                let id = start.message.id.or(message.api_message_id).map(|id| id.to_id());
                self.begin_stream(parent, id.clone(), sink);
                let ApiMessage { model, usage, .. } = &*start.message;
                self.message_used(id.as_ref(), parent, *model, usage.as_ref(), sink);
                self.update_status(sink);
            }
            StreamEvent::BlockStart(start) => self.block_start(message, start, sink),
            StreamEvent::BlockStop(stop) => {
                let Some(block) = self.streams.of(parent).and_then(|stream| stream.block(stop.index)) else {
                    return;
                };
                block.stopped = true;
                let entry = block.entry;
                self.end_block(entry, BlockState::Complete, sink);
            }
            StreamEvent::Error(error) => {
                let message = error.error.map(|error| error.to_json_string()).unwrap_or_default();
                self.add_notice(Notice::Error { message }, sink);
                self.drop_old_entries(sink);
            }
            StreamEvent::Unknown { kind, json } => {
                self.unknown_part(UnknownReason::UnknownBlock, parent, *kind, None, *json, sink);
                self.drop_old_entries(sink);
            }
            StreamEvent::MessageDelta(delta) => {
                let streamed = self.streams.of(parent).and_then(|stream| stream.message.clone());
                let said = || message.api_message_id.map(|id| id.to_id());
                let id = streamed.or_else(said).or_else(|| self.newest_message(parent));
                self.message_used(id.as_ref(), parent, None, delta.usage.as_ref(), sink);
                if parent.is_none() {
                    self.cut_off = cut_off(delta);
                }
            }
            StreamEvent::MessageStop | StreamEvent::Ping | _ => {}
        }
    }

    pub(super) fn is_transient_event(&self, message: &StreamEventMessage<'_>) -> bool {
        let block = |index: u64| self.streams.block(message.parent_tool_use_id, index);
        match &message.event {
            StreamEvent::BlockDelta(delta) => {
                block(delta.index).is_some() || !matches!(delta.delta, Delta::Text(_) | Delta::Thinking(_))
            }
            StreamEvent::BlockStop(stop) => block(stop.index).is_none_or(|block| block.whole),
            // Complete lines do not have the final usage.
            StreamEvent::MessageDelta(delta) => delta.usage.is_none() && cut_off(delta).is_none(),
            StreamEvent::MessageStop | StreamEvent::Ping => true,
            _ => false,
        }
    }

    fn begin_stream(
        &mut self,
        parent: Option<IdRef<'_, ToolUseId>>,
        message: Option<ApiMessageId>,
        sink: &mut Sink<'_>,
    ) {
        if parent.is_none() {
            self.ensure_turn(sink);
        }
        match self.streams.of(parent) {
            Some(stream) => {
                let broken_off = std::mem::take(&mut stream.blocks);
                stream.message = message;
                self.break_off(&broken_off, sink);
            }
            None => {
                let parent = parent.map(|id| id.to_id());
                if self.streams.open.len() >= MAX_STREAMS {
                    // Not the main agent's, which is the one people read.
                    let place = self.streams.open.iter().position(|stream| stream.parent.is_some());
                    let oldest = self.streams.open.remove(place.unwrap_or(0));
                    self.break_off(&oldest.blocks, sink);
                }
                self.streams.open.push(Stream { parent, message, blocks: Vec::new() });
            }
        }
    }

    /// Ends blocks that will not be completed any more.
    fn break_off(&mut self, blocks: &[StreamedBlock], sink: &mut Sink<'_>) {
        for block in blocks.iter().filter(|block| !block.stopped && !block.whole) {
            self.end_block(block.entry, BlockState::Aborted, sink);
        }
    }

    /// Ends everything that is still being written, by any agent.
    pub(super) fn break_off_all_streams(&mut self, sink: &mut Sink<'_>) {
        for stream in self.streams.take(|_| true) {
            self.break_off(&stream.blocks, sink);
        }
    }

    /// No turn is running any more: only agents in the background continue to write.
    pub(super) fn break_off_streams(&mut self, sink: &mut Sink<'_>) {
        let view = &self.view;
        let over =
            self.streams.take(|stream| !stream.parent.as_ref().is_some_and(|id| view.is_in_background(id)));
        for stream in over {
            self.break_off(&stream.blocks, sink);
        }
    }

    fn block_start(&mut self, message: &StreamEventMessage<'_>, start: &BlockStart<'_>, sink: &mut Sink<'_>) {
        let parent = message.parent_tool_use_id;
        if self.streams.of(parent).is_none() {
            self.begin_stream(parent, message.api_message_id.map(|id| id.to_id()), sink);
        }
        let api_message = self.streams.of(parent).and_then(|stream| stream.message.clone());
        let turn = self.turn_for(parent);
        let owner = parent.map(|id| id.to_id());
        let index = Some(start.index);
        let (entry, kind) = match &*start.content_block {
            ContentBlock::Text(block) => {
                let body = EntryBody::Text(TextEntry {
                    message: api_message,
                    index,
                    text: block.text.to_str().into(),
                    state: BlockState::Streaming,
                    code: Vec::new(),
                    error: None,
                });
                (self.add_entry(turn, owner, body, sink), BlockKind::Text)
            }
            ContentBlock::Thinking(block) => {
                let body = thinking(api_message, index, block.thinking.to_str().into(), false);
                (self.add_entry(turn, owner, body, sink), BlockKind::Thinking)
            }
            ContentBlock::RedactedThinking(_) => {
                let body = thinking(api_message, index, String::new(), true);
                (self.add_entry(turn, owner, body, sink), BlockKind::Thinking)
            }
            ContentBlock::ToolUse(ToolUseBlock { id: Some(id), name, .. }) => {
                (self.tool_announced(parent, &id.to_id(), *name, false, sink), BlockKind::Tool)
            }
            ContentBlock::ServerToolUse(block) => {
                (self.tool_announced(parent, &block.id.to_id(), block.name, true, sink), BlockKind::Tool)
            }
            // Shown when the complete line arrives.
            _ => (EntryId(0), BlockKind::Unknown),
        };
        self.follow(parent, start.index, entry, kind);
        self.update_status(sink);
        self.drop_old_entries(sink);
    }

    /// Remembers a block that is being written.
    fn follow(&mut self, parent: Option<IdRef<'_, ToolUseId>>, index: u64, entry: EntryId, kind: BlockKind) {
        if let Some(stream) = self.streams.of(parent) {
            stream.blocks.push(StreamedBlock { index, entry, kind, whole: false, stopped: false });
        }
    }

    fn delta(&mut self, entry: EntryId, kind: BlockKind, delta: &Delta<'_>, sink: &mut Sink<'_>) {
        match (kind, delta) {
            (BlockKind::Text, Delta::Text(text)) | (BlockKind::Thinking, Delta::Thinking(text)) => {
                self.emit(Change::TextAppended { entry, text: text.to_str() }, sink);
            }
            // Once something has happened to the call, only the complete line can change its arguments.
            (BlockKind::Tool, Delta::InputJson(json))
                if self.tool(entry).is_some_and(|tool| tool.state == ToolState::Pending) =>
            {
                self.emit(Change::InputAppended { entry, json: json.to_str() }, sink);
            }
            // Signatures, citations and unknown deltas are repeated in the complete line.
            _ => {}
        }
    }

    /// A recording or a reconnect may begin in the middle of a message.
    fn delta_without_start(
        &mut self,
        message: &StreamEventMessage<'_>,
        index: u64,
        delta: &Delta<'_>,
        sink: &mut Sink<'_>,
    ) {
        // Without its start a tool call has no name; the complete line has it.
        if !matches!(delta, Delta::Text(_) | Delta::Thinking(_)) {
            return;
        }
        let parent = message.parent_tool_use_id;
        if self.streams.of(parent).is_none() {
            self.begin_stream(parent, message.api_message_id.map(|id| id.to_id()), sink);
        }
        let api_message = self.streams.of(parent).and_then(|stream| stream.message.clone());
        let (body, kind) = match delta {
            Delta::Text(_) => {
                let text = TextEntry {
                    message: api_message,
                    index: Some(index),
                    text: String::new(),
                    state: BlockState::Streaming,
                    code: Vec::new(),
                    error: None,
                };
                (EntryBody::Text(text), BlockKind::Text)
            }
            _ => (thinking(api_message, Some(index), String::new(), false), BlockKind::Thinking),
        };
        let entry = self.add_entry(self.turn_for(parent), parent.map(|id| id.to_id()), body, sink);
        self.follow(parent, index, entry, kind);
        self.delta(entry, kind, delta, sink);
        self.update_status(sink);
        self.drop_old_entries(sink);
    }

    /// Remembers what was streamed into an entry, because no line repeats it before the entry ends or is dropped.
    pub(super) fn keep_streamed(&mut self, entry: EntryId) {
        let text = self.view.entry(entry).and_then(Entry::streamed_text).filter(|text| !text.is_empty());
        let is_kept =
            |kept: &HostEvent| matches!(kept, HostEvent::TextStreamed { entry: id, .. } if *id == entry);
        if let Some(text) = text.filter(|_| !self.streamed.iter().any(is_kept)).map(str::to_owned) {
            self.streamed.push(HostEvent::TextStreamed { entry, text });
        }
    }

    /// Remembers what the main agent is writing, because it may become the answer of a turn.
    pub(super) fn keep_answer_so_far(&mut self) {
        let Some(stream) = self.streams.of(None) else { return };
        let is_open = |block: &&StreamedBlock| block.kind == BlockKind::Text && !block.is_closed();
        let open: Vec<EntryId> = stream.blocks.iter().filter(is_open).map(|block| block.entry).collect();
        for entry in open {
            self.keep_streamed(entry);
        }
    }

    /// Remembers the streamed arguments of a call to which something happens before its complete line arrives.
    pub(super) fn keep_arguments(&mut self, change: &Change<'_>) {
        let entry = match change {
            Change::ToolState { entry, .. } | Change::ToolEnded { entry, .. } => *entry,
            Change::EntryReplaced(entry) => match &entry.body {
                EntryBody::Tool(tool) if tool.state != ToolState::Pending && !tool.input_text.is_empty() => {
                    entry.id
                }
                _ => return,
            },
            _ => return,
        };
        self.keep_streamed(entry);
    }

    /// What was streamed into an entry, according to a log without transient lines.
    pub(super) fn text_streamed(&mut self, id: EntryId, text: &str, sink: &mut Sink<'_>) {
        let Some(entry) = self.view.entry(id) else { return };
        let Some(missing) = entry.streamed_text().and_then(|known| text.strip_prefix(known)) else { return };
        self.append_missing(id, missing, sink);
    }

    /// A piece of it. What is known of it, as it is live, is left out.
    pub(super) fn text_kept(&mut self, id: EntryId, after: u64, piece: &str, sink: &mut Sink<'_>) {
        let Some(known) = self.view.entry(id).and_then(Entry::streamed_text) else { return };
        let known_of_piece = usize::try_from(after).ok().and_then(|after| known.len().checked_sub(after));
        let Some(missing) = known_of_piece.and_then(|known| piece.get(known..)) else { return };
        self.append_missing(id, missing, sink);
    }

    fn append_missing(&mut self, id: EntryId, missing: &str, sink: &mut Sink<'_>) {
        let Some(entry) = self.view.entry(id).filter(|_| !missing.is_empty()) else { return };
        let change = match &entry.body {
            EntryBody::Tool(_) => Change::InputAppended { entry: id, json: missing.into() },
            _ => Change::TextAppended { entry: id, text: missing.into() },
        };
        self.emit(change, sink);
    }

    /// Ends a block, unless it has already ended.
    pub(super) fn end_block(&mut self, entry: EntryId, state: BlockState, sink: &mut Sink<'_>) {
        let code = match self.view.entry(entry).map(|entry| &entry.body) {
            Some(EntryBody::Text(text)) if text.state == BlockState::Streaming => code_blocks(&text.text),
            Some(EntryBody::Thinking(thinking)) if thinking.state == BlockState::Streaming => Vec::new(),
            Some(EntryBody::Tool(tool))
                if tool.state == ToolState::Pending && state == BlockState::Aborted =>
            {
                return self.settle_tool_as(entry, ToolState::Interrupted, sink);
            }
            _ => return,
        };
        self.keep_streamed(entry);
        self.emit(Change::BlockEnded { entry, state, code }, sink);
    }
}

fn thinking(message: Option<ApiMessageId>, index: Option<u64>, text: String, redacted: bool) -> EntryBody {
    EntryBody::Thinking(ThinkingEntry { message, index, text, state: BlockState::Streaming, redacted })
}
