//! The tree of sub-agents, identified only by the tool call that started each.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};
use weir_wire::{
    AgentResult, TaskId, TaskNotificationMessage, TaskProgressMessage, TaskStartedMessage, TaskStatus,
    TaskUpdatedMessage, TaskUsage, Text, ToolInput, ToolUseId, ToolUseResult,
};

use super::tools::is_agent_tool;
use super::{Fold, Sink};
use crate::view::{Agent, AgentProgress, AgentState, Change, EntryId, ToolState};

/// Which tool call a task of the CLI belongs to.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct Agents {
    pub(super) by_task: HashMap<TaskId, ToolUseId>,
}

impl Fold {
    /// Changes an agent, creating it if it is new.
    fn update_agent(&mut self, id: &ToolUseId, sink: &mut Sink<'_>, change: impl FnOnce(&mut Agent)) {
        let before = self.view.agent(id);
        let mut after = match before {
            Some(agent) => agent.clone(),
            None => {
                let call = self.tools.get(id).and_then(|entry| self.view.entry(*entry));
                Agent {
                    id: id.clone(),
                    parent: call.and_then(|entry| entry.parent.clone()),
                    entry: call.map_or(EntryId(self.next_entry), |entry| entry.id),
                    turn: call.and_then(|entry| entry.turn).or(self.turns.current()),
                    task: None,
                    description: String::new(),
                    agent_type: None,
                    prompt: None,
                    background: false,
                    state: AgentState::Running,
                    progress: AgentProgress::default(),
                    summary: None,
                }
            }
        };
        change(&mut after);
        if before != Some(&after) {
            self.emit(Change::Agent(Box::new(after)), sink);
        }
    }

    /// The call that starts an agent; lines of the agent may have arrived before it.
    pub(super) fn agent_called(&mut self, entry: EntryId, sink: &mut Sink<'_>) {
        let Some(found) = self.view.entry(entry) else {
            return;
        };
        let (parent, turn) = (found.parent.clone(), found.turn);
        let Some(tool) = self.tool(entry) else { return };
        let (id, tool_state) = (tool.id.clone(), tool.state);
        let ToolInput::Agent(input) = ToolInput::from_json(&tool.name, tool.input.as_raw()) else {
            return;
        };
        self.update_agent(&id, sink, |agent| {
            agent.parent = parent;
            agent.entry = entry;
            agent.turn = turn.or(agent.turn);
            agent.description = input.description.unwrap_or_else(|| std::mem::take(&mut agent.description));
            agent.agent_type = input.subagent_type.or(agent.agent_type.take());
            agent.prompt = Some(input.prompt);
            // This is what was requested; the task or the result says what actually happened.
            if agent.task.is_none() {
                agent.background |= input.run_in_background == Some(true);
            }
            // The result may have arrived before the call.
            if agent.state == AgentState::Running && !agent.background && tool_state.is_settled() {
                agent.state = ended_as(tool_state);
            }
        });
    }

    /// The turn of the call that started an agent has ended before the agent did.
    pub(super) fn agent_cut_off(&mut self, entry: EntryId, state: ToolState, sink: &mut Sink<'_>) {
        let Some(id) = self.tool(entry).map(|tool| tool.id.clone()) else { return };
        let runs = |agent: &Agent| agent.state == AgentState::Running && !agent.background;
        if self.view.agent(&id).is_some_and(runs) {
            self.update_agent(&id, sink, |agent| agent.state = ended_as(state));
        }
    }

    /// A line of an agent was received, with what it says about the agent.
    pub(super) fn agent_heard_of(
        &mut self,
        id: &ToolUseId,
        description: Option<Text<'_>>,
        agent_type: Option<Text<'_>>,
        sink: &mut Sink<'_>,
    ) {
        self.update_agent(id, sink, |agent| {
            if agent.description.is_empty() {
                agent.description = description.map(|text| text.to_str().into()).unwrap_or_default();
            }
            if agent.agent_type.is_none() {
                agent.agent_type = agent_type.map(|text| text.to_str().into());
            }
        });
    }

    pub(super) fn agent_asked(&mut self, id: &ToolUseId, prompt: &str, sink: &mut Sink<'_>) {
        self.update_agent(id, sink, |agent| {
            agent.prompt.get_or_insert_with(|| prompt.to_owned());
        });
    }

    /// The result of the call that started an agent. For an agent in the background it only says that the agent
    /// is running.
    pub(super) fn agent_answered(
        &mut self,
        entry: EntryId,
        result: Option<&ToolUseResult<'_>>,
        failed: bool,
        sink: &mut Sink<'_>,
    ) {
        let Some(tool) = self.tool(entry) else { return };
        let id = tool.id.clone();
        let agent_result = match result {
            Some(ToolUseResult::Agent(result)) => Some(result),
            _ => None,
        };
        if agent_result.is_none() && !is_agent_tool(&tool.name) && self.view.agent(&id).is_none() {
            return;
        }
        self.update_agent(&id, sink, |agent| {
            if let Some(result) = agent_result {
                agent.background = is_in_background(result).unwrap_or(agent.background);
                agent.agent_type =
                    agent.agent_type.take().or(result.agent_type.map(|text| text.to_str().into()));
                let progress = &mut agent.progress;
                progress.total_tokens = result.total_tokens.or(progress.total_tokens);
                progress.tool_uses = result.total_tool_use_count.or(progress.tool_uses);
                progress.duration_ms = result.total_duration_ms.or(progress.duration_ms);
            }
            if failed {
                agent.state = AgentState::Failed;
            } else if !agent.background && agent.state == AgentState::Running {
                agent.state = AgentState::Completed;
            }
        });
    }

