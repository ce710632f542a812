//! Applies changes to a view. The fold itself changes its view in no other way.

use std::sync::Arc;

use weir_wire::{RequestId, TaskId, ToolUseId, TurnId};

use super::{Agent, AgentState, Change, Entry, EntryBody, EntryId, Request, ToolCall, Turn, View};

impl View {
    /// Whether anything runs in the background that the session waits for.
    pub fn has_background_work(&self) -> bool {
        self.tasks.iter().any(|task| !task.ambient)
    }

    /// Applies one change. A change that does not match the view (an unknown number) is ignored.
    pub fn apply(&mut self, change: &Change<'_>) {
        match change {
            Change::TextAppended { entry, text } => self.append_text(*entry, text),
            Change::TextReplaced { entry, text } => match self.entry_mut(*entry).map(|entry| &mut entry.body)
            {
                Some(EntryBody::Text(place)) => place.text.clone_from(text),
                Some(EntryBody::Thinking(place)) => place.text.clone_from(text),
                _ => {}
            },
            Change::InputAppended { entry, json } => {
                if let Some(tool) = self.entry_mut(*entry).and_then(tool_mut) {
                    tool.input_text.push_str(json);
                }
            }
            Change::BlockEnded { entry, state, code } => match self.entry_mut(*entry).map(|e| &mut e.body) {
                Some(EntryBody::Text(text)) => {
                    text.state = *state;
                    text.code.clone_from(code);
                }
                Some(EntryBody::Thinking(thinking)) => thinking.state = *state,
                _ => {}
            },
            Change::EntryAdded(entry) => self.entries.push(Arc::clone(entry)),
            Change::EntryReplaced(entry) => {
                if let Some(place) = self.place(entry.id).and_then(|place| self.entries.get_mut(place)) {
                    *place = Arc::clone(entry);
                }
            }
            Change::ToolState { entry, state } => {
                if let Some(tool) = self.entry_mut(*entry).and_then(tool_mut) {
                    tool.state = *state;
                }
            }
            Change::ToolEnded { entry, state, output, detail, structured, duration_ms } => {
                if let Some(tool) = self.entry_mut(*entry).and_then(tool_mut) {
                    tool.state = *state;
                    tool.output = Some(output.clone());
                    tool.duration_ms = *duration_ms;
                    tool.structured.clone_from(structured);
                    if let Some(detail) = detail {
                        tool.detail = detail.clone();
                    }
                }
            }
            Change::TurnAdded(turn) => {
                // Exactly, because most sessions are short and turns are large.
                if self.turns.len() == self.turns.capacity() {
                    self.turns.reserve_exact(self.turns.len().max(1));
                }
                self.turns.push(Turn::clone(turn));
            }
            Change::TurnReplaced(turn) => {
                if let Some(place) = self.turns.iter_mut().rfind(|place| place.id == turn.id) {
                    place.clone_from(turn);
                }
            }
            Change::Session(session) => self.session.clone_from(session),
            Change::Status { status } => self.status.clone_from(status),
            Change::Agent(agent) => upsert(&mut self.agents, agent, |place| place.id == agent.id),
            Change::Request(request) => upsert(&mut self.requests, request, |place| place.id == request.id),
            Change::Todos(todos) => upsert(&mut self.todos, todos, |place| place.agent == todos.agent),
            Change::Tasks { tasks } => self.tasks.clone_from(tasks),
            Change::FileChanged(file) => self.files.push(super::FileChange::clone(file)),
            Change::Cost(cost) => self.cost.clone_from(cost),
            Change::MessageUsed(usage) => {
                upsert(&mut self.usages, usage, |place| place.message == usage.message);
            }
            Change::RateLimit(limit) => self.rate_limit = Some(Box::new(limit.clone())),
            Change::Oddities(oddities) => self.oddities = *oddities,
            Change::Dropped { first_entry, first_turn, keep_turns, keep_agents, most } => {
                self.turns.retain(|turn| turn.id >= *first_turn || keep_turns.contains(&turn.id));
                self.drop_before(*first_entry, keep_agents);
                keep_newest(&mut self.agents, *most);
                keep_newest(&mut self.requests, *most);
                keep_newest(&mut self.files, *most);
                keep_newest(&mut self.usages, *most);
            }
        }
    }

    fn append_text(&mut self, entry: EntryId, more: &str) {
        match self.entry_mut(entry).map(|entry| &mut entry.body) {
            Some(EntryBody::Text(text)) => text.text.push_str(more),
            Some(EntryBody::Thinking(thinking)) => thinking.text.push_str(more),
            _ => {}
        }
    }

