//! Finds transcripts.

use std::fs;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use weir_transcript::import::{Glance, glance};

use super::open::open;

/// Bytes read from the beginning and from the end of a file for a list.
pub(super) const GLANCE: u64 = 64 << 10;

/// The CLI cuts longer folder names and appends a suffix.
const MAX_NAME_LENGTH: usize = 200;

/// The folder with all transcripts.
#[derive(Debug, Clone)]
pub struct Transcripts {
    projects: PathBuf,
}

/// A file with a transcript.
#[derive(Debug, Clone)]
pub struct TranscriptFile {
    /// The session.
    pub id: String,
    /// Where it is.
    pub path: PathBuf,
    modified: SystemTime,
    length: u64,
}

/// A past session, as shown in a list.
#[derive(Debug, Clone)]
pub struct PastSession {
    /// Its transcript.
    pub found: TranscriptFile,
    /// What the beginning and the end of the transcript say.
    pub glance: Glance,
}

/// Why a transcript was not found.
#[derive(Debug, thiserror::Error)]
pub enum FindError {
    /// No session has this id.
    #[error("no session {id} found in {}; `weir sessions` lists them", projects.display())]
    None {
        /// The id.
        id: String,
        /// The folder with all transcripts.
        projects: PathBuf,
    },
    /// Several sessions have an id that begins like this.
    #[error("{id} matches several sessions:\n  {}\nGive more of the id.", found.join("\n  "))]
    Several {
        /// The beginning of an id.
        id: String,
        /// The ids that begin with it.
        found: Vec<String>,
    },
    /// A folder cannot be read.
    #[error("{} cannot be read: {source}", path.display())]
    System {
        /// The folder.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
}

impl TranscriptFile {
    /// When it was last written, in seconds since 1970.
    pub fn modified(&self) -> u64 {
        self.modified.duration_since(UNIX_EPOCH).map(|time| time.as_secs()).unwrap_or_default()
    }

    /// Its length in bytes, without the files of sub-agents.
    pub fn length(&self) -> u64 {
        self.length
    }
}

impl PastSession {
    /// A one-line description of the session.
    pub fn about(&self) -> &str {
        let glance = &self.glance;
        glance.title.as_deref().or(glance.first_prompt.as_deref()).unwrap_or_default()
    }
}

impl Transcripts {
    /// The transcripts below the CLI's own folder.
    pub fn below(config: &Path) -> Self {
        Self { projects: config.join("projects") }
    }

    /// All transcripts, newest first. A missing folder has none.
    pub fn all(&self) -> Result<Vec<TranscriptFile>, FindError> {
        let folders = self.list(&self.projects)?;
        self.files(folders.into_iter())
    }

    /// The transcripts of sessions in this folder, newest first.
    pub fn of_folder(&self, cwd: &Path) -> Result<Vec<TranscriptFile>, FindError> {
        let name = project_name(cwd);
        let is_match = |folder: &PathBuf| {
            let folder = folder.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
            let beginning = name.get(..MAX_NAME_LENGTH).unwrap_or(&name);
            folder == name || name.len() > MAX_NAME_LENGTH && folder.starts_with(beginning)
        };
        let folders = self.list(&self.projects)?;
        self.files(folders.into_iter().filter(is_match))
    }

    /// Finds a transcript by its id, or the beginning of it.
    pub fn find(&self, id: &str) -> Result<TranscriptFile, FindError> {
        let id = id.to_ascii_lowercase();
        let all = self.all()?;
        let mut matching = all.into_iter().filter(|found| found.id.starts_with(&id)).peekable();
        let none = || FindError::None { id: id.clone(), projects: self.projects.clone() };
        let first = matching.next().ok_or_else(none)?;
        if first.id == id || matching.peek().is_none() {
            return Ok(first);
        }
        let rest: Vec<TranscriptFile> = matching.collect();
        if let Some(exact) = rest.iter().find(|found| found.id == id) {
            return Ok(exact.clone());
        }
        let found = std::iter::once(&first).chain(&rest).map(|found| found.id.clone());
        Err(FindError::Several { id, found: found.take(10).collect() })
    }

