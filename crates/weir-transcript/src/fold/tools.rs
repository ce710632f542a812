//! Tool calls: their states, their outputs, and what they did to files and to-do lists.

use std::sync::Arc;

use weir_wire::{
    IdRef, OwnedJson, PermissionDeniedMessage, RawJson, Text, ToolInput, ToolProgressMessage, ToolUseId,
    TurnId,
};

use super::{Fold, Sink};
use crate::diff::{self, Difference};
use crate::view::{
    Agent, AgentState, Change, Entry, EntryBody, EntryId, FileChange, Output, Todo, TodoList, ToolCall,
    ToolDetail, ToolState,
};

/// Prefix of the ids that we assign to calls without one.
const UNNAMED: &str = "unnamed-";

impl Fold {
    /// The model has begun to write a call; its arguments are streaming in.
    pub(super) fn tool_announced(
        &mut self,
        parent: Option<IdRef<'_, ToolUseId>>,
        id: &ToolUseId,
        name: Text<'_>,
        server: bool,
        sink: &mut Sink<'_>,
    ) -> EntryId {
        if let Some(entry) = self.tools.get(id) {
            return *entry;
        }
        // A call that was dropped from a bounded view while it ran is restored when its result arrives.
        let tool = self
            .dropped_calls
            .remove(id)
            .unwrap_or_else(|| ToolCall { name: name.to_str().into(), ..pending_call(id.clone(), server) });
        self.add_tool(parent, tool, sink)
    }

    fn add_tool(
        &mut self,
        parent: Option<IdRef<'_, ToolUseId>>,
        tool: ToolCall,
        sink: &mut Sink<'_>,
    ) -> EntryId {
        let id = tool.id.clone();
        let is_open = !tool.state.is_settled();
        let turn = self.turn_for(parent);
        let body = EntryBody::Tool(Box::new(tool));
        let entry = self.add_entry(turn, parent.map(|id| id.to_id()), body, sink);
        self.tools.insert(id, entry);
        if is_open {
            self.open_tools.push(entry);
        }
        entry
    }

    /// The complete call has arrived.
    pub(super) fn tool_called(
        &mut self,
        parent: Option<IdRef<'_, ToolUseId>>,
        id: &ToolUseId,
        name: Text<'_>,
        input: RawJson<'_>,
        server: bool,
        sink: &mut Sink<'_>,
    ) {
        let started_at = self.time();
        let name = name.to_str();
        let complete = |tool: &mut ToolCall| {
            tool.title = title(&name, input);
            if matches!(tool.detail, ToolDetail::None) {
                tool.detail = detail_of_call(&name, input);
            }
            tool.name = name.clone().into_owned();
            tool.input = input.into();
            tool.input_text = String::new();
            tool.started_at = tool.started_at.or(started_at);
            if tool.state == ToolState::Pending {
                tool.state = ToolState::Running;
            }
        };
        let entry = match self.tools.get(id).copied() {
            Some(entry) => {
                self.update_tool(entry, sink, complete);
                entry
            }
            None => {
                let mut tool = pending_call(id.clone(), server);
                complete(&mut tool);
                self.add_tool(parent, tool, sink)
            }
        };
        self.link_request(entry, sink);
        if is_agent_tool(&name) {
            self.agent_called(entry, sink);
        } else if name == "TodoWrite" {
            self.todos_proposed(entry, sink);
        }
    }

    /// An id for a call without one.
    pub(super) fn unnamed_call(&self) -> ToolUseId {
        ToolUseId::new(format!("{UNNAMED}{}", self.next_entry))
    }

    /// The call that a result without an id belongs to: the agent's oldest call without an id, or else the only
    /// one that is still running.
    pub(super) fn unnamed_result(&self, parent: Option<IdRef<'_, ToolUseId>>) -> Option<EntryId> {
        let parent = parent.map(|id| id.to_id());
        let is_of_agent =
            |entry: &EntryId| self.view.entry(*entry).is_some_and(|found| found.parent == parent);
        let open: Vec<EntryId> = self.open_tools.iter().copied().filter(is_of_agent).collect();
        let is_unnamed = |entry: &EntryId| {
            self.tool(*entry)
                .is_some_and(|tool| tool.id.as_str().starts_with(UNNAMED) && tool.output.is_none())
        };
        match open.as_slice() {
            [only] => Some(*only),
            several => several.iter().copied().find(is_unnamed),
        }
    }

    /// Changes a tool call, if that makes a difference.
    pub(super) fn update_tool(
        &mut self,
        entry: EntryId,
        sink: &mut Sink<'_>,
        change: impl FnOnce(&mut ToolCall),
    ) {
        let Some(before) = self.view.entry(entry) else {
            return;
        };
        let mut after: Entry = before.clone();
        if let EntryBody::Tool(tool) = &mut after.body {
            change(tool);
        }
        if after != *before {
            self.emit(Change::EntryReplaced(Arc::new(after)), sink);
        }
    }

    pub(super) fn tool(&self, entry: EntryId) -> Option<&ToolCall> {
        self.view.tool(entry).map(|(_, tool)| tool)
    }

