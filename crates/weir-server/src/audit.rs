//! The audit log, who did what: one JSON object per line, appended and never changed.
//!
//! It does not contain what was said to the model; the session's log does.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// An action, or an attempted one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct AuditEntry {
    /// Time, in milliseconds since 1970.
    pub at: i64,
    /// Name of the token; none if the client was not authenticated.
    pub who: Option<String>,
    /// Id of the token.
    pub token: Option<String>,
    /// The action, such as `message.send`.
    pub action: String,
    /// The session concerned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// Details, such as which request was answered and how.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// HTTP status of the response.
    pub status: u16,
    /// Address of the client.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peer: Option<String>,
    /// Id of the HTTP request, which is also in the server's log.
    pub request: String,
}

/// The audit log. Cloning gives another handle to the same one.
#[derive(Debug, Clone)]
pub struct Audit {
    path: Arc<Path>,
    file: Arc<Mutex<File>>,
}

/// Bytes read at a time when the file is read backwards.
const STEP: u64 = 64 * 1024;

impl Audit {
    /// Opens this file for appending.
    ///
    /// # Errors
    /// If the file cannot be opened.
    pub fn open(path: PathBuf) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        options.create(true).append(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = options.open(&path)?;
        Ok(Self { path: path.into(), file: Arc::new(Mutex::new(file)) })
    }

    /// Adds an entry with a single write, so that entries of two servers would not mix.
    pub fn add(&self, entry: &AuditEntry) {
        let Ok(mut line) = serde_json::to_vec(entry) else { return };
        line.push(b'\n');
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        if let Err(error) = file.write_all(&line) {
            tracing::error!(%error, action = entry.action, "cannot write to the audit log");
        }
    }

    /// The newest entries before an offset in the file (by default its end), newest first, and the offset before which
    /// there are more.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn read(&self, before: Option<u64>, limit: usize) -> io::Result<(Vec<AuditEntry>, Option<u64>)> {
        let mut file = File::open(&self.path)?;
        let end = before.unwrap_or(u64::MAX).min(file.metadata()?.len());
        let (mut start, mut tail) = (end, Vec::new());
        // One more line than wanted: the first one may be incomplete.
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
            // A line cut off by a full disk is skipped; it stays in the file.
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
    fn paging_backwards_misses_nothing() {
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
    fn a_truncated_line_is_skipped() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("audit.ndjson");
        std::fs::write(&path, "{\"at\":1\n").unwrap();
        let audit = Audit::open(path).unwrap();
        audit.add(&entry(2));
        assert_eq!(audit.read(None, 10).unwrap().0, [entry(2)]);
    }
}
