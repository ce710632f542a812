//! Unified diffs: from the CLI's structured patches if there are any, otherwise computed.

use similar::{Algorithm, TextDiff};
use weir_wire::{
    EditInput, FileChangeResult, MultiEditInput, NotebookResult, PatchHunk, RawJson, Text, WriteInput,
};

use crate::view::FileChangeKind;

/// Maximum length of a diff in bytes; longer ones are cut, so that a view stays bounded.
const MAX_BYTES: usize = 256 << 10;

/// Maximum number of line pairs that are compared for a computed diff.
const MAX_COMPARISONS: usize = 4_000_000;

/// A diff with its counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Difference {
    pub(crate) kind: FileChangeKind,
    pub(crate) text: String,
    pub(crate) added: u32,
    pub(crate) removed: u32,
    pub(crate) exact: bool,
}

struct Writer {
    text: String,
    added: u32,
    removed: u32,
    cut: bool,
}

impl Writer {
    fn new(before: &str, after: &str) -> Self {
        Self { text: format!("--- {before}\n+++ {after}\n"), added: 0, removed: 0, cut: false }
    }

    fn hunk(&mut self, old: (u64, u64), new: (u64, u64)) {
        let range = |(start, lines): (u64, u64)| match lines {
            1 => start.to_string(),
            _ => format!("{start},{lines}"),
        };
        self.push(&format!("@@ -{} +{} @@\n", range(old), range(new)));
    }

    fn line(&mut self, line: &str) {
        match line.as_bytes().first() {
            Some(b'+') => self.added += 1,
            Some(b'-') => self.removed += 1,
            _ => {}
        }
        self.push(line);
        self.push("\n");
    }

    fn push(&mut self, text: &str) {
        if self.text.len() + text.len() > MAX_BYTES {
            if !self.cut {
                self.text.push_str("(the rest of the diff was left out)\n");
            }
            self.cut = true;
        }
        if !self.cut {
            self.text.push_str(text);
        }
    }

    fn finish(self, kind: FileChangeKind, exact: bool) -> Difference {
        Difference { kind, text: self.text, added: self.added, removed: self.removed, exact }
    }
}

/// The diff from a tool's structured result.
pub(crate) fn from_result(result: &FileChangeResult<'_>) -> Difference {
    let path = result.file_path.to_str();
    let kind = match result.kind {
        Some(kind) if kind == "create" => FileChangeKind::Created,
        Some(_) => FileChangeKind::Overwritten,
        None => FileChangeKind::Edited,
    };
    if kind == FileChangeKind::Created && result.structured_patch.is_empty() {
        return created(&path, &result.content.map(|text| text.to_str()).unwrap_or_default());
    }
    let mut out = Writer::new(&path, &path);
    for hunk in &result.structured_patch {
        write_hunk(&mut out, hunk);
    }
    out.finish(kind, true)
}

fn write_hunk(out: &mut Writer, hunk: &PatchHunk<'_>) {
    out.hunk((hunk.old_start, hunk.old_lines), (hunk.new_start, hunk.new_lines));
    for line in &hunk.lines {
        out.line(&line.to_str());
    }
}

fn created(path: &str, content: &str) -> Difference {
    let mut out = Writer::new("/dev/null", path);
    write_all_added(&mut out, content);
    out.finish(FileChangeKind::Created, true)
}

fn write_all_added(out: &mut Writer, content: &str) {
    let lines = content.lines().count() as u64;
    if lines > 0 {
        out.hunk((0, 0), (1, lines));
    }
    for line in content.lines() {
        out.line(&format!("+{line}"));
    }
    if !content.is_empty() && !content.ends_with('\n') {
        out.push("\\ No newline at end of file\n");
    }
}

/// The diff between two texts, and whether it was cut because it was too long.
pub(crate) fn between(path: &str, before: Option<&str>, after: &str) -> (Difference, bool) {
    let mut out = Writer::new(if before.is_some() { path } else { "/dev/null" }, path);
    match before {
        None => write_all_added(&mut out, after),
        Some(before) => write_computed(&mut out, before, after),
    }
    let (cut, kind) = (out.cut, before.map_or(FileChangeKind::Created, |_| FileChangeKind::Edited));
    (out.finish(kind, true), cut)
}

/// The diff of a `Write`, from its arguments alone: results of sub-agents have no structured form.
pub(crate) fn from_write(input: &WriteInput) -> Difference {
    let mut out = Writer::new(&input.file_path, &input.file_path);
    write_all_added(&mut out, &input.content);
    out.finish(FileChangeKind::Written, false)
}

/// The diff of an `Edit`, from its arguments alone. The line numbers count from the start of the replaced text.
pub(crate) fn from_edit(input: &EditInput) -> Difference {
    let mut out = Writer::new(&input.file_path, &input.file_path);
    write_computed(&mut out, &input.old_string, &input.new_string);
    out.finish(FileChangeKind::Edited, false)
}

