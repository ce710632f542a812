//! Files that come with messages: fetched in the background, and only for people who may talk to the agent.
//!
//! A message waits for its files for a limited time, and its conversation waits with it. Other conversations do not.

use crate::channel::Attachment;

use super::records::{FileState, InboxId, InboxRecord, Kind, put};
use super::scope::Scope;
use super::{Action, Bridge, words};

impl InboxRecord {
    /// Whether a file has not been fetched yet.
    pub(super) fn waits_for_files(&self) -> bool {
        self.files.iter().any(|file| matches!(file, FileState::Wanted(_)))
    }

    /// Attaches the fetched files, and mentions the missing ones in the text.
    fn attach_files(&mut self) {
        for file in std::mem::take(&mut self.files) {
            match file {
                FileState::There(attachment) => self.attachments.push(attachment),
                FileState::Missing(words) if self.text.is_empty() => self.text = words,
                FileState::Missing(words) => self.text = format!("{}\n\n{words}", self.text),
                FileState::Wanted(_) => {}
            }
        }
    }
}

impl Bridge {
    /// Starts fetching the files of a waiting message.
    pub(super) fn fetch_files(&mut self, id: InboxId) {
        let until = self.now + self.settings.fetch_timeout_ms;
        let Some(record) = self.inbox.get_mut(&id) else { return };
        record.fetch_until = until;
        for (index, file) in record.files.iter().enumerate() {
            let FileState::Wanted(file) = file else { continue };
            self.actions.push(Action::Fetch {
                message: id,
                index,
                place: record.place.clone(),
                file: file.clone(),
                blob: format!("{}/{}/{index}", record.place.channel, record.delivery),
            });
        }
    }

    /// A file was fetched, or could not be.
    pub(super) fn fetched(&mut self, id: InboxId, index: usize, result: Result<Attachment, String>) {
        // The message may have been dropped, or the file given up.
        let Some(record) = self.inbox.get_mut(&id) else { return };
        let Some(file) = record.files.get_mut(index) else { return };
        let FileState::Wanted(wanted) = file else { return };
        *file = match result {
            Ok(attachment) => FileState::There(attachment),
            Err(reason) => FileState::Missing(words::no_file(&wanted.name, &reason)),
        };
        if !record.waits_for_files() {
            self.files_complete(id);
        }
    }

    fn files_complete(&mut self, id: InboxId) {
        let Some(record) = self.inbox.get_mut(&id) else { return };
        record.attach_files();
        let (scope, change) = (record.scope.clone(), put(Kind::Inbox, id.key(), record));
        self.change(change);
        self.step_scope(&scope);
    }

    /// Leaves out files that take too long.
    pub(super) fn give_up_files(&mut self, key: &str) {
        let now = self.now;
        let Some(scope) = self.scopes.get(key) else { return };
        let is_late = |id: &InboxId| {
            self.inbox.get(id).is_some_and(|record| record.waits_for_files() && record.fetch_until <= now)
        };
        let late: Vec<InboxId> = scope.waiting.iter().map(|(_, id)| *id).filter(is_late).collect();
        for id in late {
            let Some(record) = self.inbox.get_mut(&id) else { continue };
            for file in &mut record.files {
                if let FileState::Wanted(wanted) = file {
                    *file = FileState::Missing(words::no_file(&wanted.name, words::TOO_SLOW));
                }
            }
            record.attach_files();
            let change = put(Kind::Inbox, id.key(), record);
            self.change(change);
        }
    }

    /// When the files of waiting messages are given up.
    pub(super) fn files_deadline(&self, scope: &Scope) -> Option<i64> {
        let records = scope.waiting.iter().filter_map(|(_, id)| self.inbox.get(id));
        records.filter(|record| record.waits_for_files()).map(|record| record.fetch_until).min()
    }
}
