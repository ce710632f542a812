//! Settings of chats: `[defaults]`, and each of `[[scopes]]` on top of them.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::de::{Error as _, IgnoredAny};
use serde::{Deserialize, Deserializer};
use toml::Table;
use weir_session::SessionSpec;

use crate::engine::Pictures;
use crate::machine::{Per, QueueMode, ScopeSettings};

/// The permission modes that a chat may have.
const PERMISSION_MODES: [&str; 4] = ["default", "acceptEdits", "plan", "dontAsk"];

/// The settings of a scope, as the sample configuration describes them. A rule's table and the table of the defaults are joined before they are read, so that a rule
/// overrides what it names, whatever its value.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub(super) struct ScopeConfig {
    scope: Option<Per>,
    queue: Option<QueueMode>,
    debounce_ms: Option<i64>,
    groups: Option<Groups>,
    workspace: Option<PathBuf>,
    models: Option<Vec<String>>,
    allow_for_session: Option<bool>,
    footer: Option<bool>,
    show_tools: Option<bool>,
    pictures: Option<Pictures>,
    /// The session's own options.
    #[serde(flatten)]
    spec: SessionSpec,
    /// A flattened struct would accept any key, so the keys that are left over are collected and refused.
    #[serde(flatten, deserialize_with = "refuse_unknown")]
    unknown: (),
}

/// Which messages are read in groups.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Groups {
    /// Mentions of the bot and replies to it.
    Addressed,
    /// Everything.
    All,
}

fn refuse_unknown<'de, D: Deserializer<'de>>(deserializer: D) -> Result<(), D::Error> {
    let rest = BTreeMap::<String, IgnoredAny>::deserialize(deserializer)?;
    match rest.into_keys().next() {
        Some(key) => Err(D::Error::custom(format!("unknown field `{key}`"))),
        None => Ok(()),
    }
}

/// Settings that apply to some chats.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(try_from = "Table")]
pub struct ScopeRuleConfig {
    /// The channel.
    pub channel: String,
    /// The chat, or `None` for all chats of the channel.
    pub chat: Option<String>,
    /// The thread, if each thread is a scope.
    pub thread: Option<String>,
    /// The person, if each person has a scope.
    pub user: Option<String>,
    /// The settings that apply there.
    pub settings: Table,
}

impl TryFrom<Table> for ScopeRuleConfig {
    type Error = String;

    fn try_from(mut table: Table) -> Result<Self, String> {
        let mut text = |name: &str| match table.remove(name) {
            None => Ok(None),
            Some(toml::Value::String(text)) => Ok(Some(text)),
            Some(toml::Value::Integer(number)) => Ok(Some(number.to_string())),
            Some(_) => Err(format!("{name} must be a string, as in {name} = \"...\"")),
        };
        let (channel, chat, thread, user) = (text("channel")?, text("chat")?, text("thread")?, text("user")?);
        let channel = channel.ok_or("a scope must name its channel")?;
        // A mistake is reported with its place in the file, which is known only now.
        ScopeConfig::read(&table)?;
        Ok(Self { channel, chat, thread, user, settings: table })
    }
}

impl ScopeConfig {
    /// Reads a table.
    pub(super) fn read(table: &Table) -> Result<Self, String> {
        table.clone().try_into().map_err(|error: toml::de::Error| error.message().to_owned())
    }

    /// The settings for the machine, or the name of the setting that is wrong and why.
    pub(super) fn settings(self) -> Result<ScopeSettings, (&'static str, String)> {
        let base = ScopeSettings::default();
        if self.debounce_ms.is_some_and(|time| !(0..=600_000).contains(&time)) {
            return Err(("debounce_ms", "it must be 0 to 600000, which is ten minutes".to_owned()));
        }
        check_spec(&self.spec)?;
        Ok(ScopeSettings {
            per: self.scope.unwrap_or(base.per),
            queue: self.queue.unwrap_or(base.queue),
            debounce_ms: self.debounce_ms.unwrap_or(base.debounce_ms),
            only_when_addressed: self
                .groups
                .map_or(base.only_when_addressed, |groups| groups == Groups::Addressed),
            workspace: self
                .workspace
                .map_or(base.workspace, |workspace| workspace.to_string_lossy().into_owned()),
            models: self.models.unwrap_or(base.models),
            allow_for_session: self.allow_for_session.unwrap_or(base.allow_for_session),
            footer: self.footer.unwrap_or(base.footer),
            show_tools: self.show_tools.unwrap_or(base.show_tools),
            pictures: self.pictures.unwrap_or(base.pictures),
            spec: self.spec,
        })
    }
}

/// Refuses what a session of a chat cannot have.
fn check_spec(spec: &SessionSpec) -> Result<(), (&'static str, String)> {
    if spec.max_cost_usd.is_some_and(|max| !max.is_finite() || max <= 0.0) {
        return Err(("max_cost_usd", "it must be more than 0; leave it out for no limit".to_owned()));
    }
    if spec.max_turns == Some(0) {
        return Err(("max_turns", "it must be 1 or more; leave it out for no limit".to_owned()));
    }
    if spec.output_schema.is_some() {
        return Err(("output_schema", "a chat shows answers as text; leave it out".to_owned()));
    }
    let mode = spec.permission_mode.as_deref();
    if mode == Some("bypassPermissions") {
        let why = "a chat cannot use bypassPermissions, because everyone in it could run anything; list tools that need no permission in allowed_tools";
        return Err(("permission_mode", why.to_owned()));
    }
    if mode.is_some_and(|mode| !PERMISSION_MODES.contains(&mode)) {
        return Err(("permission_mode", format!("it must be one of {}", PERMISSION_MODES.join(", "))));
    }
    Ok(())
}
