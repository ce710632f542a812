//! The settings of a session, and who created it.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use weir_session::{AgentSpec, SessionSpec};
use weir_store::SessionId;
use weir_wire::{MessageId, output_schema};

use crate::client_tools::ClientTools;
use crate::error::HostError;
use crate::host::NewWorktree;

/// Who performs an action: the name of a token, a chat user, `loop`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Actor {
    /// The name, visible to others.
    pub name: String,
    /// The account that pays for their messages, as the host's billing knows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub account: Option<String>,
}

impl Actor {
    /// An actor with this name and no account.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), account: None }
    }

    /// Sets the account that pays for their messages.
    #[must_use]
    pub fn paying(mut self, account: impl Into<String>) -> Self {
        self.account = Some(account.into());
        self
    }
}

/// A session to create.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct NewSession {
    /// Working directory. Must be inside an allowed root.
    pub cwd: String,
    /// The caller's own key for the session. Creating a second session with the same key returns the first one.
    pub key: Option<String>,
    /// Display name.
    pub name: Option<String>,
    /// What it is to be like. The tools are a subset of those that the host gives to sessions.
    #[serde(flatten)]
    pub spec: SessionSpec,
    /// How many seconds a person may take to answer a permission request or a question before it is denied; none for
    /// the host's own limit. For unattended callers: a request that no one can answer ends after a bounded time.
    pub ask_timeout_s: Option<u32>,
    /// Tools of the caller that the model may call.
    pub client_tools: ClientTools,
    /// Makes a worktree of the folder's repository for the session, with a branch of its own.
    pub worktree: Option<NewWorktree>,
    /// What created it: `page`, `api`, `loop`, `bridge`, `openai`.
    #[serde(skip_deserializing)]
    pub origin: String,
}

impl NewSession {
    /// A session in this folder.
    pub fn new(cwd: impl Into<String>) -> Self {
        Self { cwd: cwd.into(), origin: "api".to_owned(), ..Self::default() }
    }

    /// Refuses a key of a program of the owner's to anyone else: who has it first decides what its session is like.
    pub(crate) fn check_key(&self) -> Result<(), HostError> {
        let owner = self.key.as_deref().and_then(|key| key.split_once('/')).map(|(owner, _)| owner);
        match owner.filter(|owner| is_of_owner(owner) && *owner != self.origin) {
            Some(owner) => Err(HostError::Invalid(format!(
                "a key must not begin with {owner}/: sessions of the {owner} have such keys"
            ))),
            None => Ok(()),
        }
    }

    /// Refuses values that the CLI could misread, such as a name that looks like a flag.
    pub(crate) fn check(&self) -> Result<(), HostError> {
        let spec = &self.spec;
        check_word("model", spec.model.as_deref())?;
        check_word("permission_mode", spec.permission_mode.as_deref())?;
        for model in &spec.fallback_models {
            check_item("fallback model", model)?;
        }
        for beta in &spec.betas {
            check_item("beta", beta)?;
        }
        for (what, prompt) in
            [("system_prompt", &spec.system_prompt), ("append_system_prompt", &spec.append_system_prompt)]
        {
            // A version that gets it as an argument could not be started.
            if prompt.as_ref().is_some_and(|prompt| prompt.contains('\0')) {
                return Err(HostError::Invalid(format!("the {what} must not contain a zero byte")));
            }
        }
        if let Some(why) = spec.output_schema.as_ref().and_then(output_schema::problem) {
            return Err(HostError::Invalid(format!(
                "output_schema is not a JSON Schema that can be used: {why}"
            )));
        }
        check_word("agent", spec.agent.as_deref())?;
        for name in spec.agents.keys() {
            check_word("name of an agent", Some(name))?;
        }
        for skill in spec.skills.iter().flatten() {
            check_word("skill", Some(skill))?;
        }
        for agent in spec.agents.values() {
            check_agent(agent)?;
        }
        for tool in spec.tools.iter().flatten().chain(&spec.allowed_tools).chain(&spec.disallowed_tools) {
            check_word("tool", Some(tool))?;
        }
        for (what, text, max) in [("key", self.key.as_deref(), 256), ("name", self.name.as_deref(), 512)] {
            if text.is_some_and(|text| text.is_empty() || text.len() > max) {
                return Err(HostError::Invalid(format!("the {what} must have 1 to {max} bytes")));
            }
        }
        check_max_cost(spec.max_cost_usd)?;
        if spec.max_turns == Some(0) {
            return Err(HostError::Invalid("max_turns must be above zero".to_owned()));
        }
        if self.ask_timeout_s == Some(0) {
            return Err(HostError::Invalid("ask_timeout_s must be above zero".to_owned()));
        }
        self.client_tools.check()?;
        Ok(())
    }
}

