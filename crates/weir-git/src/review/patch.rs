//! Patches as data. Pure.

/// The patch of one file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Patch {
    /// The lines before the first hunk, which name the file, as git printed them.
    pub(super) head: Vec<u8>,
    /// The places that differ.
    pub hunks: Vec<Hunk>,
}

/// A place where a file differs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hunk {
    /// First line in the base, from 1; 0 if the file is new.
    pub old_start: u64,
    /// Number of lines in the base.
    pub old_lines: u64,
    /// First line now.
    pub new_start: u64,
    /// Number of lines now.
    pub new_lines: u64,
    /// What git says of the place, such as the name of a function.
    pub title: String,
    /// The lines.
    pub lines: Vec<HunkLine>,
    /// The hunk as git printed it.
    pub(super) raw: Vec<u8>,
}

/// A line of a hunk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HunkLine {
    /// Where it is.
    pub kind: LineKind,
    /// Its text without the line feed. Bytes that are not UTF-8 are replaced.
    pub text: String,
    /// Whether it is the last one of a file and has no line feed.
    pub is_unended: bool,
}

/// Where a line is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineKind {
    /// In the base and now.
    Context,
    /// Only now.
    Added,
    /// Only in the base.
    Removed,
}

impl Patch {
    /// Number of lines, for limits.
    pub fn len(&self) -> usize {
        self.hunks.iter().map(|hunk| hunk.lines.len()).sum()
    }

    /// Whether there is nothing to show.
    pub fn is_empty(&self) -> bool {
        self.hunks.is_empty()
    }

    /// A patch of one hunk alone, as git reads it.
    pub(super) fn alone(&self, hunk: &Hunk) -> Vec<u8> {
        [self.head.as_slice(), hunk.raw.as_slice()].concat()
    }
}

/// The patches in the output of `diff-tree --patch`, one for each section.
pub(super) fn parse(text: &[u8]) -> Vec<Patch> {
    let mut patches: Vec<Patch> = Vec::new();
    // What the current hunk still has: lines of the base, lines of now.
    let mut left = (0_u64, 0_u64);
    for line in text.split_inclusive(|byte| *byte == b'\n') {
        let is_in_hunk = left != (0, 0);
        if !is_in_hunk && line.starts_with(b"diff --git ") {
            patches.push(Patch { head: line.to_vec(), hunks: Vec::new() });
            continue;
        }
        let Some(patch) = patches.last_mut() else { continue };
        if !is_in_hunk && let Some(hunk) = head(line) {
            left = (hunk.old_lines, hunk.new_lines);
            patch.hunks.push(hunk);
            continue;
        }
        let Some(hunk) = patch.hunks.last_mut() else {
            patch.head.extend_from_slice(line);
            continue;
        };
        hunk.raw.extend_from_slice(line);
        let (kind, rest) = match line.split_first() {
            Some((b'+', rest)) => {
                left.1 = left.1.saturating_sub(1);
                (LineKind::Added, rest)
            }
            Some((b'-', rest)) => {
                left.0 = left.0.saturating_sub(1);
                (LineKind::Removed, rest)
            }
            Some((b' ', rest)) => {
                left = (left.0.saturating_sub(1), left.1.saturating_sub(1));
                (LineKind::Context, rest)
            }
            // `\ No newline at end of file`
            Some((b'\\', _)) => {
                if let Some(last) = hunk.lines.last_mut() {
                    last.is_unended = true;
                }
                continue;
            }
            _ => continue,
        };
        let text = rest.strip_suffix(b"\n").unwrap_or(rest);
        hunk.lines.push(HunkLine {
            kind,
            text: String::from_utf8_lossy(text).into_owned(),
            is_unended: false,
        });
    }
    patches
}

/// `@@ -1,2 +3,4 @@ title`
fn head(line: &[u8]) -> Option<Hunk> {
    let text = String::from_utf8_lossy(line);
    let (ranges, title) = text.strip_prefix("@@ -")?.split_once(" @@")?;
    let (old, new) = ranges.split_once(" +")?;
    let range = |text: &str| -> Option<(u64, u64)> {
        let (start, count) = text.split_once(',').unwrap_or((text, "1"));
        Some((start.parse().ok()?, count.parse().ok()?))
    };
    let ((old_start, old_lines), (new_start, new_lines)) = (range(old)?, range(new)?);
    Some(Hunk {
        old_start,
        old_lines,
        new_start,
        new_lines,
        title: title.trim().to_owned(),
        lines: Vec::new(),
        raw: line.to_vec(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TWO: &str = "diff --git a/x b/x\nindex aa..bb 100644\n--- a/x\n+++ b/x\n@@ -1,3 +1,2 @@ fn a\n one\n--- two\n-three\n\
                       +diff --git a/y b/y\n@@ -9 +8,0 @@\n-last\n\\ No newline at end of file\n\
                       diff --git a/b.bin b/b.bin\nindex cc..dd 100644\nBinary files a/b.bin and b/b.bin differ\n";

    #[test]
    fn a_patch_is_read_and_lines_that_look_like_heads_are_lines() {
        let patches = parse(TWO.as_bytes());
        assert_eq!(patches.len(), 2);
        let hunks = &patches[0].hunks;
        assert_eq!((hunks.len(), patches[0].len()), (2, 5));
        assert_eq!((hunks[0].title.as_str(), hunks[0].old_lines, hunks[0].new_lines), ("fn a", 3, 2));
        let lines: Vec<_> = hunks[0].lines.iter().map(|line| (line.kind, line.text.as_str())).collect();
        assert_eq!(
            lines,
            [
                (LineKind::Context, "one"),
                (LineKind::Removed, "-- two"),
                (LineKind::Removed, "three"),
                (LineKind::Added, "diff --git a/y b/y"),
            ]
        );
        assert!(hunks[1].lines[0].is_unended);
        assert_eq!(
            (hunks[1].old_start, hunks[1].old_lines, hunks[1].new_start, hunks[1].new_lines),
            (9, 1, 8, 0)
        );
        assert!(patches[1].is_empty());
    }

    #[test]
    fn a_hunk_alone_is_a_patch() {
        let patches = parse(TWO.as_bytes());
        let alone = patches[0].alone(&patches[0].hunks[1]);
        assert_eq!(
            String::from_utf8(alone).unwrap(),
            "diff --git a/x b/x\nindex aa..bb 100644\n--- a/x\n+++ b/x\n@@ -9 +8,0 @@\n-last\n\\ No newline at end of file\n"
        );
    }
}
