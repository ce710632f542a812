//! What the bridge may do, as the configuration says it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::channel::{ChannelName, ChatId, Place, ThreadId, UserId};
use crate::engine::Pictures;

use super::records::Role;

/// What the bridge may do.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// Who may talk to the agent, besides those who are paired.
    pub people: BTreeMap<(ChannelName, UserId), Role>,
    /// Rules for scopes; the first that fits holds.
    pub scopes: Vec<ScopeRule>,
    /// What holds where no rule fits.
    pub default_scope: ScopeSettings,
    /// Messages of one sender in a minute.
    pub messages_per_minute: u32,
    /// Messages of one sender in a chat in ten minutes; beyond it, somebody talks to somebody like us.
    pub messages_per_ten_minutes: u32,
    /// Wrong pairing codes of one sender.
    pub wrong_codes: u32,
    /// How long a person has for an answer.
    pub ask_timeout_ms: i64,
    /// How long files of a message may take; what is not there by then is left out.
    pub fetch_timeout_ms: i64,
    /// Only administrators may allow tools.
    pub only_admins_allow: bool,
    /// Messages that wait in one conversation.
    pub most_waiting: usize,
    /// Messages of one reply; what is longer comes as a file.
    pub most_parts: usize,
    /// Pictures of the agent in one turn that are shown.
    pub most_pictures: usize,
    /// Deliveries that are remembered, so that none is taken twice.
    pub remembered: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            people: BTreeMap::new(),
            scopes: Vec::new(),
            default_scope: ScopeSettings::default(),
            messages_per_minute: 30,
            messages_per_ten_minutes: 120,
            wrong_codes: 5,
            ask_timeout_ms: 10 * 60 * 1000,
            fetch_timeout_ms: 2 * 60 * 1000,
            only_admins_allow: false,
            most_waiting: 50,
            most_parts: 4,
            most_pictures: 5,
            remembered: 5_000,
        }
    }
}

/// Settings for some of the scopes.
#[derive(Debug, Clone, PartialEq)]
pub struct ScopeRule {
    /// The channel.
    pub channel: ChannelName,
    /// The chat; any where none is named.
    pub chat: Option<String>,
    /// The thread, where each is a scope.
    pub thread: Option<String>,
    /// The person, where each has a scope.
    pub user: Option<String>,
    /// What holds there.
    pub settings: ScopeSettings,
}

impl ScopeRule {
    /// Whether it holds for somebody at a place, in a chat that may have had another name before.
    pub(super) fn fits(&self, place: &Place, before: &ChatId, user: Option<&str>) -> bool {
        let is_chat = |chat: &str| chat == place.chat.as_str() || chat == before.as_str();
        let thread = place.thread.as_ref().map(ThreadId::as_str);
        self.channel == place.channel
            && self.chat.as_deref().is_none_or(is_chat)
            && self.thread.as_deref().is_none_or(|wanted| thread == Some(wanted))
            && self.user.as_deref().is_none_or(|wanted| user == Some(wanted))
    }
}

/// What holds for a scope.
#[derive(Debug, Clone, PartialEq)]
pub struct ScopeSettings {
    /// Who shares a conversation.
    pub per: Per,
    /// What happens to messages while a turn runs.
    pub queue: QueueMode,
    /// How long it has to be quiet before collected messages are given to the model.
    pub debounce_ms: i64,
    /// In groups, only what is meant for us is read.
    pub only_when_addressed: bool,
    /// The working directory.
    pub workspace: String,
    /// The model.
    pub model: Option<String>,
    /// The models that people may choose; any where none is named.
    pub models: Vec<String>,
    /// The permission mode.
    pub permission_mode: Option<String>,
    /// People may allow a tool until the session ends, as far as the CLI's own suggestion goes.
    pub allow_for_session: bool,
    /// The tools that there are; all where nothing is said.
    pub tools: Option<Vec<String>>,
    /// Tools that need no permission.
    pub allowed_tools: Vec<String>,
    /// Tools that are not there.
    pub disallowed_tools: Vec<String>,
    /// What is added to the system prompt.
    pub append_system_prompt: Option<String>,
    /// Most that a conversation may cost, in dollars.
    pub max_cost_usd: Option<f64>,
    /// Whether the CLI keeps nothing of conversations on disk.
    pub no_session_persistence: bool,
    /// A line with cost, tokens and time below each answer.
    pub footer: bool,
    /// A live line tells which tool is at work.
    pub show_tools: bool,
    /// Which pictures of the agent are shown.
    pub pictures: Pictures,
}

impl Default for ScopeSettings {
    fn default() -> Self {
        Self {
            per: Per::Chat,
            queue: QueueMode::Collect,
            debounce_ms: 1_000,
            only_when_addressed: true,
            workspace: String::new(),
            model: None,
            models: Vec::new(),
            permission_mode: None,
            allow_for_session: true,
            tools: None,
            allowed_tools: Vec::new(),
            disallowed_tools: Vec::new(),
            append_system_prompt: None,
            max_cost_usd: None,
            no_session_persistence: false,
            footer: false,
            show_tools: true,
            pictures: Pictures::default(),
        }
    }
}

impl ScopeSettings {
    /// Whether people may choose this model.
    pub(super) fn allows_model(&self, model: &str) -> bool {
        self.models.is_empty() || self.models.iter().any(|allowed| allowed == model)
    }
}

/// Who shares a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Per {
    /// Everybody in a chat.
    Chat,
    /// Everybody in a thread.
    Thread,
    /// Each person has one of their own, in each chat.
    User,
}

/// What happens to messages while a turn runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum QueueMode {
    /// They wait, and become one prompt.
    Collect,
    /// They go into the turn.
    Steer,
    /// They wait, and each becomes a prompt.
    Followup,
    /// They end the turn.
    Interrupt,
}