/// Whether sessions of this origin belong to a program with a configuration of the owner's. Their keys begin with it.
pub fn is_of_owner(origin: &str) -> bool {
    matches!(origin, "bridge" | "loop")
}

fn check_agent(agent: &AgentSpec) -> Result<(), HostError> {
    if agent.description.is_empty() || agent.prompt.is_empty() {
        return Err(HostError::Invalid("an agent needs a description and a prompt".to_owned()));
    }
    check_word("model of an agent", agent.model.as_deref())?;
    for tool in agent.tools.iter().flatten().chain(&agent.disallowed_tools) {
        check_word("tool of an agent", Some(tool))?;
    }
    for skill in &agent.skills {
        check_word("skill of an agent", Some(skill))?;
    }
    Ok(())
}

/// A copy of a session up to the answer to one of its messages, and its settings. Folder, tools and limits are those
/// of the session.
#[derive(Debug, Clone, PartialEq)]
pub struct Branch {
    /// The message whose answer is the last one in the copy.
    pub message: MessageId,
    /// Display name; by default the session's name with a suffix.
    pub name: Option<String>,
    /// The model; the CLI's default if none is given.
    pub model: Option<String>,
    /// Text to append to the system prompt.
    pub append_system_prompt: Option<String>,
    /// The JSON Schema that answers must match.
    pub output_schema: Option<serde_json::Value>,
}

pub(crate) fn check_max_cost(limit: Option<f64>) -> Result<(), HostError> {
    if limit.is_some_and(|cost| !cost.is_finite() || cost <= 0.0) {
        return Err(HostError::Invalid("max_cost_usd must be a number above zero".to_owned()));
    }
    Ok(())
}

/// Maximum length of a one-word argument, in bytes.
const MAX_WORD_LENGTH: usize = 1024;

/// Refuses an argument that begins like a flag or contains control characters.
pub(crate) fn check_word(what: &str, word: Option<&str>) -> Result<(), HostError> {
    let Some(word) = word else { return Ok(()) };
    let fits = !word.is_empty()
        && word.len() <= MAX_WORD_LENGTH
        && !word.starts_with('-')
        && !word.chars().any(char::is_control);
    if fits {
        return Ok(());
    }
    Err(HostError::Invalid(format!(
        "the {what} must have 1 to {MAX_WORD_LENGTH} bytes, and must not begin with '-' or contain control characters"
    )))
}

/// Refuses an item of a list that the CLI gets as one argument and sends to the API in a header.
fn check_item(what: &str, item: &str) -> Result<(), HostError> {
    check_word(what, Some(item))?;
    if item.chars().all(|character| character.is_ascii_graphic() && character != ',') {
        return Ok(());
    }
    Err(HostError::Invalid(format!(
        "the {what} {item:?} must be one word of ASCII characters, without commas"
    )))
}

/// The stored settings of a session.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct SessionSettings {
    /// Id of the session.
    pub id: SessionId,
    /// The caller's own key for it.
    pub key: Option<String>,
    /// Working directory, with all links resolved.
    pub cwd: PathBuf,
    /// The model.
    pub model: Option<String>,
    /// Settings that have no column of their own in the store.
    pub kept: KeptSettings,
}

/// Settings of a session that have no column of their own in the store.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct KeptSettings {
    /// What the session is to be like. The model has a column of its own.
    #[serde(flatten)]
    pub spec: SessionSpec,
    /// How many seconds a person may take to answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ask_timeout_s: Option<u32>,
    /// Tools of a client that the model may call.
    #[serde(skip_serializing_if = "ClientTools::is_empty")]
    pub client_tools: ClientTools,
    /// What created it.
    pub origin: String,
    /// Who created it.
    pub created_by: String,
    /// The CLI session to fork, until the fork has an id of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fork_of: Option<String>,
    /// The uuid of the last line of the CLI session that the fork has; none for all of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fork_at: Option<String>,
    /// What the session that it was forked from had cost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inherited_usd: Option<f64>,
    /// What to call it without a name. The entry it comes from may have left the view.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The last error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_error: Option<String>,
    /// Whether it is kept whatever its age: see [`crate::Retention`].
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub pinned: bool,
    /// Queued messages.
    pub queued: u32,
    /// Permissions that wait for a person.
    pub permissions: u32,
    /// Questions that wait for a person.
    pub questions: u32,
}
