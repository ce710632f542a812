//! Sessions, their folders and files.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::{IntoParams, ToSchema};
use weir_host::{ChangeLimits, ClientTools, Effort, NewWorktree, SessionSpec};

use crate::extract::part;
use crate::problem::Problem;

/// A session to create.
///
/// Tools are names of tools of the server; a rule of `allowed_tools` may be about reading and searching inside the folder,
/// and what else the operator allows. The permission mode is one of `permission_modes` of `/v1/me`. A session of which the
/// CLI stores nothing accepts no messages after its process has ended (409 `not_kept`) and cannot be forked.
#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct CreateSession {
    /// Working directory: a folder below one of the server's roots.
    pub(crate) cwd: String,
    /// The client's own id for the session: creating it again with the same key returns the existing session.
    pub(crate) key: Option<String>,
    /// Display name.
    pub(crate) name: Option<String>,
    /// Seconds until an unanswered request is denied; the server's own limit if left out. For unattended programs.
    #[schema(minimum = 1)]
    pub(crate) ask_timeout_s: Option<u32>,
    /// Client tools that the agent may call, see `/v1/sessions/{id}/client-tools`.
    #[serde(default)]
    pub(crate) client_tools: ClientTools,
    /// Makes a git worktree for the session, with a branch of its own. `cwd` must be in a repository.
    pub(crate) worktree: Option<NewWorktree>,
    // Read by `take_spec`, so that errors say where they are.
    #[serde(flatten)]
    #[schema(value_type = SessionSpec)]
    pub(crate) spec: serde_json::Map<String, Value>,
}

impl CreateSession {
    /// Refuses what [`CreateSession::take_spec`] would refuse.
    pub(crate) fn check(&self) -> Result<(), Problem> {
        part::<SessionSpec>(self.spec.clone()).map(drop)
    }

    /// What the session is to be like. Fields that do not exist are refused: a misspelt limit must not be ignored.
    pub(crate) fn take_spec(&mut self) -> Result<SessionSpec, Problem> {
        part(std::mem::take(&mut self.spec))
    }
}

/// Which sessions to list.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct ListParams {
    /// Only sessions with this status.
    #[param(value_type = Option<weir_host::SessionStatus>)]
    pub(crate) status: Option<String>,
    /// Only sessions with these words in their name, key, folder or text.
    pub(crate) search: Option<String>,
    /// Archived sessions instead of unarchived ones.
    pub(crate) archived: Option<bool>,
    /// Page size.
    #[param(minimum = 1, maximum = 200)]
    pub(crate) limit: Option<usize>,
    /// Cursor of the previous page.
    pub(crate) cursor: Option<String>,
}

/// Changes to a session.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ChangeSession {
    /// Display name.
    pub(crate) name: Option<String>,
    /// Whether the session is archived.
    pub(crate) archived: Option<bool>,
    /// Whether the session is kept when the server removes old sessions.
    pub(crate) pinned: Option<bool>,
    /// What the session may cost in dollars, from the next turn on; 0 for no limit.
    #[schema(minimum = 0)]
    pub(crate) max_cost_usd: Option<f64>,
    /// How many calls of the model a turn may take, from the next turn on; 0 for no limit.
    pub(crate) max_turns: Option<u32>,
    /// How many seconds a person may take to answer a request before it is denied, from the next turn on; 0 for no limit
    /// other than the server's.
    pub(crate) ask_timeout_s: Option<u32>,
    /// How many tokens the model should use for a task, from the next turn on; 0 for no budget.
    pub(crate) task_budget_tokens: Option<u32>,
}

impl ChangeSession {
    /// The limits in it, if any.
    pub(crate) fn limits(&self) -> Option<ChangeLimits> {
        let limits = ChangeLimits {
            max_cost_usd: self.max_cost_usd,
            max_turns: self.max_turns,
            ask_timeout_s: self.ask_timeout_s,
            task_budget_tokens: self.task_budget_tokens,
        };
        (limits != ChangeLimits::default()).then_some(limits)
    }
}

/// How the copy differs.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ForkSession {
    /// Display name.
    pub(crate) name: Option<String>,
}

/// Where a copy ends.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct BranchSession {
    /// The message whose answer is the last one in the copy.
    pub(crate) message_id: String,
    /// Display name.
    pub(crate) name: Option<String>,
}

/// How a session of the CLI is continued.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AdoptSession {
    /// Whether it keeps its id. Otherwise a copy of it is continued. Refused while another program runs it.
    #[serde(default)]
    pub(crate) keep_id: bool,
}

/// Which files of a session's folder to list.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct FileParams {
    /// Letters of the path; empty for all files.
    #[serde(default)]
    pub(crate) query: String,
}

/// What to show of a session's folder.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct ViewParams {
    /// Path relative to the session's folder; empty for that itself.
    #[serde(default)]
    pub(crate) path: String,
}

/// Files of a session's folder.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct FileList {
    /// Paths relative to the folder, best match first, at most 50.
    pub(crate) files: Vec<String>,
}

/// The folder to show.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct FolderParams {
    /// A folder below one of the server's roots.
    pub(crate) cwd: String,
}

/// The folder to list.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct BrowseParams {
    /// A folder below one of the server's roots; the roots are listed if it is left out.
    pub(crate) path: Option<String>,
}

/// A folder that sessions may work in.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Folder {
    #[serde(flatten)]
    pub(crate) report: weir_host::FolderReport,
    /// Digest of what the folder would run. It is sent back to trust the folder, so that only what was seen is trusted.
    pub(crate) seal: String,
}

/// A folder to trust.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TrustFolder {
    /// The folder.
    pub(crate) cwd: String,
    /// The `seal` of the folder as the person saw it.
    pub(crate) seal: String,
}

/// The model to use from now on.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SetModel {
    /// The model; null for the CLI's default.
    #[serde(deserialize_with = "Option::deserialize")]
    #[schema(required = true)]
    pub(crate) model: Option<String>,
}

/// The permission mode to use from now on.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SetPermissionMode {
    /// One of `permission_modes` of `/v1/me`.
    pub(crate) mode: String,
}

/// Another effort.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SetEffort {
    /// How thoroughly the model works; null for the CLI's default.
    pub(crate) effort: Option<Effort>,
}

/// Options of a share link.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ShareSession {
    /// Seconds until the link expires; never if left out.
    #[schema(minimum = 1)]
    pub(crate) expires_in_s: Option<u32>,
}

/// A share link.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Share {
    /// The secret, which is only returned here.
    pub(crate) token: String,
    /// Id for revoking the token.
    pub(crate) token_id: String,
    /// Path of the page, with the token in its fragment.
    pub(crate) path: String,
}

/// All file changes of a session.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct SessionDiff {
    /// The files.
    pub(crate) files: Vec<weir_host::FileDiff>,
}
