//! The acting agent: the main agent of the session, or one of its sub-agents.

use std::sync::{Arc, Mutex};

use super::cancel::Cancel;
use super::ids::Ids;
use super::lock;
use super::sim::Sim;
use crate::json::Json;

/// Identifies a sub-agent.
#[derive(Debug, Clone)]
pub(crate) struct Identity {
    /// The call that started it: the sub-agent's lines carry it as their parent.
    pub(crate) tool_use_id: String,
    pub(crate) task_id: String,
    pub(crate) run_id: String,
    pub(crate) kind: String,
    pub(crate) description: String,
    pub(crate) prompt: String,
    /// 1 for a sub-agent of the main agent.
    pub(crate) depth: u64,
    pub(crate) background: bool,
    pub(crate) parent_task: Option<String>,
}

/// The main agent or a sub-agent at work.
#[derive(Debug, Clone)]
pub(crate) struct Agent {
    /// `None` for the main agent.
    pub(crate) identity: Option<Identity>,
    pub(crate) ids: Arc<Ids>,
    pub(crate) cancel: Arc<Cancel>,
    /// The tools used by it and its own sub-agents.
    pub(crate) tools_used: Arc<Mutex<Vec<String>>>,
}

impl Agent {
    pub(crate) fn new(identity: Option<Identity>, ids: Arc<Ids>, cancel: Arc<Cancel>) -> Self {
        Self { identity, ids, cancel, tools_used: Arc::default() }
    }

    /// Records the use of a tool.
    pub(crate) fn used(&self, tool: &str) {
        let mut used = lock(&self.tools_used);
        if !used.iter().any(|name| name == tool) {
            used.push(tool.to_owned());
        }
    }

    /// The value of `parent_tool_use_id`.
    pub(crate) fn parent(&self) -> Json {
        Json::from(self.identity.as_ref().map(|identity| identity.tool_use_id.as_str()))
    }

    pub(crate) fn is_main(&self) -> bool {
        self.identity.is_none()
    }

    /// Number of agents above it.
    pub(crate) fn depth(&self) -> u64 {
        self.identity.as_ref().map_or(0, |identity| identity.depth)
    }

    /// Whether lines about its actions are written.
    pub(crate) fn shows_lines(&self, sim: &Sim) -> bool {
        let Some(identity) = &self.identity else { return true };
        if sim.profile.is_old() {
            return !identity.background;
        }
        identity.depth <= 1 || sim.state().forward_subagent_text
    }

    /// Whether lines with its text and thinking are written.
    pub(crate) fn shows_text(&self, sim: &Sim) -> bool {
        let Some(identity) = &self.identity else { return true };
        let told = sim.state().forward_subagent_text || (identity.background && identity.depth <= 1);
        told && !sim.profile.is_old()
    }
}
