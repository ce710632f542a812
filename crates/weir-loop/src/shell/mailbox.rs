//! The mailbox: how another process sends something to a running loop.
//!
//! Each mail is a file that is first written under another name, so that it is never read half-written.

use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use weir_base::time::now_ms;

use crate::instant;
use crate::state::write_atomically;
use crate::tasks::TaskId;

/// A request from another process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "mail", rename_all = "snake_case")]
pub enum Mail {
    /// Answers a question.
    Answer {
        /// The question: its id, the start of its id, or its task. `None` for the only one.
        question: Option<String>,
        /// The answers, in the order of the questions; `yes` or `no` for a permission.
        answers: Vec<String>,
        /// Who answers.
        by: String,
    },
    /// Skips a task.
    Skip {
        /// The task.
        task: TaskId,
    },
    /// Retries a task.
    Retry {
        /// The task.
        task: TaskId,
    },
}

/// The folder of mails.
#[derive(Debug, Clone)]
pub struct Mailbox {
    folder: PathBuf,
    /// Mails that were read and not removed yet.
    read: Vec<PathBuf>,
}

impl Mailbox {
    /// The mailbox in a folder.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into(), read: Vec::new() }
    }

    /// Sends a mail.
    pub fn send(&self, mail: &Mail) -> io::Result<()> {
        std::fs::create_dir_all(&self.folder)?;
        // Starts with the time, so that mails are read in order.
        let name = format!("{:016}-{}.json", now_ms(), uuid::Uuid::new_v4().simple());
        write_atomically(&self.folder.join(name), &serde_json::to_vec(mail)?)
    }

    /// Reads the new mails, oldest first. They stay until [`Mailbox::forget`], so that a kill before they are in the
    /// saved state does not lose them. Files that are not valid mails are set aside and returned.
    pub fn take(&mut self) -> (Vec<Mail>, Vec<PathBuf>) {
        let (mut mails, mut invalid) = (Vec::new(), Vec::new());
        for path in self.files() {
            if self.read.contains(&path) {
                continue;
            }
            let read = std::fs::read(&path).ok().and_then(|text| serde_json::from_slice(&text).ok());
            if let Some(mail) = read {
                mails.push(mail);
                self.read.push(path);
            } else {
                let aside = path.with_extension("unread");
                if std::fs::rename(&path, &aside).is_ok() {
                    invalid.push(aside);
                }
            }
        }
        (mails, invalid)
    }

    /// Removes the mails that were read.
    pub fn forget(&mut self) {
        if !self.read.is_empty() {
            instant::begin();
            // A mail that cannot be removed is not read again by this process.
            self.read.retain(|path| std::fs::remove_file(path).is_err() && path.exists());
            instant::reached("a mail was removed");
        }
    }

    fn files(&self) -> Vec<PathBuf> {
        let Ok(entries) = std::fs::read_dir(&self.folder) else { return Vec::new() };
        let is_mail = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "json");
        let mut files: Vec<PathBuf> =
            entries.filter_map(|entry| Some(entry.ok()?.path())).filter(is_mail).collect();
        files.sort();
        files
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mails_come_in_order_and_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("mailbox");
        let mut mailbox = Mailbox::new(&path);
        assert_eq!(mailbox.take(), (Vec::new(), Vec::new()));
        let skip = |name: &str| Mail::Skip { task: TaskId::new(name) };
        mailbox.send(&skip("a")).unwrap();
        std::fs::write(folder.path().join("mailbox/garbage.json"), "{").unwrap();
        let (mails, invalid) = mailbox.take();
        assert_eq!((mails, invalid.len()), (vec![skip("a")], 1));
        assert_eq!(mailbox.take(), (Vec::new(), Vec::new()));
        // A run that was killed before it saved the mail finds it again.
        assert_eq!(Mailbox::new(&path).take().0, [skip("a")]);
        mailbox.forget();
        assert_eq!(Mailbox::new(&path).take().0, []);
    }
}
