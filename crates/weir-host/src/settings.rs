//! What a session was created with, and who did it.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use weir_store::ConversationId;
use weir_wire::MessageId;

use crate::client_tools::ClientTools;
use crate::error::HostError;

/// Who does something: a token's name, a chat user, `loop`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Actor {
    /// The name, which others get to see.
    pub name: String,
    /// The account that pays for what they send, as the host's purse knows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub account: Option<String>,
}

impl Actor {
    /// Somebody of this name.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), account: None }
    }

    /// The same, with an account that pays for what they send.
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
    /// Where it works. Must lie below an allowed root.
    pub cwd: String,
    /// The caller's own name for it: the second session of that key is the first one.
    pub key: Option<String>,
    /// What people call it.
    pub name: Option<String>,
    /// The model; the CLI's own choice where none is given.
    pub model: Option<String>,
    /// What is allowed without asking: `default`, `acceptEdits`, `plan`, ….
    pub permission_mode: Option<String>,
    /// The tools that there are: some of those that whoever starts the host gives to sessions; all of them where nothing
    /// is said.
    pub tools: Option<Vec<String>>,
    /// Tools, or rules such as `Bash(git:*)`, that need no permission. This restricts nothing.
    pub allowed_tools: Vec<String>,
    /// Tools that must not be used.
    pub disallowed_tools: Vec<String>,
    /// Replaces the CLI's own system prompt.
    pub system_prompt: Option<String>,
    /// Is added to the system prompt.
    pub append_system_prompt: Option<String>,
    /// What the session may cost, in dollars.
    pub max_cost_usd: Option<f64>,
    /// Most rounds with the model in a turn.
    pub max_turns: Option<u32>,
    /// How many seconds a person may take to answer a permission request or a question before it is denied; none for
    /// the host's own limit. For callers with no person at hand: what no one can answer ends after a bounded time.
    pub ask_timeout_s: Option<u32>,
    /// Tools of the caller that the model may call.
    pub client_tools: ClientTools,
    /// Whether the CLI keeps nothing of the session on disk. Then it lives as long as its process: afterwards it takes no
    /// more messages, and there are no copies of it. The host's own log is kept like that of every session.
    pub no_session_persistence: bool,
    /// The JSON Schema that answers must fit.
    #[cfg_attr(feature = "schema", schema(value_type = Option<Object>))]
    pub output_schema: Option<serde_json::Value>,
    /// Where it comes from: `page`, `api`, `loop`, `bridge`, `openai`.
    #[serde(skip_deserializing)]
    pub origin: String,
}

impl NewSession {
    /// A session in this folder.
    pub fn new(cwd: impl Into<String>) -> Self {
        Self { cwd: cwd.into(), origin: "api".to_owned(), ..Self::default() }
    }

    /// Refuses what the CLI could take for something else than it is.
    pub(crate) fn check(&self) -> Result<(), HostError> {
        check_word("model", self.model.as_deref())?;
        check_word("permission_mode", self.permission_mode.as_deref())?;
        for tool in self.tools.iter().flatten().chain(&self.allowed_tools).chain(&self.disallowed_tools) {
            check_word("tool", Some(tool))?;
        }
        for (what, text, most) in [("key", self.key.as_deref(), 256), ("name", self.name.as_deref(), 512)] {
            if text.is_some_and(|text| text.is_empty() || text.len() > most) {
                return Err(HostError::Invalid(format!("the {what} must have 1 to {most} bytes")));
            }
        }
        if self.max_cost_usd.is_some_and(|cost| !cost.is_finite() || cost <= 0.0) {
            return Err(HostError::Invalid("max_cost_usd must be a number above zero".to_owned()));
        }
        if self.max_turns == Some(0) {
            return Err(HostError::Invalid("max_turns must be above zero".to_owned()));
        }
        if self.ask_timeout_s == Some(0) {
            return Err(HostError::Invalid("ask_timeout_s must be above zero".to_owned()));
        }
        self.client_tools.check()?;
        Ok(())
    }
}

/// A copy of a session up to the answer to one of its messages, and what it works with. Folder, tools and limits are
/// those of the session.
#[derive(Debug, Clone, PartialEq)]
pub struct Branch {
    /// The message whose answer is the last that the copy has.
    pub message: MessageId,
    /// What people call it; the session's name with a mark where none is given.
    pub name: Option<String>,
    /// The model; the CLI's own choice where none is given.
    pub model: Option<String>,
    /// Is added to the system prompt.
    pub append_system_prompt: Option<String>,
    /// The JSON Schema that answers must fit.
    pub output_schema: Option<serde_json::Value>,
}

/// The longest argument that is one word.
const LONGEST_WORD: usize = 1024;

/// Refuses an argument that begins like a flag, or that has characters which no name has.
pub(crate) fn check_word(what: &str, word: Option<&str>) -> Result<(), HostError> {
    let Some(word) = word else { return Ok(()) };
    let fits = !word.is_empty()
        && word.len() <= LONGEST_WORD
        && !word.starts_with('-')
        && !word.chars().any(char::is_control);
    if fits {
        return Ok(());
    }
    Err(HostError::Invalid(format!(
        "the {what} must have 1 to {LONGEST_WORD} bytes, and must not begin with '-' or hold control characters"
    )))
}

/// What a session works with, as it is kept.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct SessionSettings {
    /// The session.
    pub id: ConversationId,
    /// The caller's own name for it.
    pub key: Option<String>,
    /// Where it works, with all links resolved.
    pub cwd: PathBuf,
    /// The model.
    pub model: Option<String>,
    /// What is kept beside the facts that the store knows.
    pub kept: KeptSettings,
}

/// What is kept of a session beside the facts that the store knows.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct KeptSettings {
    /// What is allowed without asking.
    pub permission_mode: Option<String>,
    /// The tools that there are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<String>>,
    /// Tools that need no permission.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub allowed_tools: Vec<String>,
    /// Tools that must not be used.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub disallowed_tools: Vec<String>,
    /// Replaces the CLI's own system prompt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system_prompt: Option<String>,
    /// Is added to the system prompt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub append_system_prompt: Option<String>,
    /// What the session may cost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_cost_usd: Option<f64>,
    /// Most rounds with the model in a turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_turns: Option<u32>,
    /// How many seconds a person may take to answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ask_timeout_s: Option<u32>,
    /// Tools of a client that the model may call.
    #[serde(skip_serializing_if = "ClientTools::is_empty")]
    pub client_tools: ClientTools,
    /// Whether the CLI keeps nothing of it on disk.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub no_session_persistence: bool,
    /// The JSON Schema that answers must fit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<serde_json::Value>,
    /// Where it comes from.
    pub origin: String,
    /// Who created it.
    pub created_by: String,
    /// The CLI's session to begin a copy of, until the copy has a name of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fork_of: Option<String>,
    /// The last line of the CLI's session that the copy has, by its uuid; none for all of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fork_at: Option<String>,
    /// What the conversation that it was forked from had cost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inherited_usd: Option<f64>,
    /// What went wrong last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_error: Option<String>,
    /// Whether it is kept whatever its age: see [`crate::Retention`].
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub pinned: bool,
    /// Messages that wait.
    pub queued: u32,
    /// Permissions that wait for a person.
    pub permissions: u32,
    /// Questions that wait for a person.
    pub questions: u32,
}