    /// Ends a call that will not get a result. A denied call stays denied.
    pub(super) fn settle_tool_as(&mut self, entry: EntryId, state: ToolState, sink: &mut Sink<'_>) {
        self.open_tools.retain(|open| *open != entry);
        let Some(tool) = self.tool(entry) else { return };
        if tool.state == ToolState::Denied && tool.output.is_none() {
            let output = Output { line: self.lines, ..Output::default() };
            let change = Change::ToolEnded {
                entry,
                state: tool.state,
                output,
                detail: None,
                structured: None,
                duration_ms: None,
            };
            self.emit(change, sink);
        } else if tool.state != state {
            self.emit(Change::ToolState { entry, state }, sink);
        }
    }

    /// A tool was denied. Its result, which tells the model so, is still to come.
    pub(super) fn deny_tool(&mut self, entry: EntryId, sink: &mut Sink<'_>) {
        if self.tool(entry).is_some_and(|tool| tool.state != ToolState::Denied) {
            self.emit(Change::ToolState { entry, state: ToolState::Denied }, sink);
        }
    }

    /// A tool was denied without asking.
    pub(super) fn permission_denied(&mut self, denied: &PermissionDeniedMessage<'_>, sink: &mut Sink<'_>) {
        if let Some(entry) = denied.tool_use_id.and_then(|id| self.tools.get(&id.to_id()).copied()) {
            self.deny_tool(entry, sink);
        }
    }

    /// How long a tool has been running.
    pub(super) fn tool_progress(&mut self, progress: &ToolProgressMessage<'_>, sink: &mut Sink<'_>) {
        let Some(entry) = self.tools.get(&progress.tool_use_id.to_id()).copied() else { return };
        let Some(seconds) = progress.elapsed_time_seconds.filter(|seconds| *seconds >= 0.0) else { return };
        self.update_tool(entry, sink, |tool| {
            if !tool.state.is_settled() {
                tool.duration_ms = Some((seconds * 1000.0) as u64);
            }
        });
    }

    /// The result of a call that the API ran.
    pub(super) fn server_tool_ended(
        &mut self,
        parent: Option<IdRef<'_, ToolUseId>>,
        id: &ToolUseId,
        output: Output,
        failed: bool,
        sink: &mut Sink<'_>,
    ) {
        let entry = self.tool_announced(parent, id, Text::default(), true, sink);
        let state = if failed { ToolState::Failed } else { ToolState::Succeeded };
        self.open_tools.retain(|open| *open != entry);
        self.emit(
            Change::ToolEnded { entry, state, output, detail: None, structured: None, duration_ms: None },
            sink,
        );
    }

    /// A turn has ended: its open calls will not get a result, unless they run in the background.
    pub(super) fn settle_tools_of(&mut self, turn: TurnId, state: ToolState, sink: &mut Sink<'_>) {
        let is_over = |entry: &EntryId| {
            let Some(found) = self.view.entry(*entry) else { return true };
            let in_background = found.parent.as_ref().is_some_and(|id| self.view.is_in_background(id));
            found.turn == Some(turn) && !in_background
        };
        let over: Vec<EntryId> = self.open_tools.iter().copied().filter(is_over).collect();
        for entry in over {
            self.settle_tool_as(entry, state, sink);
            self.agent_cut_off(entry, state, sink);
        }
        let is_still_running = |agent: &Agent| agent.background && agent.state == AgentState::Running;
        if !self.view.agents.iter().any(is_still_running) {
            self.dropped_calls.clear();
        }
    }

    /// Reports the file that a call has changed.
    pub(super) fn file_changed(
        &mut self,
        entry: EntryId,
        path: String,
        difference: Difference,
        sink: &mut Sink<'_>,
    ) {
        let Some((found, tool)) = self.view.tool(entry) else {
            return;
        };
        let change = FileChange {
            path,
            tool: tool.id.clone(),
            entry,
            turn: found.turn,
            kind: difference.kind,
            diff: difference.text,
            added: difference.added,
            removed: difference.removed,
            exact: difference.exact,
        };
        self.emit(Change::FileChanged(Box::new(change)), sink);
    }

    /// What a call did, derived from its arguments: for results without a structured form.
    pub(super) fn effect_of_input(&self, entry: EntryId) -> Effect {
        let Some(tool) = self.tool(entry).filter(|tool| has_effect(&tool.name)) else {
            return Effect::None;
        };
        match ToolInput::from_json(&tool.name, tool.input.as_raw()) {
            ToolInput::Write(input) => {
                let difference = diff::from_write(&input);
                Effect::File(input.file_path, difference)
            }
            ToolInput::Edit(input) => {
                let difference = diff::from_edit(&input);
                Effect::File(input.file_path, difference)
            }
            ToolInput::MultiEdit(input) => {
                let difference = diff::from_multi_edit(&input);
                Effect::File(input.file_path, difference)
            }
            ToolInput::TodoWrite(input) => {
                let items = input.todos.into_iter().map(|item| Todo {
                    id: None,
                    text: item.content,
                    status: item.status,
                    active_form: item.active_form,
                });
                Effect::Todos(items.collect())
            }
            _ => Effect::None,
        }
    }

