//! What can go wrong, and what to do about it.

use std::path::PathBuf;
use std::time::Duration;

use weir_base::money::dollars;
use weir_process::LockError;
use weir_session::SessionError;
use weir_store::{ConversationId, StoreError};

/// Why the host did not do what it was asked.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum HostError {
    /// There is no such session.
    #[error("there is no session {0}; it may have been deleted")]
    NotFound(ConversationId),
    /// No session has this key.
    #[error("no session has the key {0:?}")]
    NoSuchKey(String),
    /// The working directory is not one that may be used.
    #[error("{cwd} cannot be used as a working directory: {reason}", cwd = .cwd.display())]
    Folder {
        /// What was asked for.
        cwd: PathBuf,
        /// Why not.
        reason: String,
    },
    /// The folder would run something else than what a person has seen.
    #[error("the folder has changed since it was looked at; look at what it would run again")]
    FolderChanged,
    /// The request makes no sense.
    #[error("{0}")]
    Invalid(String),
    /// A live session has this key.
    #[error("the key {key:?} belongs to session {owner}; archive that one first or use another key")]
    KeyInUse {
        /// The key.
        key: String,
        /// Whose it is.
        owner: ConversationId,
    },
    /// The session was put away.
    #[error("the session is archived; take it out of the archive first")]
    Archived,
    /// Too many messages wait already.
    #[error("{most} messages wait already, which is the limit; wait for answers or cancel some")]
    QueueFull {
        /// How many may wait.
        most: usize,
    },
    /// Everything is busy.
    #[error("all processes are busy and enough sessions wait for one; try again in {} s", retry_after.as_secs())]
    Busy {
        /// When it may be worth another try.
        retry_after: Duration,
    },
    /// The limit of what the session may cost is reached.
    #[error(
        "the session has cost {}, which is its limit of {}; fork it to start counting again, or start a session with a higher limit",
        dollars(*spent),
        dollars(*limit)
    )]
    BudgetExhausted {
        /// What was spent.
        spent: f64,
        /// The limit.
        limit: f64,
    },
    /// The CLI keeps nothing of the session, and the process that had it has ended.
    #[error(
        "nothing of this session is kept on disk (no_session_persistence), so it ends with its process and cannot be resumed \
         or copied; begin a new one"
    )]
    NotKept,
    /// There is no such message.
    #[error("there is no such message in this session")]
    NoSuchMessage,
    /// The message was sent, or has come to its end.
    #[error("the message can no longer be taken back: it is {state}")]
    NotCancellable {
        /// What has become of it.
        state: &'static str,
    },
    /// Somebody else answered first.
    #[error("{}", by.as_ref().map_or_else(|| "the request is closed: it was answered, was taken back or has expired".to_owned(), |by| format!("the request was answered already by {by}")))]
    AlreadyAnswered {
        /// Who.
        by: Option<String>,
    },
    /// There is no such request, or it is long gone.
    #[error("there is no open request of that name; it may have been withdrawn or have timed out")]
    NoSuchRequest,
    /// The answer does not fit the request.
    #[error("{0}")]
    BadAnswer(String),
    /// There is no such tool call, or it has no output.
    #[error("the log has no output of that tool call")]
    NoSuchTool,
    /// Nothing was interrupted.
    #[error("there is nothing to resume: no turn was interrupted and no message is held")]
    NothingToResume,
    /// Too many watch already.
    #[error("{most} watch this session already, which is the limit")]
    TooManyViewers {
        /// How many may.
        most: usize,
    },
    /// The host is being shut down.
    #[error("the host is being shut down; try again when it is back")]
    ShuttingDown,
    /// The session could not do it.
    #[error(transparent)]
    Session(SessionError),
    /// The log could not be read or written.
    #[error(transparent)]
    Store(StoreError),
    /// Another host uses the same folder.
    #[error("another Weir works with this data: {0}")]
    Locked(String),
    /// What was left of an earlier run could not be cleaned up.
    #[error("what was left of an earlier run could not be ended: {0}")]
    Leftovers(String),
    /// A task of the host failed, which is a bug.
    #[error("the host failed: {0}; please report this")]
    Failed(String),
}

impl HostError {
    /// A short name that does not change, for programs.
    pub fn code(&self) -> &'static str {
        match self {
            Self::NotFound(_) => "session_not_found",
            Self::NoSuchKey(_) => "key_not_found",
            Self::Folder { .. } => "folder_not_allowed",
            Self::FolderChanged => "folder_changed",
            Self::Invalid(_) => "invalid",
            Self::KeyInUse { .. } => "key_in_use",
            Self::Archived => "archived",
            Self::QueueFull { .. } => "queue_full",
            Self::Busy { .. } => "busy",
            Self::BudgetExhausted { .. } => "budget_exhausted",
            Self::NotKept => "not_kept",
            Self::NoSuchMessage => "message_not_found",
            Self::NotCancellable { .. } => "not_cancellable",
            Self::AlreadyAnswered { .. } => "already_answered",
            Self::NoSuchRequest => "request_not_found",
            Self::BadAnswer(_) => "bad_answer",
            Self::NoSuchTool => "tool_not_found",
            Self::NothingToResume => "nothing_to_resume",
            Self::TooManyViewers { .. } => "too_many_viewers",
            Self::ShuttingDown => "shutting_down",
            Self::Session(SessionError::NotRunning) => "not_running",
            Self::Session(SessionError::NotSupported { .. }) => "not_supported",
            Self::Session(SessionError::Interrupted) => "interrupted",
            Self::Session(_) => "session",
            Self::Store(StoreError::Full(_)) => "disk_full",
            Self::Store(StoreError::Unusable { .. } | StoreError::Damaged { .. }) => "store_unusable",
            Self::Store(StoreError::Overloaded { .. }) => "store_overloaded",
            Self::Store(StoreError::Locked { .. }) => "store_locked",
            Self::Store(_) => "store",
            Self::Locked(_) => "locked",
            Self::Leftovers(_) => "leftovers",
            Self::Failed(_) => "failed",
        }
    }
}

impl From<StoreError> for HostError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::NotFound(id) => Self::NotFound(id),
            StoreError::KeyInUse { key, owner } => Self::KeyInUse { key, owner },
            StoreError::Invalid(reason) => Self::Invalid(reason),
            other => Self::Store(other),
        }
    }
}

impl From<SessionError> for HostError {
    fn from(error: SessionError) -> Self {
        match error {
            SessionError::AlreadyAnswered { by } => Self::AlreadyAnswered { by },
            SessionError::NoSuchRequest => Self::NoSuchRequest,
            SessionError::BadAnswer(reason) => Self::BadAnswer(reason),
            SessionError::NotCancellable => Self::NotCancellable { state: "sent" },
            SessionError::BudgetExhausted { spent, limit } => Self::BudgetExhausted { spent, limit },
            other => Self::Session(other),
        }
    }
}

impl From<LockError> for HostError {
    fn from(error: LockError) -> Self {
        Self::Locked(error.to_string())
    }
}
