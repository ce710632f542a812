//! Sessions that the CLI keeps by itself, such as those of a terminal, and the projects that they worked in.

use std::path::Path;
use std::sync::{Arc, PoisonError};

use serde::{Deserialize, Serialize};
use weir_base::time::now_ms;
use weir_session::transcripts::{
    LiveSession, LoadedTranscript, PastSession as Found, Transcripts, live_sessions,
};
use weir_store::{Append, Lookup, NewEvent, NewStoredSession, SessionId, SessionUpdate, StoredSession};
use weir_transcript::import::{ImportedBody, import, import_view};
use weir_transcript::lookup::{LineTopics, search_text};
use weir_transcript::{FoldOptions, HostEvent};
use weir_wire::Decoder;

use super::Host;
use super::opening::{FORKING, resolved};
use crate::core::Core;
use crate::error::HostError;
use crate::info::{SessionInfo, SessionStatus};
use crate::item::Item;
use crate::labels::labels;
use crate::settings::{Actor, KeptSettings};
use crate::summary::first_words;

/// How many of the newest transcripts are looked at.
const LOOKED_AT: usize = 400;
/// How many repositories of a root are offered.
const MAX_REPOSITORIES: usize = 50;
/// Number of events written at a time.
const COPIED: usize = 500;
/// Maximum size of a transcript that is continued, with those of its sub-agents. It is read into memory.
const MAX_BYTES: u64 = 256 << 20;

/// A session that the CLI keeps, and that is none of the host's own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct PastSession {
    /// The CLI's id of the session.
    pub id: String,
    /// Its title, or its first message.
    pub title: String,
    /// Where it worked.
    pub cwd: String,
    /// When something last happened, in milliseconds since 1970.
    pub updated_at: Option<i64>,
    /// How many bytes its transcript has, without those of sub-agents.
    #[serde(default)]
    pub size: u64,
    /// Whether a CLI runs it right now, such as one in a terminal. Older CLIs do not say so.
    #[serde(default)]
    pub live: bool,
}

/// How a session that the CLI keeps is continued.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Adoption {
    /// As a copy. The other one stays as it is and may be continued elsewhere.
    Copy,
    /// As the same one, under the same id. No other program may run it meanwhile.
    Same,
}

/// What the CLI has done in the folders that sessions may work in.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct PastWork {
    /// Sessions, the newest first.
    pub sessions: Vec<PastSession>,
    /// Projects: folders of sessions, and repositories directly inside a root. The one that was used last comes first.
    pub projects: Vec<String>,
}

impl Host {
    /// What the CLI has done in the folders that sessions may work in, apart from the host's own sessions.
    ///
    /// # Errors
    /// If the transcripts or the log cannot be read.
    pub async fn past_work(&self, limit: usize) -> Result<PastWork, HostError> {
        self.blocking(move |core| {
            let mut work = PastWork::default();
            let live = live(core);
            for found in found(core)? {
                let Some(mut past) = described(core, &found) else { continue };
                past.live = live.iter().any(|live| live.id == past.id);
                if !work.projects.contains(&past.cwd) {
                    work.projects.push(past.cwd.clone());
                }
                if !is_known(core, &past.id)? && work.sessions.len() < limit {
                    work.sessions.push(past);
                }
            }
            for root in &core.options.roots {
                let folders = repositories(root).into_iter().filter(|path| !work.projects.contains(path));
                let folders: Vec<String> = folders.collect();
                work.projects.extend(folders);
            }
            Ok(work)
        })
        .await
    }

    /// Begins a session with the history of one that the CLI keeps: a copy, which the CLI makes when the first message is
    /// sent, so that the other one stays as it is; or the same one under the same id, if no other program runs it.
    ///
    /// # Errors
    /// If the CLI has no such session in a folder that sessions may work in, another program runs it, or the log cannot be
    /// written.
    pub async fn adopt(&self, id: &str, way: Adoption, by: &Actor) -> Result<SessionInfo, HostError> {
        self.check_open()?;
        let copy = HistoryCopy { way, ..HistoryCopy::new(id, SessionId::random(), "page", by) };
        let row = self.blocking(move |core| {
            let _alone = core.taking_over.lock().unwrap_or_else(PoisonError::into_inner);
            if way == Adoption::Same
                && let Some(row) = core.options.store.find(Lookup::CliSession(copy.past.clone())).wait()?
            {
                return Ok(row);
            }
            copy.make(core)
        });
        // It may be in memory already.
        let info = self.info_of(&row.await?);
        self.core.hub.tell(&Arc::new(info.clone()));
        Ok(info)
    }

