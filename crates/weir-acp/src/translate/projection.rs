//! A session's view and its changes as updates for one editor.
//!
//! The projection has a copy of the view and remembers what the editor knows of each entry. Every way in which the view
//! changes ends in the same question for the entries concerned: what does the editor not know yet? So a snapshot after a
//! gap, a replay and a live change give the same updates.

use std::collections::{BTreeMap, HashSet};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;

use agent_client_protocol::v1::schema::{
    ContentBlock, ContentChunk, Meta, SessionUpdate, TextContent, ToolCall as EditorCall, ToolCallContent,
    ToolCallUpdate, ToolKind,
};
use serde_json::{Value, json};
use weir_host::{SessionId, SessionInfo};
use weir_transcript::{
    Agent, AgentState, BlockState, Change, Entry, EntryBody, EntryId, FileChange, Notice, ToolCall,
    ToolState, UserSource, View,
};
use weir_wire::{ApiMessageId, MessageId, ToolUseId};

use super::children::{Children, Updates};
use super::status::Status;
use super::{Features, notice, tool};
use crate::guard::Offer;

/// How many characters of a sub-agent's words are shown with its call.
const MAX_WORDS: usize = 4000;

/// What an editor knows of a session.
#[derive(Debug)]
pub(crate) struct Projection {
    features: Features,
    view: View,
    status: Status,
    /// The first entry of which the editor knows nothing; none before the first snapshot of an editor that wants only
    /// what happens from now on.
    next: Option<u64>,
    sent: BTreeMap<EntryId, Sent>,
    children: Children,
    /// What sub-agents that run said last, where they have no session of their own.
    words: BTreeMap<ToolUseId, String>,
}

/// What the editor knows of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sent {
    /// So many bytes of its text.
    Text(usize),
    /// A call that looked like this; none before the editor knows of the call.
    Tool(Option<u64>),
    /// All there is to know.
    Done,
}

impl Projection {
    /// For an editor that knows nothing: it gets the whole conversation.
    pub(crate) fn from_the_beginning(session: SessionId, features: Features, offer: Offer) -> Self {
        Self {
            features,
            children: Children::new(session, features.children),
            view: View::default(),
            status: Status::new(offer),
            next: Some(1),
            sent: BTreeMap::new(),
            words: BTreeMap::new(),
        }
    }

    /// For an editor that knows the conversation, or does not want it.
    pub(crate) fn from_now(session: SessionId, features: Features, offer: Offer) -> Self {
        Self { next: None, ..Self::from_the_beginning(session, features, offer) }
    }

    /// The view as it is now.
    pub(crate) fn view(&self) -> &View {
        &self.view
    }

    /// The entries that the editor does not know and that this view no longer has: from the first to before the second.
    pub(crate) fn gap(&self, view: &View) -> Option<(u64, u64)> {
        let first = view.entries.first().map_or(view.dropped_entries + 1, |entry| entry.id.0);
        let next = self.next?;
        (next < first).then_some((next, first))
    }

    /// The session in which something of this agent is asked.
    pub(crate) fn session_of(&self, agent: Option<&ToolUseId>) -> String {
        self.children.session_of(agent)
    }

    /// Takes the sub-agents to which older entries may belong.
    pub(crate) fn expect(&mut self, agents: &[Agent]) {
        self.view.agents = agents.to_vec();
    }

    /// Takes older entries, which fill a gap.
    pub(crate) fn older(&mut self, entries: &[Arc<Entry>], own: &HashSet<MessageId>) -> Updates {
        let mut updates = Updates::default();
        for entry in entries {
            if self.next.is_some_and(|next| entry.id.0 >= next) {
                self.next = Some(entry.id.0 + 1);
                self.sync(entry, own, &mut updates);
                self.sent.remove(&entry.id);
            }
        }
        updates
    }

