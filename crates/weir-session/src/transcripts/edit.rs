//! Changes the CLI's own record of a session: its title, its tag, and its end.
//!
//! A session that a process has must not be changed here: the CLI keeps writing to the file. The caller makes sure of
//! that, for example with the session's lock.

use std::fs::{self, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use uuid::Uuid;
use weir_base::time::{Utc, now_ms};

use super::find::TranscriptFile;

/// Maximum length of a title or a tag, in characters.
const MAX_LENGTH: usize = 200;

/// The transcript of a sub-agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentFile {
    /// The agent.
    pub id: String,
    /// Where it is.
    pub path: PathBuf,
}

/// Why the record of a session could not be changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EditError {
    /// The title or tag cannot be used.
    #[error("{0:?} cannot be used: it must have 1 to {MAX_LENGTH} characters on one line")]
    Text(String),
    /// The file cannot be changed.
    #[error("{} cannot be changed: {source}", path.display())]
    System {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
}

impl TranscriptFile {
    /// Gives the session a title, which the CLI shows too.
    ///
    /// # Errors
    /// The title cannot be used, or the file cannot be changed.
    pub fn rename(&self, title: &str) -> Result<(), EditError> {
        self.append("custom-title", "customTitle", checked(title)?)
    }

    /// Gives the session a tag; none removes it.
    ///
    /// # Errors
    /// The tag cannot be used, or the file cannot be changed.
    pub fn tag(&self, tag: Option<&str>) -> Result<(), EditError> {
        let tag = tag.map(checked).transpose()?.unwrap_or_default();
        self.append("tag", "tag", tag)
    }

    /// Deletes the session, with the transcripts of its sub-agents and what else the CLI keeps next to it.
    ///
    /// # Errors
    /// A file cannot be deleted. The transcript itself is the last to go, so that deleting can be tried again.
    pub fn delete(&self) -> Result<(), EditError> {
        let failed = |path: &Path, source| EditError::System { path: path.to_owned(), source };
        let folder = self.folder();
        match fs::remove_dir_all(&folder) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(failed(&folder, error)),
        }
        fs::remove_file(&self.path).map_err(|error| failed(&self.path, error))
    }

    /// The transcripts of its sub-agents, since 2.1.
    pub fn agents(&self) -> Vec<AgentFile> {
        let Ok(entries) = fs::read_dir(self.folder().join("subagents")) else { return Vec::new() };
        let agent = |entry: fs::DirEntry| {
            let path = entry.path();
            let id = path.file_name()?.to_str()?.strip_prefix("agent-")?.strip_suffix(".jsonl")?.to_owned();
            Some(AgentFile { id, path })
        };
        let mut agents: Vec<AgentFile> = entries.filter_map(|entry| agent(entry.ok()?)).collect();
        agents.sort_by(|a, b| a.id.cmp(&b.id));
        agents
    }

    /// What belongs to the session apart from the transcript.
    fn folder(&self) -> PathBuf {
        self.path.with_extension("")
    }

    /// Adds a line about the session, in the form of the CLI.
    fn append(&self, kind: &str, member: &str, text: &str) -> Result<(), EditError> {
        let mut line = json!({
            "type": kind,
            "sessionId": self.id,
            "uuid": Uuid::new_v4().to_string(),
            "timestamp": Utc::from_ms(now_ms()).rfc3339_ms(),
        });
        if let Some(line) = line.as_object_mut() {
            line.insert(member.to_owned(), Value::from(text));
        }
        append_line(&self.path, &line.to_string())
            .map_err(|source| EditError::System { path: self.path.clone(), source })
    }
}

/// A text that fits in a list.
fn checked(text: &str) -> Result<&str, EditError> {
    let trimmed = text.trim();
    let is_good = !trimmed.is_empty()
        && trimmed.chars().count() <= MAX_LENGTH
        && !trimmed.chars().any(char::is_control);
    if is_good { Ok(trimmed) } else { Err(EditError::Text(text.to_owned())) }
}

/// Appends a line with one write. A last line that was cut, as by a full disk, stays apart from it.
fn append_line(path: &Path, line: &str) -> io::Result<()> {
    let mut file = OpenOptions::new().read(true).append(true).open(path)?;
    let mut last = [b'\n'];
    if file.metadata()?.len() > 0 {
        file.seek(SeekFrom::End(-1))?;
        file.read_exact(&mut last)?;
    }
    let start = if last == *b"\n" { "" } else { "\n" };
    file.write_all(format!("{start}{line}\n").as_bytes())
}

#[cfg(test)]
mod tests {
    use super::super::Transcripts;
    use super::*;

    const ID: &str = "11111111-1111-4111-8111-111111111111";

    fn sample() -> (tempfile::TempDir, Transcripts, TranscriptFile) {
        let config = tempfile::tempdir().unwrap();
        let folder = config.path().join("projects/-w");
        fs::create_dir_all(folder.join(ID).join("subagents")).unwrap();
        fs::write(folder.join(ID).join("subagents/agent-a1.jsonl"), "{}\n").unwrap();
        let line =
            format!(r#"{{"type":"user","sessionId":"{ID}","message":{{"role":"user","content":"Hello"}}}}"#);
        // Without the last line feed, as after a crash.
        fs::write(folder.join(format!("{ID}.jsonl")), line).unwrap();
        let transcripts = Transcripts::below(config.path());
        let found = transcripts.find(ID).unwrap();
        (config, transcripts, found)
    }

    #[test]
    fn a_title_and_a_tag_are_read_again() {
        let (_config, transcripts, found) = sample();
        found.rename("  The dam ").unwrap();
        found.tag(Some("water")).unwrap();
        let glance = transcripts.summary(transcripts.find(ID).unwrap()).unwrap().glance;
        assert_eq!((glance.title.as_deref(), glance.tag.as_deref()), (Some("The dam"), Some("water")));
        assert_eq!(glance.first_prompt.as_deref(), Some("Hello"));
        found.tag(None).unwrap();
        assert_eq!(transcripts.summary(transcripts.find(ID).unwrap()).unwrap().glance.tag, None);
        for wrong in ["", "  ", "two\nlines", &"x".repeat(MAX_LENGTH + 1)] {
            assert!(matches!(found.rename(wrong), Err(EditError::Text(_))), "{wrong:?}");
        }
    }

    #[test]
    fn nothing_is_left_of_a_deleted_session() {
        let (config, transcripts, found) = sample();
        assert_eq!(found.agents().iter().map(|agent| agent.id.as_str()).collect::<Vec<_>>(), ["a1"]);
        found.delete().unwrap();
        assert!(transcripts.find(ID).is_err());
        assert!(!config.path().join("projects/-w").join(ID).exists());
        assert!(matches!(found.delete(), Err(EditError::System { .. })));
    }
}