    /// Like [`Host::adopt`], under the CLI's own id: a client that knows this id finds the session from now on. A second call
    /// returns the session of the first.
    ///
    /// # Errors
    /// If the CLI has no such session in a folder that sessions may work in, the host has it under another id, or the log
    /// cannot be written.
    pub async fn take_over(
        &self,
        id: &SessionId,
        origin: &str,
        by: &Actor,
    ) -> Result<SessionInfo, HostError> {
        self.check_open()?;
        let copy = HistoryCopy::new(id.as_str(), id.clone(), origin, by);
        let row = self.blocking(move |core| {
            let _alone = core.taking_over.lock().unwrap_or_else(PoisonError::into_inner);
            let store = &core.options.store;
            if let Some(row) = store.find(Lookup::Id(copy.session.clone())).wait()? {
                return Ok(row);
            }
            match store.find(Lookup::CliSession(copy.past.clone())).wait()? {
                Some(_) => Err(HostError::NoSuchPast(copy.past)),
                None => copy.make(core),
            }
        });
        let row = row.await?;
        Ok(self.told(&row))
    }

    /// Tells those who follow all sessions of a new one.
    fn told(&self, row: &StoredSession) -> SessionInfo {
        let info = SessionInfo::of(row);
        self.core.hub.tell(&Arc::new(info.clone()));
        info
    }
}

/// A copy of a session that the CLI keeps.
struct HistoryCopy {
    /// The CLI's id of it.
    past: String,
    /// The id of the copy.
    session: SessionId,
    origin: String,
    by: String,
    way: Adoption,
}

/// Whether a session of the CLI is one of the host's own, or was taken over under its id. Blocks.
fn is_known(core: &Core, cli: &str) -> Result<bool, HostError> {
    let store = &core.options.store;
    if store.find(Lookup::CliSession(cli.to_owned())).wait()?.is_some() {
        return Ok(true);
    }
    let Ok(id) = cli.parse() else { return Ok(false) };
    Ok(store.find(Lookup::Id(id)).wait()?.is_some())
}

/// The sessions that a CLI runs right now. Blocks.
fn live(core: &Core) -> Vec<LiveSession> {
    core.options.cli_config.as_deref().map(live_sessions).unwrap_or_default()
}

/// The newest transcripts of the CLI. Blocks.
fn found(core: &Core) -> Result<Vec<Found>, HostError> {
    let Some(config) = &core.options.cli_config else { return Ok(Vec::new()) };
    let transcripts = Transcripts::below(config);
    let all = transcripts.all().map_err(|error| HostError::Failed(error.to_string()))?;
    // One that was removed or cannot be read is left out.
    let looked = all.into_iter().take(LOOKED_AT).filter_map(|file| transcripts.summary(file).ok());
    Ok(looked.filter(|past| !past.glance.is_agent).collect())
}

/// A transcript as a session of a folder that sessions may work in. Blocks.
fn described(core: &Core, found: &Found) -> Option<PastSession> {
    let cwd = resolved(Path::new(found.glance.cwd.as_deref()?)).ok()?;
    if !core.options.roots.iter().any(|root| cwd.starts_with(root)) {
        return None;
    }
    Some(PastSession {
        id: found.found.id.clone(),
        title: first_words(found.about())?,
        cwd: cwd.to_string_lossy().into_owned(),
        updated_at: found.glance.updated_at,
        size: found.found.length(),
        live: false,
    })
}

/// The repositories directly inside a folder, by name. Blocks.
fn repositories(root: &Path) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(root) else { return Vec::new() };
    let folders =
        entries.filter_map(|entry| Some(entry.ok()?.path())).filter(|path| path.join(".git").exists());
    let mut names: Vec<String> = folders.map(|path| path.to_string_lossy().into_owned()).collect();
    names.sort();
    names.truncate(MAX_REPOSITORIES);
    names
}