    /// Takes a whole view in place of what was known.
    pub(crate) fn snapshot(&mut self, view: View, info: &SessionInfo, own: &HashSet<MessageId>) -> Updates {
        self.view = view;
        let entries = self.view.entries.clone();
        let mut updates = Updates::default();
        let is_joining = self.next.is_none();
        for agent in &self.view.agents {
            if !is_joining || agent.state == AgentState::Running {
                self.children.tell(agent, &mut updates);
            }
        }
        if is_joining {
            for entry in &entries {
                self.sent.insert(entry.id, known(entry));
            }
            self.next = Some(entries.last().map_or(self.view.dropped_entries, |last| last.id.0) + 1);
        }
        for entry in &entries {
            self.sync(entry, own, &mut updates);
        }
        self.forget_dropped();
        self.status.view(&self.view, &mut updates);
        self.status.info(info, &mut updates);
        updates
    }

    /// Takes a change of the view.
    pub(crate) fn change(&mut self, change: &Change<'_>, own: &HashSet<MessageId>) -> Updates {
        let mut updates = Updates::default();
        self.view.apply(change);
        match change {
            Change::EntryAdded(entry) | Change::EntryReplaced(entry) => {
                self.sync_id(entry.id, own, &mut updates);
            }
            Change::TextAppended { entry, .. }
            | Change::TextReplaced { entry, .. }
            | Change::BlockEnded { entry, .. }
            | Change::ToolState { entry, .. }
            | Change::ToolEnded { entry, .. } => self.sync_id(*entry, own, &mut updates),
            Change::FileChanged(file) => self.sync_id(file.entry, own, &mut updates),
            Change::Dropped { .. } => self.forget_dropped(),
            Change::Agent(agent) => self.children.tell(agent, &mut updates),
            Change::Session(_) | Change::Todos(_) | Change::Cost(_) | Change::MessageUsed(_) => {
                self.status.view(&self.view, &mut updates);
            }
            // Nothing that an editor shows. More of a call's arguments is shown when they are complete.
            _ => {}
        }
        updates
    }

    /// Takes the session's summary.
    pub(crate) fn info(&mut self, info: &SessionInfo) -> Updates {
        let mut updates = Updates::default();
        self.status.info(info, &mut updates);
        updates
    }

    fn forget_dropped(&mut self) {
        if let Some(first) = self.view.entries.first() {
            self.sent = self.sent.split_off(&first.id);
        }
    }

    fn sync_id(&mut self, id: EntryId, own: &HashSet<MessageId>, updates: &mut Updates) {
        let first = self.view.entries.first().map_or(0, |entry| entry.id.0);
        let place = id.0.checked_sub(first).and_then(|place| usize::try_from(place).ok());
        // Shared for the moment: nothing changes the view in between.
        if let Some(entry) = place.and_then(|place| self.view.entries.get(place)).map(Arc::clone) {
            self.sync(&entry, own, updates);
        }
    }

    /// Tells what the editor does not know of an entry.
    fn sync(&mut self, entry: &Entry, own: &HashSet<MessageId>, updates: &mut Updates) {
        let before = self.sent.get(&entry.id).copied();
        if before == Some(Sent::Done) {
            return;
        }
        if let Some(next) = &mut self.next {
            if before.is_none() && entry.id.0 < *next && self.view.entry(entry.id).is_some() {
                // Told in full before it came back into view.
                return;
            }
            *next = (*next).max(entry.id.0 + 1);
        }
        let home = self.children.home(&self.view, entry.parent.as_ref(), updates);
        updates.at(home);
        let now = match &entry.body {
            EntryBody::User(user) => {
                let is_ours = user.message.as_ref().is_some_and(|message| own.contains(message));
                let is_theirs = !is_ours || self.features.draft;
                let is_shown = user.source == UserSource::Host && entry.parent.is_none() && is_theirs;
                if is_shown && !user.text.is_empty() {
                    let id = user.message.as_ref().map(|message| message.as_str().to_owned());
                    let id = id.or_else(|| self.features.draft.then(|| own_id(entry.id)));
                    updates.push(SessionUpdate::UserMessageChunk(chunk(&user.text, id)));
                }
                Sent::Done
            }
            EntryBody::Text(text) => {
                let id = self.message_id(entry, text.message.as_ref());
                self.said(entry, &text.text, (text.state, false), id, before, updates)
            }
            EntryBody::Thinking(thought) => {
                let id = self.message_id(entry, thought.message.as_ref());
                self.said(entry, &thought.text, (thought.state, true), id, before, updates)
            }
            EntryBody::Tool(call) => self.called(entry, call, before, updates),
            EntryBody::Notice { notice: Notice::CommandOutput { text } } => {
                // A message of its own: the model's words that follow are not a part of it.
                let text = format!("{}\n\n", text.trim_end());
                updates.push(SessionUpdate::AgentMessageChunk(chunk(&text, Some(own_id(entry.id)))));
                Sent::Done
            }
            EntryBody::Notice { notice } => {
                updates.extend(notice::update(entry.id, notice, self.features));
                Sent::Done
            }
            _ => Sent::Done,
        };
        updates.at(None);
        self.sent.insert(entry.id, now);
    }

