//! Takes a conversation back to before one of its messages, and branches off after one.
//!
//! The log says where the next process begins, so it does not matter what a process that is killed has written down. It
//! begins as another session of the CLI. A running process could forget its newest message by itself
//! (`rewind_conversation`), but then the CLI no longer finds what was forgotten, and it would be lost. So the transcript
//! that has it stays as it is, and a branch from there continues it.

use std::path::{Path, PathBuf};
use std::time::Duration;

use weir_git::{GitError, Repository};
use weir_session::{PoolError, Pooled, SessionError};
use weir_store::{SessionId, SessionUpdate};
use weir_transcript::{HostEvent, Status};
use weir_wire::MessageId;

use super::Host;
use crate::core::Lease;
use crate::error::HostError;
use crate::info::{SessionInfo, kept};
use crate::item::{Item, Note};
use crate::live_session::Paused;
use crate::message::{MessageMode, NewMessage};
use crate::rewind::{Rewind, RewindOutcome, RewoundFiles, Target, target};
use crate::settings::{Actor, Branch};
use crate::work;

/// How long the end of a turn may take to be settled after its answer has been shown.
const SETTLES_WITHIN: Duration = Duration::from_secs(5);
/// Suggested delay before a caller tries again.
const RETRY_AFTER: Duration = Duration::from_secs(5);

impl Host {
    /// Takes a conversation back to before a message, with the files that the agent has changed since or without them,
    /// or says what that would change.
    ///
    /// # Errors
    /// If there is no such message, the session is at work, or the CLI cannot do it. Then nothing has changed, unless
    /// the files were restored and the conversation then could not be taken back, which the error says.
    pub async fn rewind(
        &self,
        id: &SessionId,
        rewind: Rewind,
        by: &Actor,
    ) -> Result<RewindOutcome, HostError> {
        self.check_open()?;
        if rewind.text.is_some() && !rewind.resend {
            return Err(HostError::Invalid("a text is only sent with `resend`".to_owned()));
        }
        let row = self.row(id).await?;
        if row.archived {
            return Err(HostError::Archived);
        }
        if kept(&row).spec.no_session_persistence {
            return Err(HostError::NotKept);
        }
        let live = self.live(id).await?;
        let (host, id, by) = (self.clone(), id.clone(), by.clone());
        self.to_the_end(async move {
            let paused = pause(&live).await?;
            let message = rewind.message_id.clone();
            let target = host.blocking(move |core| target(core, &row, &message)).await?;
            let mut outcome = RewindOutcome {
                done: !rewind.dry_run,
                text: target.text.clone(),
                images: target.images,
                forgotten: u32::try_from(target.since.len()).unwrap_or(u32::MAX),
                newest_message_id: target.since.last().unwrap_or(&rewind.message_id).clone(),
                files: None,
                resent_message_id: None,
            };
            if rewind.files {
                outcome.files = Some(host.rewind_files(&live, &rewind).await?);
            }
            if rewind.dry_run {
                return Ok(outcome);
            }
            if let Err(error) = forget(&live, &target, &rewind.message_id, &by).await {
                let kept = outcome.files.and_then(|files| files.kept);
                return Err(kept.map_or(error.clone(), |kept| {
                    HostError::CannotRewind(format!(
                        "the files were restored, but the conversation was not taken back: {error}; {kept} has the files \
                         as they were"
                    ))
                }));
            }
            drop(paused);
            if rewind.resend {
                let again = again(&target, rewind.text);
                outcome.resent_message_id = Some(host.send(&id, again, &by).await?.message_id);
            }
            Ok(outcome)
        })
        .await
    }

    /// Begins a new session with a copy of this one's history up to the answer to a message, also to one that the model
    /// has been made to forget. The session itself stays as it is, and may be at work.
    ///
    /// # Errors
    /// As [`Host::branch`].
    pub async fn branch_at(
        &self,
        id: &SessionId,
        message: MessageId,
        name: Option<String>,
        by: &Actor,
    ) -> Result<SessionInfo, HostError> {
        let row = self.row(id).await?;
        let spec = kept(&row).spec;
        let branch = Branch {
            message,
            name,
            model: row.model,
            append_system_prompt: spec.append_system_prompt,
            output_schema: spec.output_schema,
        };
        self.branch(id, branch, by).await
    }

    /// Restores the files, or says which would change. What they hold now is kept under a reference first.
    async fn rewind_files(&self, live: &Lease, rewind: &Rewind) -> Result<RewoundFiles, HostError> {
        let cwd = live.lock().row.cwd.clone().unwrap_or_default();
        let folder = self.allowed_folder(&cwd).await?;
        let process = process(live).await?;
        let asked = process.session().rewind_files(&rewind.message_id, true).await;
        let report = match asked {
            Ok(report) if report.can_rewind => report,
            Ok(report) => return refused(rewind, report.error.unwrap_or_else(|| NO_COPIES.to_owned())),
            Err(SessionError::Refused { message }) => return refused(rewind, message),
            Err(error @ SessionError::NotSupported { .. }) => return refused(rewind, error.to_string()),
            Err(error) => return Err(error.into()),
        };
        let paths: Vec<PathBuf> = report.files_changed.iter().map(|path| folder.join(path)).collect();
        let repository = match self.repository_at(&folder).await {
            Ok(repository) => Some(repository),
            Err(HostError::Git(error)) if matches!(*error, GitError::NoRepository(_)) => None,
            Err(error) => return Err(error),
        };
        let mut files = RewoundFiles {
            paths: report.files_changed,
            insertions: report.insertions,
            deletions: report.deletions,
            unkept: unkept(repository.as_ref(), &paths).await?,
            ..RewoundFiles::default()
        };
        if rewind.dry_run {
            return Ok(files);
        }
        if !files.unkept.is_empty() && !rewind.lose_files {
            return Err(HostError::CannotRewind(format!(
                "git keeps no copy of {}, so their present content would be lost; confirm with `lose_files`",
                files.unkept.join(", ")
            )));
        }
        if let Some(repository) = &repository {
            files.kept = Some(repository.keep("rewind", "Before the files were taken back\n").await?);
        }
        let done = process.session().rewind_files(&rewind.message_id, false).await?;
        match done.error {
            Some(error) => Err(HostError::CannotRewind(error)),
            None => Ok(files),
        }
    }
}