impl HistoryCopy {
    fn new(past: &str, session: SessionId, origin: &str, by: &Actor) -> Self {
        let (past, origin, by) = (past.to_owned(), origin.to_owned(), by.name.clone());
        Self { past, session, origin, by, way: Adoption::Copy }
    }

    /// Copies the history. Blocks.
    fn make(self, core: &Core) -> Result<StoredSession, HostError> {
        let Self { past, session, origin, by, way } = self;
        let none = || HostError::NoSuchPast(past.clone());
        let found = found(core)?.into_iter().find(|found| found.found.id == past).ok_or_else(none)?;
        if way == Adoption::Same
            && let Some(live) = live(core).into_iter().find(|live| live.id == past)
        {
            return Err(HostError::LiveElsewhere { pid: live.process.pid });
        }
        let described = described(core, &found).ok_or_else(none)?;
        let loaded = LoadedTranscript::read_up_to(&found.found, MAX_BYTES).map_err(|error| {
            if error.kind() == std::io::ErrorKind::FileTooLarge {
                let max = MAX_BYTES >> 20;
                return HostError::Invalid(format!("the transcript of {past} has more than {max} MiB"));
            }
            HostError::Failed(error.to_string())
        })?;
        let options = FoldOptions { keep_entries: Some(1), ..FoldOptions::default() };
        let (view, _) = import_view(&loaded.transcript(), options);
        let store = &*core.options.store;
        let mut new = NewStoredSession::new(session.clone(), now_ms());
        new.facts = SessionUpdate {
            cwd: Some(described.cwd),
            status: Some(FORKING.to_owned()),
            ..SessionUpdate::default()
        };
        store.create(new).wait()?;
        copy(core, &session, &loaded)?;
        let is_copy = way == Adoption::Copy;
        let kept = KeptSettings {
            fork_of: Some(past.clone()).filter(|_| is_copy),
            inherited_usd: view.cost.usd.filter(|_| is_copy),
            title: Some(described.title),
            origin,
            created_by: by,
            ..KeptSettings::default()
        };
        let mut append = Append::new(session.clone(), Vec::new());
        append.update = SessionUpdate {
            at: Some(now_ms()),
            status: Some(SessionStatus::Idle.as_str().to_owned()),
            settings: Some(serde_json::to_value(&kept).unwrap_or_default()),
            cli_session: Some(past).filter(|_| !is_copy),
            cost_usd: view.cost.usd.filter(|_| !is_copy),
            ..SessionUpdate::default()
        };
        store.append(append).wait()?;
        store.find(Lookup::Id(session.clone())).wait()?.ok_or(HostError::NotFound(session))
    }
}

/// Writes the events that the session would have in our log.
fn copy(core: &Core, session: &SessionId, loaded: &LoadedTranscript) -> Result<(), HostError> {
    let (mut decoder, mut topics) = (Decoder::new(), LineTopics::default());
    let mut events = Vec::new();
    let mut written = Ok(());
    let write = |events: &mut Vec<NewEvent>| -> Result<(), HostError> {
        let append = Append::new(session.clone(), std::mem::take(events));
        Ok(core.options.store.append(append).wait().map(drop)?)
    };
    let mut at = 0;
    import(&loaded.transcript(), &mut |event| {
        if written.is_err() {
            return;
        }
        at = event.at.unwrap_or(at);
        match event.body {
            ImportedBody::Line(raw) => {
                let line = decoder.decode(&raw);
                events.push(NewEvent {
                    at,
                    search_text: search_text(&line),
                    labels: labels(&mut topics, &line),
                    ..Item::line_event(&raw)
                });
            }
            ImportedBody::Host(host) => {
                let said = match &host {
                    HostEvent::MessageQueued { text, .. } => Some(text.clone()),
                    _ => None,
                };
                let logged = Item::Host(host).to_event(at, None);
                events.extend(logged.map(|event| NewEvent { search_text: said, ..event }));
            }
        }
        if events.len() >= COPIED {
            written = write(&mut events);
        }
    });
    written?;
    write(&mut events)
}
