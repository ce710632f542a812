//! The folders that sessions work in: what they would run by themselves, and who has trusted them.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use weir_base::time::now_ms;
use weir_trust::{Findings, Standing, TrustFile, scan};

use super::Host;
use crate::error::HostError;
use crate::settings::Actor;

/// What a folder would run by itself, and whether a person has trusted it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct FolderReport {
    /// The folder, with all links resolved.
    pub cwd: String,
    /// Whether its own settings count. Until a person has trusted it as it is, they do not.
    pub standing: Standing,
    /// What it would run or set.
    pub findings: Findings,
}

impl FolderReport {
    /// Names what the folder would run, so that what is trusted is what was seen.
    pub fn seal(&self) -> String {
        format!("{}.{}", self.findings.fingerprint, self.findings.inherited)
    }
}

impl Host {
    /// What a folder would run by itself, and whether a person has trusted it.
    ///
    /// # Errors
    /// If sessions may not work there, or it cannot be looked at.
    pub async fn folder(&self, cwd: &str) -> Result<FolderReport, HostError> {
        let folder = self.allowed_folder(cwd).await?;
        self.blocking(move |core| report(&core.options.home, &core.options.trust, &folder)).await
    }

    /// Remembers that a person has seen what a folder would run, and trusts it. Its settings count from the next start of
    /// a process on; processes with nothing to do are let go.
    ///
    /// # Errors
    /// If what the folder would run is no longer what was seen, or nothing can be remembered.
    pub async fn trust_folder(&self, cwd: &str, seen: &str, by: &Actor) -> Result<FolderReport, HostError> {
        let folder = self.allowed_folder(cwd).await?;
        let (seen, by) = (seen.to_owned(), by.name.clone());
        let report = self
            .blocking(move |core| {
                let Some(file) = &core.options.trust else { return Err(no_trust_file()) };
                let found = report(&core.options.home, &core.options.trust, &folder)?;
                if found.seal() != seen {
                    return Err(HostError::FolderChanged);
                }
                file.trust(&folder, &found.findings, &by, now_ms()).map_err(|error| invalid(&error))?;
                Ok(FolderReport { standing: Standing::Trusted, ..found })
            })
            .await?;
        self.renew_sessions_in(&report.cwd).await;
        Ok(report)
    }

    /// Forgets that a folder was trusted.
    ///
    /// # Errors
    /// If sessions may not work there, or it cannot be written down.
    pub async fn distrust_folder(&self, cwd: &str) -> Result<FolderReport, HostError> {
        let folder = self.allowed_folder(cwd).await?;
        let report = self
            .blocking(move |core| {
                let Some(file) = &core.options.trust else { return Err(no_trust_file()) };
                file.forget(&folder).map_err(|error| invalid(&error))?;
                report(&core.options.home, &core.options.trust, &folder)
            })
            .await?;
        self.renew_sessions_in(&report.cwd).await;
        Ok(report)
    }

    /// Ends processes in a folder that have nothing to do, so that the next ones see it as it is now. One at work ends in
    /// its own time.
    async fn renew_sessions_in(&self, cwd: &str) {
        for live in self.core.all_present() {
            let session = {
                let mut state = live.lock();
                if state.row.cwd.as_deref() != Some(cwd) {
                    continue;
                }
                state.is_stale = true;
                state.session.clone()
            };
            if let Some(session) = session {
                // A session that is over has no process.
                let _ = session.session().close_if_idle().await;
            }
            live.kick();
        }
    }
}

/// What a folder would run, if a person has trusted it as it is. Blocks.
pub(crate) fn trusted_seal(
    home: &Option<PathBuf>,
    trust: &Option<Arc<TrustFile>>,
    folder: &Path,
) -> Option<String> {
    let report = report(home, trust, &folder.canonicalize().ok()?).ok()?;
    (report.standing == Standing::Trusted).then(|| report.seal())
}

fn report(
    home: &Option<PathBuf>,
    trust: &Option<Arc<TrustFile>>,
    folder: &Path,
) -> Result<FolderReport, HostError> {
    let findings = scan(folder, home.as_deref()).map_err(|error| invalid(&error))?;
    let standing = match trust {
        Some(file) => file.standing(folder, &findings).map_err(|error| invalid(&error))?,
        None => Standing::New,
    };
    Ok(FolderReport { cwd: folder.to_string_lossy().into_owned(), standing, findings })
}

fn invalid(error: &dyn std::fmt::Display) -> HostError {
    HostError::Invalid(error.to_string())
}

fn no_trust_file() -> HostError {
    HostError::Invalid("this program does not remember trusted folders".to_owned())
}