    /// What a transcript is about, from its beginning and its end.
    pub fn summary(&self, found: TranscriptFile) -> io::Result<PastSession> {
        let mut file = open(&found.path)?;
        let mut head = Vec::new();
        file.by_ref().take(GLANCE).read_to_end(&mut head)?;
        let mut tail = Vec::new();
        if found.length > GLANCE {
            file.seek(SeekFrom::Start(found.length - GLANCE.min(found.length)))?;
            file.take(GLANCE).read_to_end(&mut tail)?;
        }
        let glance = glance(&head, &tail, found.length.max(head.len() as u64));
        Ok(PastSession { found, glance })
    }

    fn files(&self, folders: impl Iterator<Item = PathBuf>) -> Result<Vec<TranscriptFile>, FindError> {
        let mut files = Vec::new();
        for folder in folders {
            // A folder that has since been removed, or is not readable, is skipped.
            let paths = self.list(&folder).unwrap_or_default();
            files.extend(paths.into_iter().filter_map(session_file));
        }
        files.sort_by(|a, b| b.modified.cmp(&a.modified).then_with(|| a.id.cmp(&b.id)));
        Ok(files)
    }

    fn list(&self, folder: &Path) -> Result<Vec<PathBuf>, FindError> {
        let system = |source| FindError::System { path: folder.to_owned(), source };
        match fs::read_dir(folder) {
            Ok(entries) => Ok(entries.filter_map(|entry| Some(entry.ok()?.path())).collect()),
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                Ok(Vec::new())
            }
            Err(error) => Err(system(error)),
        }
    }
}

/// A transcript, if the file is named after a session.
fn session_file(path: PathBuf) -> Option<TranscriptFile> {
    let id = path.file_name()?.to_str()?.strip_suffix(".jsonl")?.to_owned();
    uuid::Uuid::try_parse(&id).ok()?;
    // Not through a link: what it leads to is none of the CLI's.
    let metadata = fs::symlink_metadata(&path).ok().filter(fs::Metadata::is_file)?;
    let modified = metadata.modified().unwrap_or(UNIX_EPOCH);
    Some(TranscriptFile { id, path, modified, length: metadata.len() })
}

/// The CLI's name for a working directory.
fn project_name(cwd: &Path) -> String {
    let letter = |letter: char| if letter.is_ascii_alphanumeric() { letter } else { '-' };
    cwd.to_string_lossy().chars().map(letter).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: &str = "11111111-1111-4111-8111-111111111111";
    const TWO: &str = "11111111-2222-4222-8222-222222222222";

    fn sample() -> (tempfile::TempDir, Transcripts) {
        let config = tempfile::tempdir().unwrap();
        let folder = config.path().join("projects/-workspace-my-demo");
        fs::create_dir_all(folder.join(ONE).join("subagents")).unwrap();
        for name in [ONE, TWO] {
            let line = format!(
                r#"{{"type":"user","sessionId":"{name}","uuid":"{name}","cwd":"/workspace/my_demo","timestamp":"2026-01-01T00:00:00Z","message":{{"role":"user","content":"Hello {name}"}}}}"#
            );
            fs::write(folder.join(format!("{name}.jsonl")), line + "\n").unwrap();
        }
        for name in ["agent-1.jsonl", "notes.txt", "not-a-uuid.jsonl"] {
            fs::write(folder.join(name), "{}\n").unwrap();
        }
        let transcripts = Transcripts::below(config.path());
        (config, transcripts)
    }

    #[test]
    fn only_sessions_are_listed_and_found_by_folder() {
        let (_config, transcripts) = sample();
        assert_eq!(transcripts.all().unwrap().len(), 2);
        assert_eq!(transcripts.of_folder(Path::new("/workspace/my_demo")).unwrap().len(), 2);
        assert_eq!(transcripts.of_folder(Path::new("/workspace")).unwrap().len(), 0);
        let past = transcripts.summary(transcripts.find(TWO).unwrap()).unwrap();
        assert_eq!(past.about(), format!("Hello {TWO}"));
    }

    #[test]
    fn the_beginning_of_an_id_is_enough_if_there_is_only_one() {
        let (_config, transcripts) = sample();
        assert_eq!(transcripts.find("11111111-2").unwrap().id, TWO);
        assert!(matches!(transcripts.find("1111"), Err(FindError::Several { .. })));
        let error = transcripts.find("2222").unwrap_err().to_string();
        assert!(error.contains("weir sessions"), "{error}");
    }

    #[test]
    fn a_missing_folder_has_no_transcripts() {
        assert!(Transcripts::below(Path::new("/nowhere")).all().unwrap().is_empty());
    }
}