const NO_COPIES: &str = "the CLI has no copies of the files as they were at this message";

/// A preview says why not; the act itself does nothing.
fn refused(rewind: &Rewind, problem: String) -> Result<RewoundFiles, HostError> {
    if rewind.dry_run {
        return Ok(RewoundFiles { problem: Some(problem), ..RewoundFiles::default() });
    }
    Err(HostError::CannotRewind(problem))
}

/// The files whose present content no snapshot of git would have.
async fn unkept(repository: Option<&Repository>, paths: &[PathBuf]) -> Result<Vec<String>, HostError> {
    let missing = match repository {
        Some(repository) => repository.missing_in_snapshot(paths).await?,
        None => paths.iter().filter(|path| path.symlink_metadata().is_ok()).cloned().collect(),
    };
    Ok(missing.iter().map(|path: &PathBuf| Path::to_string_lossy(path).into_owned()).collect())
}

/// The message, to be sent once more.
fn again(target: &Target, text: Option<String>) -> NewMessage {
    let Some(stored) = &target.stored else {
        return NewMessage::text(text.unwrap_or_else(|| target.text.clone()));
    };
    // A text replaces a command: what a person typed is never one by itself.
    let command = stored.command.clone().filter(|_| text.is_none());
    let is_command = command.is_some();
    let text = text.unwrap_or_else(|| stored.text.clone());
    NewMessage {
        text: if is_command { String::new() } else { text },
        images: stored.images.clone(),
        documents: stored.documents.clone(),
        links: stored.links.clone(),
        files: stored.files.iter().map(|file| file.path.clone()).collect(),
        mode: MessageMode::Queue,
        command,
        ..NewMessage::default()
    }
}

/// Makes the model forget a message and what came after it.
async fn forget(live: &Lease, target: &Target, message: &MessageId, by: &Actor) -> Result<(), HostError> {
    begin_at(live, target).await?;
    let items = vec![
        Item::Host(HostEvent::Rewound { message: message.clone(), to: target.to.clone() }),
        Item::Note(Note::Control { action: "rewind".to_owned(), by: by.name.clone() }),
    ];
    let recorded = live.recorder.recorded(items, SessionUpdate::default()).await;
    if recorded.is_err() {
        // The log has failed, and with it the session; its process must not continue with what the log does not say.
        work::end_process(live).await;
    }
    recorded.map(drop)
}

/// Replaces the process by one that begins at the target. If the CLI cannot do that, the next process begins where the
/// conversation was.
async fn begin_at(live: &Lease, target: &Target) -> Result<(), HostError> {
    work::end_process(live).await;
    // A new conversation begins with its first message.
    let Some(point) = &target.to else { return Ok(()) };
    let session = live.session_at(point);
    match start(live, &session).await {
        Ok(()) => Ok(()),
        Err(error) => {
            live.lock().session = None;
            live.core.pool.remove(session.key()).await;
            Err(error)
        }
    }
}

/// The session's process, started if there is none.
async fn process(live: &Lease) -> Result<Pooled, HostError> {
    let session = live.session();
    start(live, &session).await?;
    Ok(session)
}

async fn start(live: &Lease, session: &Pooled) -> Result<(), HostError> {
    let reservation = match session.reserve().await {
        Ok(reservation) => reservation,
        Err(PoolError::Session(error)) => return Err(error.into()),
        Err(PoolError::Full { .. }) => return Err(HostError::Busy { retry_after: RETRY_AFTER }),
        Err(_) => return Err(HostError::ShuttingDown),
    };
    live.lock().session = Some(session.clone());
    let started = session.session().start().await;
    drop(reservation);
    Ok(started?)
}

/// Waits until nothing is being done, and keeps it so: messages are accepted and wait.
async fn pause(live: &Lease) -> Result<Paused, HostError> {
    let resting = live.until(|state| {
        let is_running = state.view.status.is_in_turn() || state.view.status == Status::Background;
        if is_running || state.log.messages.is_any_due() || state.stopping > 0 || state.paused > 0 {
            return Some(false);
        }
        if state.is_working || state.log.messages.is_any_in_flight() {
            return None;
        }
        state.paused += 1;
        Some(true)
    });
    match tokio::time::timeout(SETTLES_WITHIN, resting).await {
        Ok(Ok(true)) => Ok(Paused::new(live.another())),
        Ok(Ok(false)) | Err(_) => Err(HostError::AtWork),
        Ok(Err(error)) => Err(error),
    }
}