    /// The id of a message for the editor. In version 2 what has the same id is one text.
    fn message_id(&self, entry: &Entry, message: Option<&ApiMessageId>) -> Option<String> {
        if self.features.draft {
            return Some(own_id(entry.id));
        }
        message.map(|message| message.as_str().to_owned())
    }

    /// Tells what is new of a text or a thought.
    fn said(
        &mut self,
        entry: &Entry,
        text: &str,
        (state, is_thought): (BlockState, bool),
        message: Option<String>,
        before: Option<Sent>,
        updates: &mut Updates,
    ) -> Sent {
        let is_over = state != BlockState::Streaming;
        if let Some(agent) = &entry.parent
            && !updates.is_at(agent)
        {
            // The words of a sub-agent belong to its call.
            if is_over && !is_thought && !text.trim().is_empty() {
                self.words.insert(agent.clone(), text.chars().take(MAX_WORDS).collect());
                self.sync_call(agent, updates);
            }
            return if is_over { Sent::Done } else { Sent::Text(0) };
        }
        let known = if let Some(Sent::Text(bytes)) = before { bytes } else { 0 };
        // A text that became another one cannot be taken back; what is longer about it is told.
        if let Some(new) = text.get(known..).filter(|new| !new.is_empty()) {
            let chunk = chunk(new, message);
            updates.push(if is_thought {
                SessionUpdate::AgentThoughtChunk(chunk)
            } else {
                SessionUpdate::AgentMessageChunk(chunk)
            });
        }
        if is_over { Sent::Done } else { Sent::Text(text.len().max(known)) }
    }

    /// Tells anew how the call of a sub-agent looks.
    fn sync_call(&mut self, id: &ToolUseId, updates: &mut Updates) {
        let found = self.view.entries.iter().rfind(|entry| match &entry.body {
            EntryBody::Tool(call) => call.id == *id,
            _ => false,
        });
        if let Some(entry) = found.map(Arc::clone) {
            // Calls have no sender whose own messages are left out.
            self.sync(&entry, &HashSet::new(), updates);
        }
    }

    /// Tells how a call looks, if that is new.
    fn called(
        &mut self,
        entry: &Entry,
        call: &ToolCall,
        before: Option<Sent>,
        updates: &mut Updates,
    ) -> Sent {
        let is_over = call.state.is_settled();
        if is_over {
            self.words.remove(&call.id);
        }
        if tool::is_plan_keeping(call) {
            return if is_over { Sent::Done } else { Sent::Tool(None) };
        }
        let looks = self.editor_call(entry, call);
        let mut hasher = DefaultHasher::new();
        serde_json::to_string(&looks).unwrap_or_default().hash(&mut hasher);
        let hash = hasher.finish();
        match before {
            Some(Sent::Tool(Some(last))) if last == hash => {}
            Some(Sent::Tool(Some(_))) => {
                updates.push(SessionUpdate::ToolCallUpdate(ToolCallUpdate::from(looks)));
            }
            _ => updates.push(SessionUpdate::ToolCall(looks)),
        }
        // The difference of a file may come after the end of the call.
        if is_over && tool::kind(&call.name) != ToolKind::Edit { Sent::Done } else { Sent::Tool(Some(hash)) }
    }

