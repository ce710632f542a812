//! The histories of clients, kept in a file: a restart makes no client a stranger.
//!
//! The file has one line for each history that a session got and for each that was handed out. It holds hashes and names
//! of sessions, nothing that anybody said. It is written and not waited for: what a failing disk loses costs a client a
//! new session, which is told the history.

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use weir_openai::HistoryIndex;

/// Histories that are remembered.
const MOST: usize = 10_000;
/// Lines after which the file is written anew with what still holds.
const MOST_LINES: usize = 6 * MOST;

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Line {
    Put { history: String, session: String },
    Take { history: String },
}

/// The sessions that clients of the OpenAI-compatible front come back to.
#[derive(Debug)]
pub struct Histories {
    index: HistoryIndex,
    journal: Option<Journal>,
}

#[derive(Debug)]
struct Journal {
    path: PathBuf,
    file: File,
    lines: usize,
}

impl Default for Histories {
    /// Histories that are forgotten with the server.
    fn default() -> Self {
        Self { index: HistoryIndex::new(MOST), journal: None }
    }
}

impl Histories {
    /// The histories in this file, which is made if it is not there.
    ///
    /// # Errors
    /// If it cannot be read or written.
    pub fn open(path: PathBuf) -> io::Result<Self> {
        let mut index = HistoryIndex::new(MOST);
        match File::open(&path) {
            Ok(file) => read(file, &mut index)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        let journal = Journal::write_anew(path, &index)?;
        Ok(Self { index, journal: Some(journal) })
    }

    /// The session with this history. Whoever comes next with the same one gets another session.
    pub(crate) fn take(&mut self, history: &str) -> Option<String> {
        let session = self.index.take(history)?;
        self.write(&Line::Take { history: history.to_owned() });
        Some(session)
    }

    /// A session has this history now.
    pub(crate) fn put(&mut self, history: String, session: String) {
        self.write(&Line::Put { history: history.clone(), session: session.clone() });
        self.index.put(history, session);
    }

    fn write(&mut self, line: &Line) {
        let Some(journal) = &mut self.journal else { return };
        let written = if journal.lines < MOST_LINES {
            journal.add(line)
        } else {
            let path = journal.path.clone();
            // The line itself is among what is added to the new file.
            Journal::write_anew(path, &self.index).and_then(|mut anew| {
                anew.add(line)?;
                *journal = anew;
                Ok(())
            })
        };
        if let Err(error) = written {
            tracing::warn!(%error, "histories of OpenAI's clients are not kept: after a restart they begin anew");
            self.journal = None;
        }
    }
}

impl Journal {
    /// Writes what holds into a new file, which takes the place of the old one in one step.
    fn write_anew(path: PathBuf, index: &HistoryIndex) -> io::Result<Self> {
        let beside = path.with_extension("new");
        let mut journal = Self { file: create(&beside)?, path, lines: 0 };
        let mut text = String::new();
        for (history, session) in index.iter() {
            let line = Line::Put { history: history.to_owned(), session: session.to_owned() };
            text.push_str(&serde_json::to_string(&line)?);
            text.push('\n');
            journal.lines += 1;
        }
        journal.file.write_all(text.as_bytes())?;
        std::fs::rename(&beside, &journal.path)?;
        Ok(journal)
    }

    /// One write for each line, so that a kill leaves no half of one but at the end.
    fn add(&mut self, line: &Line) -> io::Result<()> {
        let mut text = serde_json::to_string(line)?;
        text.push('\n');
        self.lines += 1;
        self.file.write_all(text.as_bytes())
    }
}

fn create(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.create(true).write(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

fn read(file: File, index: &mut HistoryIndex) -> io::Result<()> {
    for line in BufReader::new(file).split(b'\n') {
        // A line that a kill cut off is passed over.
        match serde_json::from_slice(&line?) {
            Ok(Line::Put { history, session }) => index.put(history, session),
            Ok(Line::Take { history }) => drop(index.take(&history)),
            Err(_) => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::Histories;

    #[test]
    fn they_survive_a_restart_and_are_handed_out_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("histories.ndjson");
        let mut histories = Histories::open(path.clone()).unwrap();
        for number in 0..3 {
            histories.put(format!("h{number}"), format!("s{number}"));
        }
        assert_eq!(histories.take("h1").as_deref(), Some("s1"));
        drop(histories);
        // A kill in the middle of a line.
        let mut bytes = std::fs::read(&path).unwrap();
        bytes.extend_from_slice(b"{\"put\":{\"history\":\"h9");
        std::fs::write(&path, bytes).unwrap();
        let mut histories = Histories::open(path.clone()).unwrap();
        assert_eq!(histories.take("h1"), None);
        assert_eq!(histories.take("h2").as_deref(), Some("s2"));
        drop(histories);
        let mut histories = Histories::open(path).unwrap();
        assert_eq!((histories.take("h2"), histories.take("h0").as_deref()), (None, Some("s0")));
    }

    #[test]
    fn the_file_is_bounded() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("histories.ndjson");
        let mut histories = Histories::open(path.clone()).unwrap();
        for number in 0..super::MOST_LINES + 10 {
            histories.put("the same".to_owned(), number.to_string());
        }
        let lines = std::fs::read_to_string(&path).unwrap().lines().count();
        assert!(lines < 20, "{lines} lines");
        let newest = (super::MOST_LINES + 9).to_string();
        assert_eq!(Histories::open(path).unwrap().take("the same"), Some(newest));
    }
}
