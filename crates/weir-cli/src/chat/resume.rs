//! `/resume`: resumes an earlier session of the folder.

use std::fmt::Write as _;
use std::time::{SystemTime, UNIX_EPOCH};

use weir_session::Origin;

use super::Chat;
use super::input::Input;
use crate::explain::explain;
use crate::screen::{Style, ago, one_line, story};
use crate::sessions::live;
use weir_session::transcripts::{LoadedTranscript, PastSession, TranscriptFile, Transcripts};

/// A shorter number is a place in the list, not the beginning of an id.
const MIN_ID_LENGTH: usize = 4;

/// Maximum number of listed sessions.
const MAX_LISTED: usize = 20;

impl Chat {
    /// Resumes the named session, or lists sessions and asks for one.
    pub(super) async fn resume(&mut self, which: Option<String>) -> anyhow::Result<()> {
        let Some(transcripts) = self.settings.transcripts() else {
            self.complain("the CLI's transcript folder is unknown: set HOME");
            return Ok(());
        };
        let which = match which {
            Some(which) => which,
            None => {
                if !self.list(&transcripts)? || !self.settings.edits {
                    return Ok(());
                }
                match self.read("number > ").await {
                    Input::Text(text) if !text.trim().is_empty() => text.trim().to_owned(),
                    _ => return Ok(()),
                }
            }
        };
        let id = match which.parse::<usize>().ok().filter(|_| which.len() < MIN_ID_LENGTH) {
            None => which,
            Some(number) => match number.checked_sub(1).and_then(|place| self.listed.get(place)) {
                Some(id) => id.clone(),
                None => {
                    self.complain(&format!("no session {number}; /resume lists them"));
                    return Ok(());
                }
            },
        };
        match transcripts.find(&id) {
            Ok(found) => self.switch(&found).await,
            Err(error) => {
                self.complain(&error.to_string());
                Ok(())
            }
        }
    }

    /// Prints the earlier sessions of the folder. Returns `false` if there are none.
    fn list(&mut self, transcripts: &Transcripts) -> anyhow::Result<bool> {
        let cwd = self.settings.cwd();
        let current = self.display.lock().view.session.id.clone();
        let is_other = |found: &TranscriptFile| current.as_ref().is_none_or(|id| id.as_str() != found.id);
        let found = transcripts.of_folder(&cwd)?.into_iter().filter(is_other);
        let pasts: Vec<PastSession> = found
            .filter_map(|found| transcripts.summary(found).ok())
            .filter(|past| !past.glance.is_agent)
            .take(MAX_LISTED)
            .collect();
        self.listed = pasts.iter().map(|past| past.found.id.clone()).collect();
        if pasts.is_empty() {
            self.print("No earlier sessions in this folder.\n")?;
            return Ok(false);
        }
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map(|now| now.as_secs()).unwrap_or_default();
        let style = Style::for_stdout();
        let mut text = String::new();
        for (number, past) in pasts.iter().enumerate() {
            let when = ago(now.saturating_sub(past.found.modified()));
            let id = past.found.id.get(..8).unwrap_or(&past.found.id);
            let about = one_line(past.about(), 60);
            // Writing to a string cannot fail.
            let number = style.accent(&format!("{:>3}", number + 1));
            let _ = writeln!(text, "{number}  {}  {when:<10}  {about}", style.faint(id));
        }
        self.print(&text)?;
        Ok(true)
    }

    async fn switch(&mut self, found: &TranscriptFile) -> anyhow::Result<()> {
        let current = self.display.lock().view.session.id.clone();
        if current.is_some_and(|id| id.as_str() == found.id) {
            return self.print("This is the current session.\n");
        }
        let state = self.settings.session.state_directory.clone();
        let held = state.map(|state| live(&state)).unwrap_or_default();
        if let Some(held) = held.iter().find(|live| live.id == found.id && live.pid != std::process::id()) {
            self.complain(&format!("that session is open elsewhere: {}", held.in_words()));
            return Ok(());
        }
        self.begin(Origin::Resume(found.id.as_str().into())).await?;
        self.display.lock().progress.now("starting the CLI");
        let started = tokio::select! {
            started = self.session.start() => started,
            _ = self.signals.next() => Ok(()),
        };
        self.display.lock().progress.pause();
        if let Err(error) = started {
            self.complain(&explain(&error, None));
            return Ok(());
        }
        self.show_past()
    }

    /// Shows the last message and answer of a resumed session.
    pub(super) fn show_past(&mut self) -> anyhow::Result<()> {
        let (Origin::Resume(id) | Origin::Fork(id)) = &self.settings.session.conversation else {
            return Ok(());
        };
        let found = self.settings.transcripts().and_then(|transcripts| transcripts.find(id.as_str()).ok());
        let Some(loaded) = found.as_ref().and_then(|found| LoadedTranscript::read(found).ok()) else {
            return Ok(());
        };
        let (view, _) = loaded.view();
        let text = story(&view, Some(1), Style::for_stdout());
        let style = Style::for_stdout();
        self.print(&format!("{}\n{text}\n", style.faint(&format!("… session {id}"))))
    }
}
