//! Whether the CLI can be used: it is there, it starts, and it is logged in. Nothing is sent to the model.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::time::Instant;
use weir_base::error::with_causes;
use weir_session::{FolderTrust, Login, Session, SessionError, SessionOptions, StartError};
use weir_store::SessionId;

use super::Host;
use crate::error::HostError;
use crate::settings::{KeptSettings, SessionSettings};

/// Longer than the slowest CLI takes to start.
const STARTS_WITHIN: Duration = Duration::from_secs(30);
/// A CLI that works is not started again for this long.
const TRUSTED_FOR: Duration = Duration::from_secs(10 * 60);
/// Someone repairs one that does not work, and looks again.
const DOUBTED_FOR: Duration = Duration::from_secs(2);

/// Whether the CLI can be used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct CliReport {
    /// Whether messages can be answered.
    pub state: CliState,
    /// What is wrong, and what to do about it; absent if nothing is.
    pub problem: Option<String>,
    /// Its version, if it says so at its start.
    pub version: Option<String>,
}

/// Whether the CLI can answer messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum CliState {
    /// It starts, and has a login as far as it says.
    Ready,
    /// It was not found.
    Missing,
    /// It was found and does not start.
    Broken,
    /// It has neither a login nor a key.
    NoLogin,
}

/// The last report, and when it was made.
pub(crate) type LastReport = tokio::sync::Mutex<Option<(Instant, CliReport)>>;

impl Host {
    /// Whether the CLI can be used, in words for a person. It is started for that if no one has asked for a while; callers
    /// at the same time get the same report.
    ///
    /// # Errors
    /// If the host is being shut down.
    pub async fn cli(&self) -> Result<CliReport, HostError> {
        self.check_open()?;
        let mut last = self.core.cli.lock().await;
        if let Some((at, report)) = &*last {
            let fresh = if report.state == CliState::Ready { TRUSTED_FOR } else { DOUBTED_FOR };
            if at.elapsed() < fresh {
                return Ok(report.clone());
            }
        }
        let report = self.examine_cli().await;
        *last = Some((Instant::now(), report.clone()));
        Ok(report)
    }

    async fn examine_cli(&self) -> CliReport {
        let session = Session::new(self.examination());
        let started = session.start().await;
        let facts = session.facts().await.unwrap_or_default();
        session.stop().await;
        let version = facts.introduction.get("claude_code_version").and_then(serde_json::Value::as_str);
        let version = version.map(str::to_owned);
        let (state, problem) = match started {
            Err(error) => why_not(&error),
            Ok(()) if Login::of(&facts.introduction) == Login::Missing => {
                (CliState::NoLogin, Some(NO_LOGIN.to_owned()))
            }
            Ok(()) => (CliState::Ready, None),
        };
        CliReport { state, problem, version }
    }

    /// The options of a session that is never sent anything.
    fn examination(&self) -> SessionOptions {
        let host = &self.core.options;
        let cwd = host.roots.first().cloned().unwrap_or_else(std::env::temp_dir);
        let mut kept = KeptSettings::default();
        kept.spec.no_session_persistence = true;
        let settings = SessionSettings { id: SessionId::random(), key: None, cwd, model: None, kept };
        let mut options = (host.recipe)(&settings);
        options.cwd = Some(settings.cwd);
        // Nothing of the folder is to run.
        options.folder.trust = FolderTrust::LeaveOut;
        options.folder.roots.clone_from(&host.roots);
        options.state_directory = options.state_directory.or_else(|| host.state_directory.clone());
        options.spec.no_session_persistence = true;
        options.log = None;
        options.limits.starting = Some(STARTS_WITHIN);
        options.stop.grace = Duration::from_secs(2);
        options
    }
}

const NO_LOGIN: &str = "the CLI has no login: run `claude` in a terminal on the server and log in with /login, or start \
                        the server with ANTHROPIC_API_KEY";

fn why_not(error: &SessionError) -> (CliState, Option<String>) {
    match error {
        SessionError::NotStarted(start) => match &**start {
            StartError::NotFound(error) => (CliState::Missing, Some(error.to_string())),
            // About the folder or an option, and not about the CLI.
            StartError::Folder(_)
            | StartError::Locked(_)
            | StartError::Unsupported { .. }
            | StartError::TooOld(_) => (CliState::Ready, None),
            _ => (CliState::Broken, Some(with_causes(error))),
        },
        _ => (CliState::Broken, Some(with_causes(error))),
    }
}