/// The diff of a `MultiEdit`, from its arguments alone.
pub(crate) fn from_multi_edit(input: &MultiEditInput) -> Difference {
    let mut out = Writer::new(&input.file_path, &input.file_path);
    for edit in &input.edits {
        write_computed(&mut out, &edit.old_string, &edit.new_string);
    }
    out.finish(FileChangeKind::Edited, false)
}

/// The diff of the cell that a notebook edit changes.
pub(crate) fn from_notebook(result: &NotebookResult<'_>) -> Difference {
    let path = result.notebook_path.to_str();
    let cell = result.cell_id.map(|id| format!("{path}#{id}")).unwrap_or_else(|| path.into_owned());
    let mut out = Writer::new(&cell, &cell);
    let text = |text: Option<Text<'_>>| text.map(|text| text.to_str().into_owned()).unwrap_or_default();
    let deleted = result.edit_mode.is_some_and(|mode| mode == "delete");
    let new_source = if deleted { String::new() } else { text(result.new_source) };
    let old_source = match result.old_source {
        Some(source) => source.to_str().into_owned(),
        None => cell_before(result).unwrap_or_default(),
    };
    write_computed(&mut out, &old_source, &new_source);
    out.finish(FileChangeKind::Edited, false)
}

/// The old contents of the cell, from the original notebook: older versions do not report them separately.
fn cell_before(result: &NotebookResult<'_>) -> Option<String> {
    cell_source(&result.original_file?.to_str(), &result.cell_id?.to_str())
}

/// The source of a cell of a notebook.
pub(crate) fn cell_source(notebook: &str, id: &str) -> Option<String> {
    let cells = RawJson::parse(notebook.as_bytes()).ok()?.get("cells")?;
    let matches =
        |cell: &RawJson<'_>| cell.get("id").and_then(|id| id.as_text()).is_some_and(|found| found == id);
    let source = cells.elements().find(matches)?.get("source")?;
    // A notebook stores a cell as one string or as a list of lines.
    match source.as_text() {
        Some(text) => Some(text.to_str().into_owned()),
        None => Some(
            source
                .elements()
                .filter_map(|line| line.as_text())
                .map(|line| line.to_str().into_owned())
                .collect(),
        ),
    }
}

fn write_computed(out: &mut Writer, old: &str, new: &str) {
    if is_too_much(old, new) {
        return write_replaced(out, old, new);
    }
    let diff = TextDiff::configure().algorithm(Algorithm::Patience).diff_lines(old, new);
    for hunk in diff.unified_diff().context_radius(3).iter_hunks() {
        out.push(&format!("{}\n", hunk.header()));
        for change in hunk.iter_changes() {
            let line = change.to_string_lossy();
            out.line(&format!("{}{}", change.tag(), line.strip_suffix('\n').unwrap_or(&line)));
            if change.missing_newline() {
                out.push("\\ No newline at end of file\n");
            }
        }
    }
}

/// Whether comparing would take too long: the work grows with the product of the lines that differ.
fn is_too_much(old: &str, new: &str) -> bool {
    let same_start = old.lines().zip(new.lines()).take_while(|(a, b)| a == b).count();
    let same_end = old.lines().rev().zip(new.lines().rev()).take_while(|(a, b)| a == b).count();
    let same = same_start + same_end;
    let differing = |text: &str| text.lines().count().saturating_sub(same).max(1);
    differing(old).saturating_mul(differing(new)) > MAX_COMPARISONS
}

/// All old lines, then all new lines.
fn write_replaced(out: &mut Writer, old: &str, new: &str) {
    let count = |text: &str| text.lines().count() as u64;
    out.hunk((1, count(old)), (1, count(new)));
    for line in old.lines() {
        out.line(&format!("-{line}"));
    }
    for line in new.lines() {
        out.line(&format!("+{line}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_that_would_take_too_long_to_compare_are_shown_as_replaced() {
        let (old, new) = ("a\nb\n".repeat(100_000), "b\na\nc\n".repeat(100_000));
        let mut out = Writer::new("x", "x");
        write_computed(&mut out, &old, &new);
        assert_eq!((out.removed, out.added), (200_000, 300_000));
        assert!(out.text.len() <= MAX_BYTES + 100);
    }

    #[test]
    fn a_small_change_in_a_long_text_gives_a_small_diff() {
        let old: String = (0..50_000).map(|number| format!("line {number}\n")).collect();
        let mut out = Writer::new("x", "x");
        write_computed(&mut out, &old, &old.replace("line 25000\n", "another\n"));
        assert_eq!((out.removed, out.added), (1, 1));
    }
}
