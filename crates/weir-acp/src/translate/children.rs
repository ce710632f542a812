//! Sub-agents as sessions of their own, for editors that understand these. Other editors see a sub-agent's calls next to
//! the call that started it.

use std::collections::{HashMap, HashSet};

use agent_client_protocol::v1::schema::{
    ContentBlock, Error, ErrorCode, ErrorStopReason, IdleStateUpdate, IdleStopReason, RunningStateUpdate,
    SessionId as EditorSessionId, SessionMessage, SessionUpdate, StateUpdate, SubagentUpdate, TextContent,
    UnknownStateUpdate,
};
use serde_json::json;
use weir_host::SessionId;
use weir_transcript::{Agent, AgentState, View};
use weir_wire::ToolUseId;

use super::{meta, shown};

/// The id of the message with which a sub-agent was started, in its session.
const TASK: &str = "task";

/// The session in which something is told. A sub-agent's has an id that no session of the host has, so nothing can be
/// asked of it.
pub(crate) fn session_id(session: &SessionId, agent: Option<&ToolUseId>) -> String {
    match agent {
        Some(agent) => format!("{session}.{}", agent.as_str()),
        None => session.to_string(),
    }
}

/// Updates for an editor, each with the sub-agent in whose session it belongs; none for the session itself.
#[derive(Debug, Default)]
pub(crate) struct Updates {
    home: Option<ToolUseId>,
    told: Vec<(Option<ToolUseId>, SessionUpdate)>,
}

impl Updates {
    /// Where the next ones belong.
    pub(crate) fn at(&mut self, home: Option<ToolUseId>) {
        self.home = home;
    }

    /// Whether the next ones belong into the session of this sub-agent.
    pub(crate) fn is_at(&self, agent: &ToolUseId) -> bool {
        self.home.as_ref() == Some(agent)
    }

    pub(crate) fn push(&mut self, update: SessionUpdate) {
        self.told.push((self.home.clone(), update));
    }

    pub(crate) fn extend(&mut self, updates: impl IntoIterator<Item = SessionUpdate>) {
        updates.into_iter().for_each(|update| self.push(update));
    }
}

impl IntoIterator for Updates {
    type Item = (Option<ToolUseId>, SessionUpdate);
    type IntoIter = std::vec::IntoIter<Self::Item>;

    fn into_iter(self) -> Self::IntoIter {
        self.told.into_iter()
    }
}

/// What an editor knows of sub-agents.
#[derive(Debug)]
pub(crate) struct Children {
    session: SessionId,
    is_shown: bool,
    known: HashMap<ToolUseId, (AgentState, String)>,
    /// Sub-agents of which something was told before they were known. They stay with their call.
    nested: HashSet<ToolUseId>,
}

impl Children {
    pub(crate) fn new(session: SessionId, is_shown: bool) -> Self {
        Self { session, is_shown, known: HashMap::new(), nested: HashSet::new() }
    }

    /// The sub-agent in whose session something of this agent belongs; none for the session itself.
    pub(crate) fn home(
        &mut self,
        view: &View,
        agent: Option<&ToolUseId>,
        updates: &mut Updates,
    ) -> Option<ToolUseId> {
        let agent = agent.filter(|agent| self.is_shown && !self.nested.contains(*agent))?;
        if !self.known.contains_key(agent) {
            let Some(found) = view.agents.iter().find(|found| found.id == *agent) else {
                self.nested.insert(agent.clone());
                return None;
            };
            self.tell(found, updates);
        }
        Some(agent.clone())
    }

    /// The session in which something of this agent is asked.
    pub(crate) fn session_of(&self, agent: Option<&ToolUseId>) -> String {
        session_id(&self.session, agent.filter(|agent| self.known.contains_key(*agent)))
    }

    /// Tells what is new of a sub-agent.
    pub(crate) fn tell(&mut self, agent: &Agent, updates: &mut Updates) {
        if !self.is_shown || self.nested.contains(&agent.id) {
            return;
        }
        let now = (agent.state, agent.description.clone());
        let before = self.known.insert(agent.id.clone(), now.clone());
        if before.as_ref() == Some(&now) {
            return;
        }
        let id = session_id(&self.session, Some(&agent.id));
        let mut update = SubagentUpdate::new(id.clone()).state(state(agent));
        if before.as_ref().is_none_or(|(_, description)| *description != agent.description) {
            update = update.title(shown(&agent.description));
        }
        if before.is_none() {
            let call = json!({"toolCallId": agent.id.as_str(), "agentType": agent.agent_type});
            update = update.meta(meta("weir", call));
        }
        let parent = agent.parent.clone().filter(|parent| self.known.contains_key(parent));
        updates.at(parent.clone());
        updates.push(SessionUpdate::SubagentUpdate(update));
        if before.is_none()
            && let Some(prompt) = &agent.prompt
        {
            let message = SessionMessage::new(TASK)
                .sender_session_id(EditorSessionId::new(session_id(&self.session, parent.as_ref())))
                .recipient_session_id(EditorSessionId::new(id))
                .content(vec![ContentBlock::Text(TextContent::new(prompt.clone()))]);
            updates.at(Some(agent.id.clone()));
            updates.push(SessionUpdate::SessionMessage(message));
        }
        updates.at(None);
    }
}

