//! Errors of the host.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use weir_base::money::dollars;
use weir_git::GitError;
use weir_process::LockError;
use weir_session::SessionError;
use weir_store::{SessionId, StoreError};

/// Why a call to the host failed.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum HostError {
    /// There is no such session.
    #[error("there is no session {0}; it may have been deleted")]
    NotFound(SessionId),
    /// No session has this key.
    #[error("no session has the key {0:?}")]
    NoSuchKey(String),
    /// The working directory is not one that may be used.
    #[error("{cwd} cannot be used as a working directory: {reason}", cwd = .cwd.display())]
    Folder {
        /// The requested folder.
        cwd: PathBuf,
        /// Why it cannot be used.
        reason: String,
    },
    /// A session is at work in the folder.
    #[error("session {session} is at work in {cwd}; stop it first", cwd = .cwd.display())]
    FolderInUse {
        /// The folder.
        cwd: PathBuf,
        /// The session.
        session: String,
    },
    /// Git failed or refused.
    #[error("{0}")]
    Git(Arc<GitError>),
    /// The files or the command that a new worktree of the project gets.
    #[error("the worktree was not set up and is removed again: {0}")]
    Setup(String),
    /// The folder would now run something other than what the person has seen.
    #[error("the folder has changed since it was reviewed; review what it would run again")]
    FolderChanged,
    /// The call is invalid.
    #[error("{0}")]
    Invalid(String),
    /// A live session has this key.
    #[error("the key {key:?} belongs to session {owner}; archive that one first or use another key")]
    KeyInUse {
        /// The key.
        key: String,
        /// The session that has it.
        owner: SessionId,
    },
    /// The session is archived.
    #[error("the session is archived; take it out of the archive first")]
    Archived,
    /// Too many messages are queued.
    #[error("{max} messages are already queued, which is the limit; wait for answers or cancel some")]
    QueueFull {
        /// The limit.
        max: usize,
    },
    /// All processes are busy and too many sessions wait for one.
    #[error("all processes are busy and too many sessions wait for one; try again in {} s", retry_after.as_secs())]
    Busy {
        /// When to try again.
        retry_after: Duration,
    },
    /// The session has reached its cost limit.
    #[error(
        "the session has cost {}, which is its limit of {}; raise its limit to continue",
        dollars(*spent),
        dollars(*limit)
    )]
    BudgetExhausted {
        /// What was spent.
        spent: f64,
        /// The limit.
        limit: f64,
    },
    /// The CLI keeps nothing of the session on disk, and its process has ended.
    #[error(
        "nothing of this session is kept on disk (no_session_persistence), so it ends with its process and cannot be resumed \
         or copied; start a new one"
    )]
    NotKept,
    /// The CLI keeps no such session.
    #[error("the CLI keeps no session {0} in a folder that sessions may work in")]
    NoSuchPast(String),
    /// Another program runs the session.
    #[error(
        "the session is open in another program (process {pid}), such as a terminal; end it there first, or continue a copy"
    )]
    LiveElsewhere {
        /// Its process.
        pid: u32,
    },
    /// There is no such message.
    #[error("no such message in this session")]
    NoSuchMessage,
    /// The message was already sent or has ended.
    #[error("the message can no longer be cancelled: it is {state}")]
    NotCancellable {
        /// State of the message.
        state: &'static str,
    },
    /// The request was already answered.
    #[error("{}", by.as_ref().map_or_else(|| "the request is closed: it was answered, withdrawn, or expired".to_owned(), |by| format!("the request was already answered by {by}")))]
    AlreadyAnswered {
        /// Who answered it, if known.
        by: Option<String>,
    },
    /// There is no open request with this id.
    #[error("no open request with this id; it was answered, withdrawn, or expired")]
    NoSuchRequest,
    /// No task with this id is running in the background.
    #[error("no task {0:?} is running in the background of this session; it may have ended")]
    NoSuchTask(String),
    /// The answer does not fit the request.
    #[error("{0}")]
    BadAnswer(String),
    /// A session is at work.
    #[error("the session is at work; wait for the end of its turn and its messages, or stop it first")]
    AtWork,
    /// The conversation or the files cannot be taken back.
    #[error("{0}")]
    CannotRewind(String),
    /// There is no such tool call, or it has no output.
    #[error("the log has no output of this tool call")]
    NoSuchTool,
    /// There is nothing to resume.
    #[error("there is nothing to resume: no turn was interrupted and no message is held")]
    NothingToResume,
    /// The session has too many viewers.
    #[error("this session already has {max} viewers, which is the limit")]
    TooManyViewers {
        /// The limit.
        max: usize,
    },
    /// The host is being shut down.
    #[error("the host is being shut down; try again when it is back")]
    ShuttingDown,
    /// The session failed.
    #[error(transparent)]
    Session(SessionError),
    /// The log could not be read or written.
    #[error(transparent)]
    Store(StoreError),
    /// Another host uses the same folder.
    #[error("another Weir is using this data: {0}")]
    Locked(String),
    /// Processes of an earlier run could not be ended.
    #[error("processes of an earlier run could not be ended: {0}")]
    Leftovers(String),
    /// A task of the host failed, which is a bug.
    #[error("the host failed: {0}; please report this")]
    Failed(String),
}

impl HostError {
    /// A stable, short name for programs.
    pub fn code(&self) -> &'static str {
        match self {
            Self::NotFound(_) => "session_not_found",
            Self::NoSuchKey(_) => "key_not_found",
            Self::Folder { .. } => "folder_not_allowed",
            Self::FolderInUse { .. } => "folder_in_use",
            Self::Setup(_) => "worktree_setup",
            Self::Git(error) => git_code(error),
            Self::FolderChanged => "folder_changed",
            Self::Invalid(_) => "invalid",
            Self::KeyInUse { .. } => "key_in_use",
            Self::Archived => "archived",
            Self::QueueFull { .. } => "queue_full",
            Self::Busy { .. } => "busy",
            Self::BudgetExhausted { .. } => "budget_exhausted",
            Self::NotKept => "not_kept",
            Self::NoSuchPast(_) => "past_session_not_found",
            Self::LiveElsewhere { .. } => "live_elsewhere",
            Self::NoSuchMessage => "message_not_found",
            Self::NotCancellable { .. } => "not_cancellable",
            Self::AlreadyAnswered { .. } => "already_answered",
            Self::NoSuchRequest => "request_not_found",
            Self::NoSuchTask(_) => "task_not_found",
            Self::BadAnswer(_) => "bad_answer",
            Self::AtWork => "at_work",
            Self::CannotRewind(_) => "cannot_rewind",
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

/// The name of what git failed at.
fn git_code(error: &GitError) -> &'static str {
    match error {
        GitError::Name(_) => "git_name",
        GitError::NoRepository(_) | GitError::OtherRepository(_) => "no_repository",
        GitError::NoCommit => "no_commit",
        GitError::NoRevision(_) => "revision_not_found",
        GitError::BranchExists(_) => "branch_exists",
        GitError::NotOurs(_) => "worktree_not_found",
        GitError::Uncommitted { .. } => "uncommitted_changes",
        GitError::Nested(_) => "nested_repository",
        GitError::NoChange(_) => "change_not_found",
        GitError::Moved(_) | GitError::NoHunk { .. } => "file_changed",
        GitError::Submodule(_) => "submodule",
        GitError::NothingStaged => "nothing_staged",
        GitError::NoMessage => "no_message",
        _ => "git",
    }
}

impl From<GitError> for HostError {
    fn from(error: GitError) -> Self {
        Self::Git(Arc::new(error))
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