    fn drop_before(&mut self, first_entry: EntryId, keep_agents: &[ToolUseId]) {
        let gone = self.entries.iter().take_while(|entry| entry.id < first_entry).count();
        self.entries.drain(..gone);
        self.dropped_entries += gone as u64;
        self.agents.retain(|agent| agent.entry >= first_entry || keep_agents.contains(&agent.id));
        self.requests
            .retain(|request| request.entry >= first_entry || request.state == super::RequestState::Open);
        let agents: Vec<&ToolUseId> = self.agents.iter().map(|agent| &agent.id).collect();
        self.todos.retain(|list| list.agent.as_ref().is_none_or(|agent| agents.contains(&agent)));
        self.files.retain(|file| file.entry >= first_entry);
        self.usages.retain(|usage| usage.entry >= first_entry);
    }

    /// The index of an entry: numbers have no gaps, so no search is needed.
    fn place(&self, entry: EntryId) -> Option<usize> {
        let first = self.entries.first()?.id.0;
        usize::try_from(entry.0.checked_sub(first)?).ok()
    }

    /// The entry with this number.
    pub fn entry(&self, entry: EntryId) -> Option<&Entry> {
        self.shared_entry(entry).map(|entry| &**entry)
    }

    /// The entry with this number, shared.
    pub(crate) fn shared_entry(&self, entry: EntryId) -> Option<&Arc<Entry>> {
        self.entries.get(self.place(entry)?)
    }

    fn entry_mut(&mut self, entry: EntryId) -> Option<&mut Entry> {
        let place = self.place(entry)?;
        // Copies the entry only if a snapshot shares it.
        self.entries.get_mut(place).map(Arc::make_mut)
    }

    /// The tool call at this entry.
    pub fn tool(&self, entry: EntryId) -> Option<(&Entry, &ToolCall)> {
        let entry = self.entry(entry)?;
        match &entry.body {
            EntryBody::Tool(tool) => Some((entry, tool)),
            _ => None,
        }
    }

    /// The sub-agent that this tool call started.
    pub fn agent(&self, id: &ToolUseId) -> Option<&Agent> {
        self.agents.iter().rfind(|agent| agent.id == *id)
    }

    /// Whether the CLI has reported that this task runs, as a sub-agent or in the background.
    pub fn has_running_task(&self, id: &TaskId) -> bool {
        let is_agent = |agent: &Agent| agent.task.as_ref() == Some(id) && agent.state == AgentState::Running;
        self.tasks.iter().any(|task| task.id == *id) || self.agents.iter().any(is_agent)
    }

    /// Whether this agent or one of its ancestors runs in the background.
    pub fn is_in_background(&self, id: &ToolUseId) -> bool {
        let mut id = Some(id);
        // A tree cannot be deeper than its number of agents; a hostile stream could contain a cycle.
        for _ in 0..=self.agents.len() {
            let Some(agent) = id.and_then(|id| self.agent(id)) else { return false };
            if agent.background {
                return true;
            }
            id = agent.parent.as_ref();
        }
        false
    }

    /// The turn with this number.
    pub fn turn(&self, id: TurnId) -> Option<&Turn> {
        self.turns.iter().rfind(|turn| turn.id == id)
    }

    /// The request with this id.
    pub fn request(&self, id: &RequestId) -> Option<&Request> {
        self.requests.iter().rfind(|request| request.id == *id)
    }

    /// The tool calls, in order.
    pub fn tools(&self) -> impl DoubleEndedIterator<Item = (&Entry, &ToolCall)> {
        self.entries.iter().filter_map(|entry| match &entry.body {
            EntryBody::Tool(tool) => Some((&**entry, &**tool)),
            _ => None,
        })
    }

    /// The entries of an agent; `None` for the main agent.
    pub fn entries_of<'v>(&'v self, agent: Option<&'v ToolUseId>) -> impl Iterator<Item = &'v Entry> {
        self.entries.iter().map(|entry| &**entry).filter(move |entry| entry.parent.as_ref() == agent)
    }
}

fn tool_mut(entry: &mut Entry) -> Option<&mut ToolCall> {
    match &mut entry.body {
        EntryBody::Tool(tool) => Some(tool),
        _ => None,
    }
}

fn upsert<T: Clone>(list: &mut Vec<T>, value: &T, matches: impl Fn(&T) -> bool) {
    match list.iter_mut().rfind(|place| matches(place)) {
        Some(place) => place.clone_from(value),
        None => list.push(value.clone()),
    }
}

fn keep_newest<T>(list: &mut Vec<T>, max: usize) {
    list.drain(..list.len().saturating_sub(max));
}