fn state(agent: &Agent) -> StateUpdate {
    let stopped = |reason| StateUpdate::Idle(IdleStateUpdate::new().stop_reason(reason));
    match agent.state {
        AgentState::Running => StateUpdate::Running(RunningStateUpdate::new()),
        AgentState::Completed => stopped(IdleStopReason::EndTurn),
        AgentState::Stopped => stopped(IdleStopReason::Cancelled),
        AgentState::Failed => {
            let why = agent.summary.as_deref().map_or_else(|| "the sub-agent failed".to_owned(), shown);
            let error = Error::new(i32::from(ErrorCode::InternalError), why);
            stopped(IdleStopReason::Error(ErrorStopReason::new().error(error)))
        }
        _ => StateUpdate::Unknown(UnknownStateUpdate::new()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    fn agent(id: &str, parent: Option<&str>, state: AgentState) -> Agent {
        let agent = json!({
            "id": id, "parent": parent, "entry": 1, "description": format!("about {id}"), "prompt": "look",
            "background": false, "state": state, "progress": {},
        });
        serde_json::from_value(agent).unwrap()
    }

    fn told(updates: Updates) -> Vec<(Option<String>, Value)> {
        let told = updates.into_iter().map(|(agent, update)| {
            (agent.map(|agent| agent.as_str().to_owned()), serde_json::to_value(update).unwrap())
        });
        told.collect()
    }

    #[test]
    fn a_sub_agent_is_announced_once_in_the_session_that_started_it() {
        let session: SessionId = "s".parse().unwrap();
        let mut children = Children::new(session, true);
        let view = View {
            agents: vec![agent("a", None, AgentState::Running), agent("b", Some("a"), AgentState::Running)],
            ..View::default()
        };
        let mut updates = Updates::default();
        assert_eq!(children.session_of(Some(&view.agents[0].id)), "s", "not announced yet");
        view.agents.iter().for_each(|agent| children.tell(agent, &mut updates));
        view.agents.iter().for_each(|agent| children.tell(agent, &mut updates));
        let found = told(updates);
        assert_eq!(found.len(), 4, "{found:?}");
        assert_eq!((&found[0].0, &found[0].1["sessionId"]), (&None, &json!("s.a")));
        assert_eq!(
            (&found[0].1["title"], &found[0].1["state"]["state"]),
            (&json!("about a"), &json!("running"))
        );
        assert_eq!(found[1].0.as_deref(), Some("a"));
        assert_eq!(
            (&found[1].1["senderSessionId"], &found[1].1["content"][0]["text"]),
            (&json!("s"), &json!("look"))
        );
        assert_eq!((found[2].0.as_deref(), &found[2].1["sessionId"]), (Some("a"), &json!("s.b")));
        assert_eq!(found[3].1["senderSessionId"], "s.a");
        assert_eq!(children.session_of(Some(&view.agents[1].id)), "s.b");

        let mut updates = Updates::default();
        children.tell(&agent("a", None, AgentState::Failed), &mut updates);
        let found = told(updates);
        assert_eq!((found.len(), &found[0].1["state"]["stopReason"]), (1, &json!("error")));
        assert!(found[0].1.get("title").is_none(), "it is the same: {found:?}");
    }

    #[test]
    fn what_is_told_before_a_sub_agent_is_known_stays_with_its_call() {
        let mut children = Children::new("s".parse().unwrap(), true);
        let (id, mut updates) = (ToolUseId::new("a"), Updates::default());
        assert_eq!(children.home(&View::default(), Some(&id), &mut updates), None);
        children.tell(&agent("a", None, AgentState::Running), &mut updates);
        let view = View { agents: vec![agent("a", None, AgentState::Running)], ..View::default() };
        assert_eq!(children.home(&view, Some(&id), &mut updates), None);
        assert_eq!(told(updates), []);
        // An editor that does not understand them hears of none.
        let mut children = Children::new("s".parse().unwrap(), false);
        let mut updates = Updates::default();
        assert_eq!(children.home(&view, Some(&id), &mut updates), None);
        children.tell(&view.agents[0], &mut updates);
        assert_eq!(told(updates), []);
    }
}