    /// A call contains the complete new to-do list, which is shown without waiting for the result.
    fn todos_proposed(&mut self, entry: EntryId, sink: &mut Sink<'_>) {
        let is_open = self.tool(entry).is_some_and(|tool| !tool.state.is_settled());
        // Newer versions do not offer the tool in every session; if the model calls it anyway, the call is
        // rejected.
        let tools = &self.view.session.tools;
        let is_available = tools.is_empty() || tools.iter().any(|tool| tool == "TodoWrite");
        let before = self.todos_of(entry);
        if let Effect::Todos(items) = self.effect_of_input(entry)
            && is_open
            && is_available
            && items != before
        {
            self.todos_before.insert(entry, before);
            self.set_todos(entry, items, sink);
        }
    }

    /// The result of a call that may have proposed a to-do list: if it failed, the old list is restored.
    pub(super) fn todos_decided(&mut self, entry: EntryId, failed: bool, sink: &mut Sink<'_>) {
        if let Some(before) = self.todos_before.remove(&entry).filter(|_| failed) {
            self.set_todos(entry, before, sink);
        }
    }

    /// The list of the agent that made this call.
    pub(super) fn todos_of(&self, entry: EntryId) -> Vec<Todo> {
        let agent = self.view.entry(entry).and_then(|entry| entry.parent.as_ref());
        let list = self.view.todos.iter().find(|list| list.agent.as_ref() == agent);
        list.map(|list| list.items.clone()).unwrap_or_default()
    }

    pub(super) fn set_todos(&mut self, entry: EntryId, items: Vec<Todo>, sink: &mut Sink<'_>) {
        let agent = self.view.entry(entry).and_then(|entry| entry.parent.clone());
        self.emit(Change::Todos(TodoList { agent, items }), sink);
    }
}

/// What a tool call has done, apart from its output.
pub(super) enum Effect {
    None,
    /// It has changed a file.
    File(String, Difference),
    /// The new to-do list.
    Todos(Vec<Todo>),
    /// Details that depend on the kind of tool.
    Detail(ToolDetail),
}

impl Effect {
    /// Details beyond the output that depend on the kind of tool.
    pub(super) fn detail(&self) -> Option<ToolDetail> {
        match self {
            Self::Detail(detail) => Some(detail.clone()),
            Self::File(path, difference) => Some(ToolDetail::FileChanged {
                path: path.clone(),
                added: difference.added,
                removed: difference.removed,
            }),
            Self::None | Self::Todos(_) => None,
        }
    }
}

/// Tools whose arguments show what they did.
fn has_effect(name: &str) -> bool {
    matches!(name, "Write" | "Edit" | "MultiEdit" | "TodoWrite")
}

fn pending_call(id: ToolUseId, server: bool) -> ToolCall {
    ToolCall {
        id,
        name: String::new(),
        title: String::new(),
        input: OwnedJson::default(),
        input_text: String::new(),
        state: ToolState::Pending,
        server,
        request: None,
        output: None,
        detail: ToolDetail::None,
        structured: None,
        started_at: None,
        duration_ms: None,
    }
}

pub(super) fn is_agent_tool(name: &str) -> bool {
    matches!(name, "Task" | "Agent")
}

fn detail_of_call(name: &str, input: RawJson<'_>) -> ToolDetail {
    let text = |key| input.get(key).and_then(|value| value.as_text()).map(|text| text.to_str().into_owned());
    match name {
        "AskUserQuestion" => match ToolInput::from_json(name, input) {
            ToolInput::AskUserQuestion(input) => {
                ToolDetail::Questions { questions: input.questions, answers: None }
            }
            _ => ToolDetail::None,
        },
        "ExitPlanMode" => {
            ToolDetail::Plan { text: text("plan").unwrap_or_default(), file: text("planFilePath") }
        }
        "TodoWrite" | "TaskCreate" | "TaskUpdate" => ToolDetail::Todos,
        name if is_agent_tool(name) => ToolDetail::Agent,
        _ => ToolDetail::None,
    }
}

/// What a call does, in a line.
fn title(name: &str, input: RawJson<'_>) -> String {
    const MAX_TITLE_LENGTH: usize = 160;
    let keys: &[&str] = match name {
        "Bash" => &["command"],
        "Glob" | "Grep" => &["pattern"],
        "Task" | "Agent" => &["description", "prompt"],
        "TaskCreate" | "TaskUpdate" => &["subject", "taskId"],
        "Skill" => &["skill", "command"],
        _ => &[
            "file_path",
            "notebook_path",
            "path",
            "url",
            "query",
            "pattern",
            "command",
            "description",
            "name",
        ],
    };
    let text = keys.iter().find_map(|key| input.get(key)?.as_text()).unwrap_or_default();
    // A character takes at most four bytes, so a long argument need not be unescaped in full for its first
    // line.
    let start = text.head(4 * MAX_TITLE_LENGTH).to_str();
    let line = start.trim().lines().next().unwrap_or_default();
    weir_base::text::shorten(line, MAX_TITLE_LENGTH).into_owned()
}
