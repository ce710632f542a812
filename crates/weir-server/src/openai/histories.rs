//! Sessions and turns that clients come back to, kept in a file so that they survive a restart.
//!
//! The file has one line for each history of a session and for each request that started a turn. It holds hashes and
//! ids of sessions and messages, no text. It is written without waiting for the disk: if a line is lost, the client
//! gets a new session that is given the history.

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use weir_openai::Index;

/// Maximum number of remembered histories.
const MAX_HISTORIES: usize = 10_000;
/// Maximum sessions remembered per history: clients may say the same in several sessions.
const MAX_POINTS: usize = 4;
/// Maximum number of remembered requests.
const MAX_REQUESTS: usize = 1_000;
/// Lines after which the file is rewritten with the current content.
const MAX_LINES: usize = 6 * MAX_HISTORIES;

/// A point in a session that a client may continue from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Point {
    /// The session.
    pub(crate) session: String,
    /// The newest message of the session that belongs to this history.
    pub(crate) message: String,
    /// Whether the message failed and has no answer.
    #[serde(default)]
    pub(crate) failed: bool,
    /// Hash of the session's setup: model, instructions, and output format.
    pub(crate) setup: String,
}

/// A turn that a request started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Begun {
    /// The session.
    pub(crate) session: String,
    /// The message of the turn.
    pub(crate) message: String,
    /// Number of the session's newest event before the message.
    pub(crate) seq: u64,
    /// The reply's own id.
    pub(crate) reply: String,
    /// Start time, in milliseconds since 1970.
    pub(crate) at: i64,
    /// The hash of the request's body.
    pub(crate) body: String,
    /// Hash of the session's setup.
    pub(crate) setup: String,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Line {
    History {
        history: String,
        #[serde(flatten)]
        point: Point,
    },
    Request {
        request: String,
        #[serde(flatten)]
        begun: Begun,
    },
}

/// The sessions and turns that clients of the OpenAI-compatible front come back to.
#[derive(Debug)]
pub struct Histories {
    points: Index<Vec<Point>>,
    requests: Index<Begun>,
    journal: Option<Journal>,
}

#[derive(Debug)]
struct Journal {
    path: PathBuf,
    file: File,
    lines: usize,
}

impl Default for Histories {
    /// Histories without a file, forgotten when the server ends.
    fn default() -> Self {
        Self { points: Index::new(MAX_HISTORIES), requests: Index::new(MAX_REQUESTS), journal: None }
    }
}

