//! The files that differ. Pure.

use std::path::PathBuf;

use crate::entry::{Entry, LINK, path_of};

/// What happened to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileStatus {
    /// It is new.
    Added,
    /// It is gone.
    Deleted,
    /// Its content or its mode is another one.
    Modified,
    /// It has another name, and maybe other content.
    Renamed,
    /// It was a file and is a link or a submodule now, or the other way round.
    Retyped,
}

/// A file that differs between the base and now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileChange {
    /// Its path now; its old path if it is gone.
    pub path: PathBuf,
    /// Its path in the base, if that is another one.
    pub old_path: Option<PathBuf>,
    /// What happened to it.
    pub status: FileStatus,
    /// What is in the base.
    pub old: Option<Entry>,
    /// What is there now.
    pub new: Option<Entry>,
    /// Numbers of added and removed lines; none for a binary file.
    pub lines: Option<(u64, u64)>,
}

impl FileChange {
    /// Whether it is a submodule, of which only the commit counts.
    pub fn is_submodule(&self) -> bool {
        [&self.old, &self.new].into_iter().flatten().any(|entry| entry.mode == LINK)
    }

    /// Whether git takes it for binary.
    pub fn is_binary(&self) -> bool {
        self.lines.is_none()
    }

    /// How many sections of a patch are about it: one that was retyped is removed and added.
    pub(super) fn sections(&self) -> usize {
        if self.status == FileStatus::Retyped { 2 } else { 1 }
    }
}

/// The output of `diff-tree -r -z --raw --numstat --find-renames`: first a record for each file, then numbers for each.
pub(super) fn parse(text: &[u8]) -> Vec<FileChange> {
    let mut parts = text.split(|byte| *byte == 0).peekable();
    let mut files = Vec::new();
    while let Some(head) = parts.next_if(|part| part.starts_with(b":")) {
        let head = String::from_utf8_lossy(head).into_owned();
        let mut words = head.trim_start_matches(':').split(' ');
        let mut word = || words.next().unwrap_or_default();
        let (old_mode, new_mode, old, new, letter) = (word(), word(), word(), word(), word());
        let entry = |mode: &str, object: &str| {
            (mode != "000000").then(|| Entry { mode: mode.to_owned(), object: object.to_owned() })
        };
        let Some(first) = parts.next() else { break };
        let status = match letter.bytes().next() {
            Some(b'A' | b'C') => FileStatus::Added,
            Some(b'D') => FileStatus::Deleted,
            Some(b'R') => FileStatus::Renamed,
            Some(b'T') => FileStatus::Retyped,
            _ => FileStatus::Modified,
        };
        let has_two = matches!(letter.bytes().next(), Some(b'R' | b'C'));
        let second = if has_two { parts.next() } else { None };
        files.push(FileChange {
            path: path_of(second.unwrap_or(first)),
            old_path: second.map(|_| path_of(first)),
            status,
            old: entry(old_mode, old),
            new: entry(new_mode, new),
            lines: None,
        });
    }
    // The numbers come in the same order.
    for file in &mut files {
        let Some(record) = parts.next() else { break };
        let mut words = record.splitn(3, |byte| *byte == b'\t');
        let mut number = || std::str::from_utf8(words.next()?).ok()?.parse::<u64>().ok();
        let (added, removed) = (number(), number());
        file.lines = added.zip(removed);
        if words.next().is_some_and(<[u8]>::is_empty) {
            // A renamed file has both names behind its numbers.
            parts.next();
            parts.next();
        }
    }
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_with_odd_names_renames_and_numbers_are_read() {
        let text = b":100644 100644 aa bb R090\0old\n\0:new\0:000000 100644 00 cc A\0-x\0:100644 000000 dd 00 D\0d e\0\
                     :100644 120000 ee ff T\0t\0:100644 100644 gg hh M\0bin\0\
                     1\t2\t\0old\n\0:new\x003\t0\t-x\x000\t4\td e\x001\t1\tt\0-\t-\tbin\0";
        let files = parse(text);
        let brief: Vec<_> = files
            .iter()
            .map(|file| (file.path.to_str().unwrap(), file.status, file.lines, file.sections()))
            .collect();
        assert_eq!(
            brief,
            [
                (":new", FileStatus::Renamed, Some((1, 2)), 1),
                ("-x", FileStatus::Added, Some((3, 0)), 1),
                ("d e", FileStatus::Deleted, Some((0, 4)), 1),
                ("t", FileStatus::Retyped, Some((1, 1)), 2),
                ("bin", FileStatus::Modified, None, 1),
            ]
        );
        assert_eq!(files[0].old_path.as_deref(), Some(std::path::Path::new("old\n")));
        assert!(files[4].is_binary() && !files[0].is_binary());
        assert_eq!(parse(b""), []);
    }
}
