//! Unified diffs as the pairs of texts that editors show.

use std::path::Path;

use agent_client_protocol::v1::schema::Diff;
use serde_json::json;

use super::meta;

/// A place where a file changes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Hunk {
    /// The first line in the old file; absent if the diff does not say.
    pub(crate) old_line: Option<u32>,
    /// The first line in the new file, counted from one; absent if the diff does not say.
    pub(crate) line: Option<u32>,
    pub(crate) old: String,
    pub(crate) new: String,
}

impl Hunk {
    /// The hunk for an editor. A hunk that replaces nothing at the beginning of a file is a new file.
    pub(crate) fn of_file(&self, path: &str, is_new: bool) -> Diff {
        let mut diff = Diff::new(Path::new(path), self.new.clone());
        if let (Some(old), Some(new)) = (self.old_line, self.line) {
            diff = diff.meta(meta("weir", json!({"lines": [old, new]})));
        }
        if is_new && self.old.is_empty() { diff } else { diff.old_text(self.old.clone()) }
    }
}

/// The hunks of a unified diff. Lines that are not part of a hunk are skipped.
pub(crate) fn hunks(unified: &str) -> Vec<Hunk> {
    let mut hunks: Vec<Hunk> = Vec::new();
    // Which sides the line before was on: `\ No newline at end of file` is about it.
    let mut before = ' ';
    for line in unified.lines() {
        if line.starts_with("@@") {
            let line = |mark| first_line(line, mark);
            hunks.push(Hunk {
                old_line: line('-'),
                line: line('+').filter(|line| *line > 0),
                ..Hunk::default()
            });
            continue;
        }
        let Some(hunk) = hunks.last_mut() else { continue };
        let (mark, text) = match line.chars().next() {
            Some(mark @ (' ' | '+' | '-' | '\\')) => (mark, line.get(1..).unwrap_or_default()),
            // An empty line of context whose space was removed.
            None => (' ', ""),
            Some(_) => continue,
        };
        if mark == '\\' {
            for (side, text) in [('-', &mut hunk.old), ('+', &mut hunk.new)] {
                if before == ' ' || before == side {
                    text.truncate(text.trim_end_matches('\n').len());
                }
            }
            continue;
        }
        for (other, side) in [('+', &mut hunk.old), ('-', &mut hunk.new)] {
            if mark != other {
                side.push_str(text);
                side.push('\n');
            }
        }
        before = mark;
    }
    hunks
}

/// `@@ -1,2 +3,4 @@` begins at line 1 of the old and at line 3 of the new file.
fn first_line(header: &str, side: char) -> Option<u32> {
    let part = header.split(' ').find_map(|part| part.strip_prefix(side))?;
    part.split(',').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hunks_have_both_sides() {
        let unified = "--- a\n+++ b\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n@@ -9 +9,2 @@\n nine\n+ten\n";
        let found = hunks(unified);
        assert_eq!(found.len(), 2);
        assert_eq!(
            found[0],
            Hunk {
                old_line: Some(1),
                line: Some(1),
                old: "one\ntwo\nthree\n".into(),
                new: "one\n2\nthree\n".into()
            }
        );
        assert_eq!(
            found[1],
            Hunk { old_line: Some(9), line: Some(9), old: "nine\n".into(), new: "nine\nten\n".into() }
        );
    }

    #[test]
    fn a_missing_line_feed_is_missing_on_its_side_only() {
        let found = hunks("@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b\n");
        assert_eq!(found[0], Hunk { old_line: Some(1), line: Some(1), old: "a".into(), new: "b\n".into() });
    }

    #[test]
    fn what_is_no_diff_has_no_hunks() {
        assert!(hunks("hello\n+there\n").is_empty());
        assert_eq!(hunks("@@ nonsense\n+x")[0].line, None);
    }

    #[test]
    fn a_new_file_has_no_old_text() {
        let hunk = Hunk { line: Some(1), new: "x\n".into(), ..Hunk::default() };
        assert_eq!(hunk.of_file("/a", true).old_text, None);
        assert_eq!(hunk.of_file("/a", false).old_text.as_deref(), Some(""));
    }
}
