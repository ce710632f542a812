//! Translates host errors to HTTP.

use std::time::Duration;

use axum::http::StatusCode;
use weir_host::{HostError, SessionId, StoreError};

use crate::problem::Problem;

/// `Retry-After` if the host does not give one.
const LATER: Duration = Duration::from_secs(5);

impl From<HostError> for Problem {
    fn from(error: HostError) -> Self {
        let (code, detail) = (error.code(), error.to_string());
        let plain = |status| Self::new(status, code, detail.clone());
        match error {
            HostError::NotFound(_) => Self::not_found("no such session"),
            HostError::NoSuchMessage
            | HostError::NoSuchRequest
            | HostError::NoSuchTool
            | HostError::NoSuchTask(_)
            | HostError::NoSuchPast(_)
            | HostError::NoSuchKey(_) => plain(StatusCode::NOT_FOUND),
            HostError::Folder { .. } | HostError::Invalid(_) | HostError::BadAnswer(_) => {
                plain(StatusCode::UNPROCESSABLE_ENTITY)
            }
            HostError::AlreadyAnswered { by } => plain(StatusCode::CONFLICT).with("answered_by", by),
            HostError::NotCancellable { state } => plain(StatusCode::CONFLICT).with("state", state),
            HostError::Git(_) => match code {
                "worktree_not_found" | "change_not_found" => plain(StatusCode::NOT_FOUND),
                "git_name" | "no_repository" | "revision_not_found" | "submodule" | "no_message" => {
                    plain(StatusCode::UNPROCESSABLE_ENTITY)
                }
                "no_commit"
                | "branch_exists"
                | "uncommitted_changes"
                | "nested_repository"
                | "file_changed"
                | "nothing_staged" => plain(StatusCode::CONFLICT),
                // Git refused, and says why.
                _ => plain(StatusCode::BAD_GATEWAY),
            },
            HostError::Setup(_) => plain(StatusCode::BAD_GATEWAY),
            HostError::KeyInUse { .. }
            | HostError::AtWork
            | HostError::CannotRewind(_)
            | HostError::FolderInUse { .. }
            | HostError::LiveElsewhere { .. }
            | HostError::FolderChanged
            | HostError::Archived
            | HostError::NotKept
            | HostError::BudgetExhausted { .. }
            | HostError::NothingToResume => plain(StatusCode::CONFLICT),
            HostError::QueueFull { .. } => plain(StatusCode::TOO_MANY_REQUESTS).retry_after(LATER),
            HostError::Busy { retry_after } => {
                plain(StatusCode::SERVICE_UNAVAILABLE).retry_after(retry_after)
            }
            HostError::TooManyViewers { .. } | HostError::ShuttingDown => {
                plain(StatusCode::SERVICE_UNAVAILABLE).retry_after(LATER)
            }
            // It depends on the session's process and its version, not on this server.
            HostError::Session(_) if matches!(code, "not_running" | "interrupted" | "not_supported") => {
                plain(StatusCode::CONFLICT)
            }
            // The CLI refused, and says why.
            HostError::Session(_) => plain(StatusCode::BAD_GATEWAY),
            HostError::Store(StoreError::Full(_)) => Self::disk_full(),
            HostError::Store(StoreError::Unusable { .. } | StoreError::Damaged { .. }) => {
                Self::store_unusable(&detail)
            }
            HostError::Store(StoreError::Overloaded { .. } | StoreError::Locked { .. }) => {
                plain(StatusCode::SERVICE_UNAVAILABLE).retry_after(LATER)
            }
            other => Self::internal(&other),
        }
    }
}

/// The session id in a path. An invalid id is answered like an unknown one.
pub(crate) fn session_id(text: &str) -> Result<SessionId, Problem> {
    text.parse().map_err(|_| Problem::not_found("no such session"))
}
