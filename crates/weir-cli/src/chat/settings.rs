//! Settings of `weir chat`.

use std::io::IsTerminal as _;
use std::path::PathBuf;

use crate::conversation::{SessionSettings, attachments};
use crate::folders;
use crate::opts::ChatOpts;
use weir_session::Attachment;
use weir_session::transcripts::Transcripts;

/// Settings of `weir chat`.
pub(crate) struct Settings {
    pub(super) session: SessionSettings,
    /// What goes with the first message.
    pub(super) attachments: Vec<Attachment>,
    pub(super) quiet: bool,
    /// Whether there is a terminal on which lines can be edited.
    pub(super) edits: bool,
    /// The file with the input history.
    pub(super) history: Option<PathBuf>,
}

impl Settings {
    pub(crate) fn resolve(opts: ChatOpts) -> anyhow::Result<Self> {
        let attachments = attachments(&opts.attach)?;
        let mut session = SessionSettings::resolve(opts.session, "chat", opts.cli_flags)?;
        // A user who types here can type the same at the CLI's own prompt.
        session.interprets |= std::io::stdin().is_terminal();
        if !opts.quiet {
            crate::trust::warn_if_ignored(session.cwd.as_deref(), &session.trust);
        }
        let is_dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb" || term.is_empty());
        let edits = std::io::stdin().is_terminal() && std::io::stdout().is_terminal() && !is_dumb;
        let history = session.state_directory.as_ref().map(|state| state.join("history"));
        Ok(Self { session, attachments, quiet: opts.quiet, edits, history })
    }

    /// The working folder.
    pub(super) fn cwd(&self) -> PathBuf {
        let cwd = self.session.cwd.clone().map_or_else(std::env::current_dir, Ok);
        cwd.and_then(|cwd| cwd.canonicalize()).unwrap_or_default()
    }

    /// The CLI's own transcripts.
    pub(super) fn transcripts(&self) -> Option<Transcripts> {
        folders::cli_config().as_deref().map(Transcripts::below)
    }
}
