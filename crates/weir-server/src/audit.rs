//! Who did what: one JSON object a line, appended and never changed.
//!
//! What was said to the model is not in it; that is in the conversation.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Something that somebody did, or tried to do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct AuditEntry {
    /// When, in milliseconds since 1970.
    pub at: i64,
    /// Who: the name of the token; none where nobody was known.
    pub who: Option<String>,
    /// The id of the token.
    pub token: Option<String>,
    /// What, such as `message.send`.
    pub action: String,
    /// With which session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// More about it, such as the request that was answered and how.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// The HTTP status of the answer.
    pub status: u16,
    /// The address that it came from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peer: Option<String>,
    /// The id of the request, which the log has, too.
    pub request: String,
}

/// The audit log. Cloning gives another handle to the same one.
#[derive(Debug, Clone)]
pub struct Audit {
    path: Arc<Path>,
    file: Arc<Mutex<File>>,
}

/// How much of the file is looked at in one step when it is read from its end.
const STEP: u64 = 64 * 1024;

impl Audit {
    /// Appends to this file.
    ///
    /// # Errors
    /// If it cannot be opened.
    pub fn open(path: PathBuf) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        options.create(true).append(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = options.open(&path)?;
        Ok(Self { path: path.into(), file: Arc::new(Mutex::new(file)) })
    }

    /// Adds an entry. One write for each, so that entries of two servers would not mix.
    pub fn add(&self, entry: &AuditEntry) {
        let Ok(mut line) = serde_json::to_vec(entry) else { return };
        line.push(b'\n');
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        if let Err(error) = file.write_all(&line) {
            tracing::error!(%error, action = entry.action, "the audit log cannot be written");
        }
    }

    /// The newest entries before a place in the file (its end for none), the newest first, and the place before
    /// which there are more.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn read(&self, before: Option<u64>, limit: usize) -> io::Result<(Vec<AuditEntry>, Option<u64>)> {
        let mut file = File::open(&self.path)?;
        let end = before.unwrap_or(u64::MAX).min(file.metadata()?.len());
        let (mut start, mut tail) = (end, Vec::new());
        // One line more than wanted: the first one may have begun earlier.
        while start > 0 && tail.iter().filter(|byte| **byte == b'\n').count() <= limit {
            let step = STEP.min(start);
            start -= step;
            file.seek(SeekFrom::Start(start))?;
            let mut piece = Vec::new();
            (&file).take(step).read_to_end(&mut piece)?;
            piece.extend_from_slice(&tail);
            tail = piece;
        }
        let mut place = end;
        let mut entries = Vec::new();
        for line in tail.split_inclusive(|byte| *byte == b'\n').rev() {
            if entries.len() == limit {
                return Ok((entries, Some(place)));
            }
            place -= line.len() as u64;
            // A line that was cut by a full disk is passed over; it stays in the file.
            if let Ok(entry) = serde_json::from_slice(line) {
                entries.push(entry);
            }
        }
        Ok((entries, None))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(number: i64) -> AuditEntry {
        AuditEntry {
            at: number,
            who: Some("ann".to_owned()),
            token: Some("0a0b".to_owned()),
            action: "message.send".to_owned(),
            session: None,
            detail: Some("x".repeat(100)),
            status: 202,
            peer: None,
            request: "r".to_owned(),
        }
    }

    #[test]
    fn pages_from_the_end_miss_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let audit = Audit::open(folder.path().join("audit.ndjson")).unwrap();
        assert_eq!(audit.read(None, 10).unwrap(), (Vec::new(), None));
        for number in 0..1000 {
            audit.add(&entry(number));
        }
        let (mut all, mut before) = (Vec::new(), None);
        loop {
            let (page, next) = audit.read(before, 77).unwrap();
            all.extend(page.into_iter().map(|entry| entry.at));
            before = next;
            if before.is_none() {
                break;
            }
        }
        assert_eq!(all, (0..1000).rev().collect::<Vec<_>>());
    }

    #[test]
    fn a_cut_line_is_passed_over() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("audit.ndjson");
        std::fs::write(&path, "{\"at\":1\n").unwrap();
        let audit = Audit::open(path).unwrap();
        audit.add(&entry(2));
        assert_eq!(audit.read(None, 10).unwrap().0, [entry(2)]);
    }
}
