//! Summaries of sessions, as lists show them.

use serde::{Deserialize, Serialize};
use weir_session::Effort;
use weir_store::StoredSession;

use crate::settings::KeptSettings;

/// Summary of a session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct SessionInfo {
    /// Id of the session.
    pub id: String,
    /// The caller's own key for it.
    pub key: Option<String>,
    /// Display name.
    pub name: Option<String>,
    /// What to call it without a name: the CLI's title for it, or the beginning of its first message.
    #[serde(default)]
    pub title: Option<String>,
    /// Where it works.
    pub cwd: String,
    /// The model.
    pub model: Option<String>,
    /// Permission mode.
    pub permission_mode: Option<String>,
    /// How thoroughly the model works; none for the CLI's default.
    #[serde(default)]
    pub effort: Option<Effort>,
    /// What it is doing.
    pub status: SessionStatus,
    /// Whether only background work runs: its turn is over, and a message is answered at once.
    #[serde(default)]
    pub background: bool,
    /// What it waits for: answers of a person, a process, money.
    pub waiting_for: WaitingFor,
    /// Whether a process runs, or is being started or ended.
    pub has_process: bool,
    /// Messages that are not sent yet.
    pub queued: u32,
    /// What it has cost, by the CLI's estimate; none where that is not known.
    pub cost_usd: Option<f64>,
    /// What it may cost.
    pub max_cost_usd: Option<f64>,
    /// How many calls of the model a turn may take.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_turns: Option<u32>,
    /// How many seconds a person may take to answer a request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ask_timeout_s: Option<u32>,
    /// How many tokens the model should use for a task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_budget_tokens: Option<u32>,
    /// When it was created, in milliseconds since 1970.
    pub created_at: i64,
    /// When something happened last.
    pub updated_at: i64,
    /// Whether it is archived.
    pub archived: bool,
    /// Whether it is kept however old it is and however little space is left.
    #[serde(default)]
    pub pinned: bool,
    /// Whether the CLI keeps nothing of it on disk, so that it ends with its process.
    #[serde(default)]
    pub no_session_persistence: bool,
    /// The session that it was forked from.
    pub parent: Option<ParentInfo>,
    /// The CLI's own name for the session.
    pub cli_session_id: Option<String>,
    /// Where it comes from: `page`, `api`, `loop`, `bridge`, `openai`.
    pub origin: String,
    /// The number of the newest event of its log.
    pub newest_seq: u64,
    /// The last error.
    pub last_error: Option<String>,
}

/// What a session is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub enum SessionStatus {
    /// Nothing.
    #[default]
    Idle,
    /// A message waits for a process.
    Starting,
    /// A turn runs, or something in the background.
    Running,
    /// A person has to answer.
    Waiting,
    /// It is being stopped.
    Stopping,
    /// The last turn or the process ended in an error.
    Failed,
    /// It was at work when the host was killed. It can be resumed.
    Interrupted,
}

impl SessionStatus {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Idle,
        Self::Starting,
        Self::Running,
        Self::Waiting,
        Self::Stopping,
        Self::Failed,
        Self::Interrupted,
    ];

    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::Starting => "starting",
            Self::Running => "running",
            Self::Waiting => "waiting",
            Self::Stopping => "stopping",
            Self::Failed => "failed",
            Self::Interrupted => "interrupted",
        }
    }

    /// Whether it is at work.
    pub fn is_busy(self) -> bool {
        matches!(self, Self::Starting | Self::Running | Self::Waiting | Self::Stopping)
    }

    pub(crate) fn parse(word: &str) -> Self {
        Self::ALL.into_iter().find(|status| status.as_str() == word).unwrap_or_default()
    }
}

/// What a session waits for, apart from its own agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct WaitingFor {
    /// Permissions and plans.
    pub permissions: u32,
    /// Questions.
    pub questions: u32,
    /// A free process: all that may run are in use.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub process: bool,
    /// Money: what the sender may still spend is set aside for turns that run.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub budget: bool,
}

/// Where a session was forked off.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct ParentInfo {
    /// The other session. It may have been deleted since.
    pub id: String,
    /// Its newest event at that time.
    pub seq: u64,
}

impl SessionInfo {
    /// What the store knows of a session. One that is live knows more.
    pub(crate) fn of(row: &StoredSession) -> Self {
        Self::with(row, &kept(row))
    }

    /// The same, where the settings were read before.
    pub(crate) fn with(row: &StoredSession, kept: &KeptSettings) -> Self {
        Self {
            id: row.id.to_string(),
            key: row.key.clone(),
            name: row.title.clone(),
            title: kept.title.clone(),
            cwd: row.cwd.clone().unwrap_or_default(),
            model: row.model.clone().filter(|model| !model.is_empty()),
            permission_mode: kept.spec.permission_mode.clone(),
            effort: kept.spec.effort,
            status: SessionStatus::parse(&row.status),
            background: false,
            waiting_for: WaitingFor {
                permissions: kept.permissions,
                questions: kept.questions,
                ..WaitingFor::default()
            },
            has_process: false,
            queued: kept.queued,
            cost_usd: row.cost_usd,
            max_cost_usd: kept.spec.max_cost_usd,
            max_turns: kept.spec.max_turns,
            ask_timeout_s: kept.ask_timeout_s,
            task_budget_tokens: kept.spec.task_budget_tokens.map(std::num::NonZeroU32::get),
            created_at: row.created_at,
            updated_at: row.updated_at,
            archived: row.archived,
            pinned: kept.pinned,
            no_session_persistence: kept.spec.no_session_persistence,
            parent: row
                .parent
                .as_ref()
                .map(|parent| ParentInfo { id: parent.session.to_string(), seq: parent.seq }),
            cli_session_id: row.cli_sessions.last().cloned(),
            origin: kept.origin.clone(),
            newest_seq: row.newest,
            last_error: kept.last_error.clone(),
        }
    }
}

/// What was kept with a session. One that another program made has none of it.
pub(crate) fn kept(row: &StoredSession) -> KeptSettings {
    serde_json::from_value(row.settings.clone()).unwrap_or_default()
}