    /// A call as the editor shows it.
    fn editor_call(&self, entry: &Entry, call: &ToolCall) -> EditorCall {
        let cwd = self.view.session.cwd.as_deref();
        let input = call.input.to_value();
        let files: Vec<&FileChange> = self.view.files.iter().filter(|file| file.tool == call.id).collect();
        let kind = tool::kind(&call.name);
        let mut locations = tool::changed_locations(&files);
        if locations.is_empty() {
            locations = tool::locations(&input, &call.detail, cwd);
        }
        let mut looks = EditorCall::new(call.id.as_str().to_owned(), tool::title(&call.name, &call.title))
            .kind(kind)
            .status(tool::status(call.state))
            .locations(locations);
        let (content, mut meta) = self.call_content(call, &input, &files, kind);
        looks = looks.content(content);
        if !call.name.is_empty() {
            looks = looks.name(call.name.clone());
        }
        if !input.is_null() {
            looks = looks.raw_input(input);
        }
        if let Some(output) = &call.output {
            looks = looks.raw_output(Value::from(tool::output_text(output)));
        }
        let mut claude = json!({"toolName": call.name});
        if let (Some(parent), Some(members)) = (&entry.parent, claude.as_object_mut()) {
            members.insert("parentToolUseId".to_owned(), parent.as_str().into());
            meta.insert("weir".to_owned(), json!({"parentToolCallId": parent.as_str()}));
        }
        // Under the name that editors know from the other adapter.
        meta.insert("claudeCode".to_owned(), claude);
        looks.meta(meta)
    }

    fn call_content(
        &self,
        call: &ToolCall,
        input: &Value,
        files: &[&FileChange],
        kind: ToolKind,
    ) -> (Vec<ToolCallContent>, Meta) {
        let mut meta = Meta::new();
        if kind == ToolKind::Execute && self.features.terminals {
            return (terminal(call, self.view.session.cwd.as_deref(), &mut meta), meta);
        }
        let mut content = tool::changed(files);
        if content.is_empty() && !matches!(call.state, ToolState::Failed | ToolState::Denied) {
            content = tool::proposed(&call.name, input);
        }
        if let Some(plan) = input.get("plan").and_then(Value::as_str) {
            content.push(tool::text_content(plan));
        }
        let is_shown_by_its_diff = kind == ToolKind::Edit && !content.is_empty();
        if !is_shown_by_its_diff {
            let words = || self.words.get(&call.id).map(|words| tool::text_content(words.clone()));
            content.extend(tool::output(call).or_else(words));
        }
        (content, meta)
    }
}

/// The id of an entry as a message.
fn own_id(entry: EntryId) -> String {
    format!("entry-{}", entry.0)
}

/// What an editor that joins now is taken to know.
fn known(entry: &Entry) -> Sent {
    match &entry.body {
        EntryBody::Tool(call) if !call.state.is_settled() => Sent::Tool(None),
        EntryBody::Text(text) if text.state == BlockState::Streaming => Sent::Text(text.text.len()),
        EntryBody::Thinking(text) if text.state == BlockState::Streaming => Sent::Text(text.text.len()),
        _ => Sent::Done,
    }
}

fn chunk(text: &str, message: Option<String>) -> ContentChunk {
    let chunk = ContentChunk::new(ContentBlock::Text(TextContent::new(text)));
    match message {
        Some(message) => chunk.message_id(message.as_str()),
        None => chunk,
    }
}

/// A command as a terminal that the agent fills.
fn terminal(call: &ToolCall, cwd: Option<&str>, meta: &mut Meta) -> Vec<ToolCallContent> {
    let id = call.id.as_str();
    meta.insert("terminal_info".to_owned(), json!({"terminal_id": id, "cwd": cwd}));
    if let Some(output) = &call.output {
        let data = tool::output_text(output);
        meta.insert("terminal_output".to_owned(), json!({"terminal_id": id, "data": data}));
    }
    if call.state.is_settled() {
        let code = (call.state == ToolState::Succeeded).then_some(0);
        let exit = json!({"terminal_id": id, "exit_code": code, "signal": null});
        meta.insert("terminal_exit".to_owned(), exit);
    }
    let terminal = agent_client_protocol::v1::schema::Terminal::new(id.to_owned());
    vec![ToolCallContent::Terminal(terminal)]
}

#[cfg(test)]
mod tests;