    pub(super) fn task_started(&mut self, task: &TaskStartedMessage<'_>, sink: &mut Sink<'_>) {
        let Some(id) = task.tool_use_id.map(|id| id.to_id()) else {
            return;
        };
        let is_agent = task.task_type.is_some_and(|kind| kind.to_str().ends_with("agent"));
        let is_called_agent = self.tools.get(&id).and_then(|entry| self.tool(*entry));
        if !is_agent && !is_called_agent.is_some_and(|tool| is_agent_tool(&tool.name)) {
            return;
        }
        let task_id = task.task_id.to_id();
        self.agents.by_task.insert(task_id.clone(), id.clone());
        self.update_agent(&id, sink, |agent| {
            agent.task = Some(task_id);
            agent.background = task.is_backgrounded.unwrap_or(agent.background);
            if let Some(description) = task.description {
                agent.description = description.to_str().into();
            }
            if let Some(agent_type) = task.subagent_type {
                agent.agent_type = Some(agent_type.to_str().into());
            }
            if let Some(prompt) = task.prompt {
                agent.prompt = Some(prompt.to_str().into());
            }
        });
    }

    pub(super) fn task_progress(&mut self, task: &TaskProgressMessage<'_>, sink: &mut Sink<'_>) {
        let Some(id) = self.agent_of_task(task.tool_use_id.map(|id| id.to_id()), &task.task_id.to_id())
        else {
            return;
        };
        self.update_agent(&id, sink, |agent| {
            agent.progress.activity = task.description.map(|text| text.to_str().into());
            agent.progress.last_tool = task.last_tool_name.map(|text| text.to_str().into());
            used(&mut agent.progress, task.usage.as_ref());
        });
    }

    pub(super) fn task_updated(&mut self, task: &TaskUpdatedMessage<'_>, sink: &mut Sink<'_>) {
        let Some(id) = self.agent_of_task(None, &task.task_id.to_id()) else {
            return;
        };
        self.update_agent(&id, sink, |agent| {
            agent.background = task.patch.is_backgrounded.unwrap_or(agent.background);
            // The end is left to the notification that follows, which also has the outcome.
            if let Some(AgentState::Running) = task.patch.status.and_then(agent_state) {
                agent.state = AgentState::Running;
            }
            if let Some(error) = task.patch.error {
                agent.summary = Some(error.to_str().into());
            }
        });
    }

    pub(super) fn task_notification(&mut self, task: &TaskNotificationMessage<'_>, sink: &mut Sink<'_>) {
        let Some(id) = self.agent_of_task(task.tool_use_id.map(|id| id.to_id()), &task.task_id.to_id())
        else {
            return;
        };
        self.update_agent(&id, sink, |agent| {
            agent.state = agent_state(task.status).unwrap_or(AgentState::Completed);
            agent.summary = task.summary.map(|text| text.to_str().into());
            agent.progress.activity = None;
            used(&mut agent.progress, task.usage.as_ref());
        });
    }

    fn agent_of_task(&self, tool: Option<ToolUseId>, task: &TaskId) -> Option<ToolUseId> {
        tool.filter(|id| self.view.agent(id).is_some()).or_else(|| self.agents.by_task.get(task).cloned())
    }

    /// The CLI has ended: the outcome of agents that are still running is unknown.
    pub(super) fn forget_running_agents(&mut self, sink: &mut Sink<'_>) {
        let running = self.view.agents.iter().filter(|agent| agent.state == AgentState::Running);
        let running: Vec<ToolUseId> = running.map(|agent| agent.id.clone()).collect();
        for id in running {
            self.update_agent(&id, sink, |agent| agent.state = AgentState::Unknown);
        }
    }
}

/// Whether an agent continues after the result of its call; `None` if the result does not say.
fn is_in_background(result: &AgentResult<'_>) -> Option<bool> {
    match result.status {
        Some(status) if status == "completed" => Some(false),
        Some(status) if status == "async_launched" => Some(true),
        _ => result.is_async,
    }
}

/// How an agent ended, derived from the call that started it.
fn ended_as(state: ToolState) -> AgentState {
    match state {
        ToolState::Succeeded => AgentState::Completed,
        ToolState::Failed => AgentState::Failed,
        ToolState::Interrupted | ToolState::Denied => AgentState::Stopped,
        _ => AgentState::Unknown,
    }
}

fn used(progress: &mut AgentProgress, usage: Option<&TaskUsage<'_>>) {
    let Some(usage) = usage else { return };
    progress.total_tokens = usage.total_tokens.or(progress.total_tokens);
    progress.tool_uses = usage.tool_uses.or(progress.tool_uses);
    progress.duration_ms = usage.duration_ms.or(progress.duration_ms);
}

fn agent_state(status: TaskStatus<'_>) -> Option<AgentState> {
    match status {
        TaskStatus::Completed => Some(AgentState::Completed),
        TaskStatus::Failed => Some(AgentState::Failed),
        TaskStatus::Killed | TaskStatus::Stopped => Some(AgentState::Stopped),
        TaskStatus::Running | TaskStatus::Pending | TaskStatus::Paused => Some(AgentState::Running),
        TaskStatus::Other(_) | _ => None,
    }
}
