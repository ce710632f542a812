//! What git lists: entries of trees and indexes, differences between trees, paths. Pure.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// The mode of a tree entry that points to a commit of another repository.
pub const LINK: &str = "160000";

/// The mode of a tree entry that is a symbolic link.
pub const SYMLINK: &str = "120000";

/// A file in a tree: its mode and its object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The mode, in octal digits.
    pub mode: String,
    /// The object's id.
    pub object: String,
}

/// A file that differs between two trees.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// The path, from the top of the repository.
    pub path: PathBuf,
    /// What was there.
    pub old: Option<Entry>,
    /// What is there now.
    pub new: Option<Entry>,
}

/// The output of `diff-tree -z --raw --no-renames`.
pub fn parse_raw_diff(text: &[u8]) -> Vec<Change> {
    let mut parts = text.split(|byte| *byte == 0);
    let mut changes = Vec::new();
    while let (Some(head), Some(path)) = (parts.next(), parts.next()) {
        let head = String::from_utf8_lossy(head).into_owned();
        let mut words = head.trim_start_matches(':').split(' ');
        let (old_mode, new_mode) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let (old, new) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let entry = |mode: &str, object: &str| {
            (mode != "000000").then(|| Entry { mode: mode.to_owned(), object: object.to_owned() })
        };
        changes.push(Change { path: path_of(path), old: entry(old_mode, old), new: entry(new_mode, new) });
    }
    changes
}

/// The output of `ls-tree -z`.
pub fn parse_tree(text: &[u8]) -> Vec<(PathBuf, Entry)> {
    let entry = |line: &[u8]| {
        let (head, path) = head_and_path(line)?;
        let mut words = head.split(' ');
        let (mode, _, object) = (words.next()?, words.next()?, words.next()?);
        Some((path, Entry { mode: mode.to_owned(), object: object.to_owned() }))
    };
    text.split(|byte| *byte == 0).filter_map(entry).collect()
}

/// The output of `ls-files --stage -z`, without files in conflict.
pub fn parse_index(text: &[u8]) -> Vec<(PathBuf, Entry)> {
    let entry = |line: &[u8]| {
        let (head, path) = head_and_path(line)?;
        let mut words = head.split(' ');
        let (mode, object, stage) = (words.next()?, words.next()?, words.next()?);
        let entry = Entry { mode: mode.to_owned(), object: object.to_owned() };
        (stage == "0").then_some((path, entry))
    };
    text.split(|byte| *byte == 0).filter_map(entry).collect()
}

fn head_and_path(line: &[u8]) -> Option<(String, PathBuf)> {
    let cut = line.iter().position(|byte| *byte == b'\t')?;
    let head = String::from_utf8_lossy(line.get(..cut)?).into_owned();
    Some((head, path_of(line.get(cut + 1..)?)))
}

/// A path as git prints it.
pub fn path_of(bytes: &[u8]) -> PathBuf {
    #[cfg(unix)]
    return PathBuf::from(<OsStr as std::os::unix::ffi::OsStrExt>::from_bytes(bytes));
    #[cfg(not(unix))]
    return PathBuf::from(String::from_utf8_lossy(bytes).into_owned());
}

/// A path as git reads it.
pub fn bytes_of(path: &Path) -> Vec<u8> {
    #[cfg(unix)]
    return std::os::unix::ffi::OsStrExt::as_bytes(path.as_os_str()).to_vec();
    #[cfg(not(unix))]
    return path.to_string_lossy().replace('\\', "/").into_bytes();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_raw_diff_with_odd_names_is_read() {
        let text =
            b":100644 000000 aa 00 D\0a\tb\n\0:000000 120000 00 bb A\0-x\0:100644 100755 cc cc M\0d e\0";
        let changes = parse_raw_diff(text);
        let names: Vec<_> = changes.iter().map(|change| change.path.to_str().unwrap()).collect();
        assert_eq!(names, ["a\tb\n", "-x", "d e"]);
        assert_eq!((changes[0].new.as_ref(), changes[1].old.as_ref()), (None, None));
        assert_eq!(changes[1].new.as_ref().unwrap().mode, SYMLINK);
        assert_eq!(changes[2].new.as_ref().unwrap().mode, "100755");
        assert_eq!(parse_raw_diff(b""), []);
    }

    #[test]
    fn entries_in_conflict_are_left_out_of_an_index() {
        let index = parse_index(b"100644 aa 0\tx\ty\x00100644 bb 1\tz\x00100644 cc 2\tz\0");
        let x = Entry { mode: "100644".into(), object: "aa".into() };
        assert_eq!(index, [(PathBuf::from("x\ty"), x.clone())]);
        assert_eq!(parse_tree(b"100644 blob aa\tx\0"), [(PathBuf::from("x"), x)]);
    }
}
