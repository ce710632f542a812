//! Settings of `weir sessions`.

use std::path::PathBuf;

use crate::exit::UsageError;
use crate::folders;
use crate::opts::{ChangedOpts, ExportFormatOpt, PlacesOpts, SessionsCommand, SessionsOpts};
use crate::serve::data_directory;
use weir_host::Adoption;
use weir_process::{Lock, LockError};
use weir_session::transcripts::Transcripts;

use super::live::{Live, live};

/// What to do, and where to look.
pub(crate) struct Settings {
    pub(super) task: Task,
    pub(super) places: Places,
}

/// What to do.
pub(super) enum Task {
    List(List),
    Show { id: String, json: bool },
    Adopt { id: String, way: Adoption, data: PathBuf },
    Export { id: String, form: Form, file: Option<PathBuf> },
    Change { id: String, change: Change },
}

/// What to change about a session.
pub(super) enum Change {
    Title(String),
    Tag(Option<String>),
    Delete,
}

/// What to list.
pub(super) struct List {
    pub(super) cwd: Option<PathBuf>,
    pub(super) live_only: bool,
    /// `None` for all.
    pub(super) limit: Option<usize>,
    pub(super) json: bool,
}

/// The format of an export.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    Markdown,
    Html,
    Lines,
}

/// Where to look.
pub(super) struct Places {
    config: Option<PathBuf>,
    state: Option<PathBuf>,
}

impl Places {
    fn resolve(opts: PlacesOpts) -> Self {
        Self {
            config: opts.config_dir.or_else(folders::cli_config),
            state: opts.state_dir.or_else(folders::state),
        }
    }

    pub(super) fn transcripts(&self) -> Result<Transcripts, UsageError> {
        let none = "the CLI's transcript folder is unknown: set HOME, or use --config-dir";
        self.config.as_deref().map(Transcripts::below).ok_or_else(|| UsageError(none.to_owned()))
    }

    /// The CLI's own folder.
    pub(super) fn config(&self) -> Option<PathBuf> {
        self.config.clone()
    }

    /// Keeps other Weir processes away from a session that is changed.
    pub(super) fn lock(&self, id: &str) -> Result<Option<Lock>, LockError> {
        let path = |state: &PathBuf| state.join("locks").join(format!("session-{id}.lock"));
        self.state.as_ref().map(|state| Lock::acquire(&path(state), "this session")).transpose()
    }

    /// Live sessions that Weir started.
    pub(super) fn live(&self) -> Vec<Live> {
        self.state.as_deref().map(live).unwrap_or_default()
    }
}

impl Settings {
    pub(crate) fn resolve(opts: SessionsOpts) -> anyhow::Result<Self> {
        let (task, places) = match opts.command {
            None => {
                let cwd = opts.cwd.map(|cwd| {
                    cwd.canonicalize()
                        .map_err(|error| UsageError(format!("--cwd {}: {error}", cwd.display())))
                });
                let list = List {
                    cwd: cwd.transpose()?,
                    live_only: opts.live,
                    limit: Some(opts.limit).filter(|limit| *limit > 0),
                    json: opts.json,
                };
                (Task::List(list), opts.places)
            }
            Some(SessionsCommand::Show { id, json, places }) => (Task::Show { id, json }, places),
            Some(SessionsCommand::Adopt { id, copy, data, places }) => {
                let way = if copy { Adoption::Copy } else { Adoption::Same };
                (Task::Adopt { id, way, data: data_directory(data)? }, places)
            }
            Some(SessionsCommand::Export { id, format, output, places }) => {
                let form = match format {
                    ExportFormatOpt::Md => Form::Markdown,
                    ExportFormatOpt::Html => Form::Html,
                    ExportFormatOpt::Ndjson => Form::Lines,
                };
                (Task::Export { id, form, file: output }, places)
            }
            Some(SessionsCommand::Rename { session, title }) => changed(session, Change::Title(title)),
            Some(SessionsCommand::Tag { session, tag }) => changed(session, Change::Tag(tag)),
            Some(SessionsCommand::Delete { session }) => changed(session, Change::Delete),
        };
        Ok(Self { task, places: Places::resolve(places) })
    }
}

fn changed(session: ChangedOpts, change: Change) -> (Task, PlacesOpts) {
    (Task::Change { id: session.id, change }, session.places)
}
