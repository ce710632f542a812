//! Settings of the machine.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use weir_session::SessionSpec;

use crate::channel::{ChannelName, ChatId, Place, ThreadId, UserId};
use crate::engine::Pictures;

use super::records::Role;

/// Settings of the machine.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// People who may talk to the agent, in addition to those who are paired.
    pub people: BTreeMap<(ChannelName, UserId), Role>,
    /// Rules for scopes. The first match applies.
    pub scopes: Vec<ScopeRule>,
    /// Settings of scopes without a matching rule.
    pub default_scope: ScopeSettings,
    /// Maximum messages per sender in a minute.
    pub messages_per_minute: u32,
    /// Maximum messages per sender and chat in ten minutes. More suggest that two programs are answering each other.
    pub messages_per_ten_minutes: u32,
    /// Maximum wrong pairing codes per sender.
    pub wrong_codes: u32,
    /// Time limit for answering a request.
    pub ask_timeout_ms: i64,
    /// Time limit for fetching the files of a message. Files that take longer are left out.
    pub fetch_timeout_ms: i64,
    /// Only administrators may allow tools.
    pub only_admins_allow: bool,
    /// Maximum number of waiting messages per scope.
    pub max_waiting: usize,
    /// Maximum number of messages per reply. Longer replies are sent as a file.
    pub max_parts: usize,
    /// Maximum number of pictures shown per turn.
    pub max_pictures: usize,
    /// Number of deliveries remembered to recognise repeated ones.
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
            max_waiting: 50,
            max_parts: 4,
            max_pictures: 5,
            remembered: 5_000,
        }
    }
}

/// Settings for some scopes.
#[derive(Debug, Clone, PartialEq)]
pub struct ScopeRule {
    /// The channel.
    pub channel: ChannelName,
    /// The chat, or `None` for any.
    pub chat: Option<String>,
    /// The thread, if each thread is a scope.
    pub thread: Option<String>,
    /// The person, if each person has a scope.
    pub user: Option<String>,
    /// The settings that apply there.
    pub settings: ScopeSettings,
}

impl ScopeRule {
    /// Whether it applies to a person in a place. `before` is the original id of the chat.
    pub(super) fn fits(&self, place: &Place, before: &ChatId, user: Option<&str>) -> bool {
        let is_chat = |chat: &str| chat == place.chat.as_str() || chat == before.as_str();
        let thread = place.thread.as_ref().map(ThreadId::as_str);
        self.channel == place.channel
            && self.chat.as_deref().is_none_or(is_chat)
            && self.thread.as_deref().is_none_or(|wanted| thread == Some(wanted))
            && self.user.as_deref().is_none_or(|wanted| user == Some(wanted))
    }
}

/// Settings of a scope.
#[derive(Debug, Clone, PartialEq)]
pub struct ScopeSettings {
    /// Who shares a session.
    pub per: Per,
    /// What happens to messages while a turn is running.
    pub queue: QueueMode,
    /// How long to wait for more messages before collected messages become a prompt.
    pub debounce_ms: i64,
    /// In groups, read only messages that are addressed to the bot.
    pub only_when_addressed: bool,
    /// The working directory.
    pub workspace: String,
    /// What sessions are to be like.
    pub spec: SessionSpec,
    /// The models that people may choose. Empty for any model.
    pub models: Vec<String>,
    /// People may allow what the CLI suggests until the session ends.
    pub allow_for_session: bool,
    /// Show cost, tokens and time below each answer.
    pub footer: bool,
    /// Show which tool is running.
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
            spec: SessionSpec::default(),
            models: Vec::new(),
            allow_for_session: true,
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

/// Who shares a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Per {
    /// Everyone in a chat.
    Chat,
    /// Everyone in a thread.
    Thread,
    /// Each person has their own, in each chat.
    User,
}

/// What happens to messages while a turn is running.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum QueueMode {
    /// They wait, and become one prompt.
    Collect,
    /// They are added to the turn.
    Steer,
    /// They wait, and each becomes a prompt.
    Followup,
    /// They interrupt the turn.
    Interrupt,
}
