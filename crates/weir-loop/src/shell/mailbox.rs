//! The mailbox: how another process tells a running loop something.
//!
//! Each mail is a file that is written under another name first, so that nobody reads half of one.

use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::instant;
use crate::state::write_atomically;
use crate::tasks::TaskId;

/// What somebody wants.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "mail", rename_all = "snake_case")]
pub enum Mail {
    /// Answers a question.
    Answer {
        /// Which: its id, or the beginning of it, or its task. None for the only one.
        question: Option<String>,
        /// The answers, in the order of the questions; `yes` or `no` for a permission.
        answers: Vec<String>,
        /// Who answers.
        by: String,
    },
    /// Leaves a task out.
    Skip {
        /// The task.
        task: TaskId,
    },
    /// Tries a task again.
    Retry {
        /// The task.
        task: TaskId,
    },
}

/// The folder of mails.
#[derive(Debug, Clone)]
pub struct Mailbox {
    folder: PathBuf,
    /// Mails that were read and are still there.
    read: Vec<PathBuf>,
}

impl Mailbox {
    /// The mailbox in a folder.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into(), read: Vec::new() }
    }

    /// Leaves a mail.
    pub fn send(&self, mail: &Mail) -> io::Result<()> {
        std::fs::create_dir_all(&self.folder)?;
        // The time in front, so that they are read in order.
        let name = format!("{:016}-{}.json", crate::time::unix_ms(), uuid::Uuid::new_v4().simple());
        write_atomically(&self.folder.join(name), &serde_json::to_vec(mail)?)
    }

    /// Reads the mails that have come, oldest first. They stay until they are forgotten, so that a kill before what
    /// they want is written down does not lose them. What is no mail is put aside, and told.
    pub fn take(&mut self) -> (Vec<Mail>, Vec<PathBuf>) {
        let (mut mails, mut odd) = (Vec::new(), Vec::new());
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
                    odd.push(aside);
                }
            }
        }
        (mails, odd)
    }

    /// Removes the mails that were read.
    pub fn forget(&mut self) {
        if !self.read.is_empty() {
            instant::begin();
            // One that cannot be removed is not read again by us.
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
        let (mails, odd) = mailbox.take();
        assert_eq!((mails, odd.len()), (vec![skip("a")], 1));
        assert_eq!(mailbox.take(), (Vec::new(), Vec::new()));
        // Whoever is killed before it is written down finds it again.
        assert_eq!(Mailbox::new(&path).take().0, [skip("a")]);
        mailbox.forget();
        assert_eq!(Mailbox::new(&path).take().0, []);
    }
}