impl Histories {
    /// Opens the histories in this file, which is created if missing.
    ///
    /// # Errors
    /// If the file cannot be read or written.
    pub fn open(path: PathBuf) -> io::Result<Self> {
        let mut histories = Self::default();
        match File::open(&path) {
            Ok(file) => histories.read(file)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        histories.journal = Some(histories.rewrite(path)?);
        Ok(histories)
    }

    fn read(&mut self, file: File) -> io::Result<()> {
        for line in BufReader::new(file).split(b'\n') {
            // A line that was cut off by a kill or written by an older version is skipped.
            match serde_json::from_slice(&line?) {
                Ok(Line::History { history, point }) => self.add(history, point),
                Ok(Line::Request { request, begun }) => self.requests.put(request, begun),
                Err(_) => {}
            }
        }
        Ok(())
    }

    fn add(&mut self, history: String, point: Point) {
        let mut points = self.points(&history);
        points.retain(|known| known.session != point.session);
        points.push(point);
        if points.len() > MAX_POINTS {
            points.remove(0);
        }
        self.points.put(history, points);
    }

    /// The points that clients with this history may continue from, the oldest first.
    pub(crate) fn points(&self, history: &str) -> Vec<Point> {
        self.points.get(history).cloned().unwrap_or_default()
    }

    /// The turn that a request started.
    pub(crate) fn request(&self, key: &str) -> Option<Begun> {
        self.requests.get(key).cloned()
    }

    /// Records the point that a client with this history continues from.
    pub(crate) fn put(&mut self, history: String, point: Point) {
        self.add(history.clone(), point.clone());
        self.write(&Line::History { history, point });
    }

    /// Records the turn that a request started.
    pub(crate) fn begun(&mut self, key: String, begun: Begun) {
        self.requests.put(key.clone(), begun.clone());
        self.write(&Line::Request { request: key, begun });
    }

    fn write(&mut self, line: &Line) {
        let Some(mut journal) = self.journal.take() else { return };
        let written = if journal.lines < MAX_LINES {
            journal.add(line).map(|()| journal)
        } else {
            // The line itself is part of the rewritten file.
            self.rewrite(journal.path)
        };
        match written {
            Ok(journal) => self.journal = Some(journal),
            Err(error) => {
                tracing::warn!(%error, "cannot store histories of OpenAI clients; after a restart they start new sessions");
            }
        }
    }

    /// Writes the current content to a new file that atomically replaces the old one.
    fn rewrite(&self, path: PathBuf) -> io::Result<Journal> {
        let new = path.with_extension("new");
        let mut journal = Journal { file: create(&new)?, path, lines: 0 };
        let histories = self.points.iter().flat_map(|(history, points)| {
            points.iter().map(|point| Line::History { history: history.to_owned(), point: point.clone() })
        });
        let requests = self
            .requests
            .iter()
            .map(|(request, begun)| Line::Request { request: request.to_owned(), begun: begun.clone() });
        let mut text = String::new();
        for line in histories.chain(requests) {
            text.push_str(&serde_json::to_string(&line)?);
            text.push('\n');
            journal.lines += 1;
        }
        journal.file.write_all(text.as_bytes())?;
        std::fs::rename(&new, &journal.path)?;
        Ok(journal)
    }
}

impl Journal {
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

#[cfg(test)]
mod tests {
    use super::{Begun, Histories, Point};

    fn point(number: usize) -> Point {
        Point {
            session: format!("s{number}"),
            message: format!("m{number}"),
            failed: number == 1,
            setup: "setup".into(),
        }
    }

    #[test]
    fn histories_survive_a_restart() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("histories.ndjson");
        let mut histories = Histories::open(path.clone()).unwrap();
        for number in 0..3 {
            histories.put(format!("h{number}"), point(number));
        }
        histories.put("h1".into(), point(7));
        let begun = Begun {
            session: "s".into(),
            message: "m".into(),
            seq: 7,
            reply: "r".into(),
            at: 1,
            body: "b".into(),
            setup: "setup".into(),
        };
        histories.begun("k".into(), begun.clone());
        drop(histories);
        // A line cut off by a kill, and a line of an older version.
        let mut bytes = std::fs::read(&path).unwrap();
        bytes.extend_from_slice(
            b"{\"put\":{\"history\":\"h1\",\"session\":\"s9\"}}\n{\"history\":{\"history\":\"h9",
        );
        std::fs::write(&path, bytes).unwrap();
        for _ in 0..2 {
            let histories = Histories::open(path.clone()).unwrap();
            assert_eq!(histories.points("h1"), [point(1), point(7)]);
            assert_eq!(histories.points("h9"), []);
            assert_eq!(histories.request("k"), Some(begun.clone()));
        }
    }

    #[test]
    fn the_file_is_bounded() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("histories.ndjson");
        let mut histories = Histories::open(path.clone()).unwrap();
        for number in 0..super::MAX_LINES + 10 {
            histories.put("the same".to_owned(), point(number));
        }
        let lines = std::fs::read_to_string(&path).unwrap().lines().count();
        assert!(lines < 20, "{lines} lines");
        let points = Histories::open(path).unwrap().points("the same");
        assert_eq!((points.len(), points.last()), (super::MAX_POINTS, Some(&point(super::MAX_LINES + 9))));
    }
}
