//! Previews what a tool call would do to the file it writes, from its arguments and the file's current content.
//!
//! Pure: the caller reads the file and passes its content. Used wherever a person is asked for permission.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::diff;

/// Changes that would produce a larger text are not computed: a short call can ask for gigabytes.
const MAX_BYTES: usize = 4 << 20;

/// What a tool call would do to the file it writes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct FilePreview {
    /// The file, with symbolic links resolved as far as the path exists.
    pub path: String,
    /// What would happen to it.
    pub effect: FileEffect,
    /// The change as a unified diff; `None` if it cannot be computed.
    pub diff: Option<String>,
    /// Lines that would be added.
    pub added: u32,
    /// Lines that would be removed.
    pub removed: u32,
    /// Whether the diff was cut because it is too long.
    pub cut: bool,
    /// Why the diff is missing.
    pub reason: Option<String>,
}

/// What would happen to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum FileEffect {
    /// It does not exist and would be created.
    Creates,
    /// It exists, and its whole content would be replaced.
    Replaces,
    /// It exists, and a part of it would change.
    Edits,
}

/// The file that a call would write; `None` if the call does not write a file.
pub fn proposed_path<'a>(tool: &str, input: &'a Value) -> Option<&'a str> {
    let member = match tool {
        "Write" | "Edit" | "MultiEdit" => "file_path",
        "NotebookEdit" => "notebook_path",
        _ => return None,
    };
    input.get(member).and_then(Value::as_str).filter(|path| !path.is_empty())
}

impl FilePreview {
    /// The preview of a call of this tool for a file with the content `before`, which is `None` if the file
    /// does not exist.
    pub fn of(tool: &str, input: &Value, path: &str, before: Option<&str>) -> Self {
        match proposed(tool, input, before) {
            Err(reason) => Self::without_diff(path, effect(tool, before.is_some()), reason),
            Ok((old, new)) => {
                let (difference, cut) = diff::between(path, old.as_deref(), &new);
                Self {
                    path: path.to_owned(),
                    effect: effect(tool, before.is_some()),
                    diff: Some(difference.text),
                    added: difference.added,
                    removed: difference.removed,
                    cut,
                    reason: None,
                }
            }
        }
    }

    /// The preview of a call for an existing file whose content may not or cannot be shown.
    pub fn hidden(tool: &str, path: &str, reason: impl Into<String>) -> Self {
        Self::without_diff(path, effect(tool, true), reason.into())
    }

    fn without_diff(path: &str, effect: FileEffect, reason: String) -> Self {
        let path = path.to_owned();
        Self { path, effect, diff: None, added: 0, removed: 0, cut: false, reason: Some(reason) }
    }
}

fn effect(tool: &str, exists: bool) -> FileEffect {
    match (tool, exists) {
        (_, false) => FileEffect::Creates,
        ("Write", true) => FileEffect::Replaces,
        (_, true) => FileEffect::Edits,
    }
}

/// The texts before and after, or why the call would fail.
fn proposed(tool: &str, input: &Value, before: Option<&str>) -> Result<(Option<String>, String), String> {
    let text = |input: &Value, name: &str| {
        let value = input.get(name).and_then(Value::as_str).map(str::to_owned);
        value.ok_or_else(|| format!("the call has no string `{name}`"))
    };
    let old = before.map(str::to_owned);
    match tool {
        "Write" => Ok((old, bounded(text(input, "content")?)?)),
        "Edit" => Ok((old, edited(before, input)?)),
        "MultiEdit" => {
            let edits = input.get("edits").and_then(Value::as_array).ok_or("the call has no edits")?;
            let mut content = old.clone();
            for edit in edits {
                content = Some(edited(content.as_deref(), edit)?);
            }
            Ok((old, content.unwrap_or_default()))
        }
        "NotebookEdit" => {
            let mode = input.get("edit_mode").and_then(Value::as_str).unwrap_or("replace");
            let cell = input.get("cell_id").and_then(Value::as_str).unwrap_or_default();
            let new = if mode == "delete" { String::new() } else { bounded(text(input, "new_source")?)? };
            if mode == "insert" {
                return Ok((Some(String::new()), new));
            }
            let cell = before.and_then(|notebook| diff::cell_source(notebook, cell));
            Ok((Some(cell.ok_or("the notebook has no such cell")?), new))
        }
        _ => Err("the call does not write a file".to_owned()),
    }
}

fn bounded(text: String) -> Result<String, String> {
    if text.len() > MAX_BYTES { Err(too_large()) } else { Ok(text) }
}

fn too_large() -> String {
    format!("the change is larger than {} MiB", MAX_BYTES >> 20)
}

/// The text after one replacement, computed as the tool does.
fn edited(before: Option<&str>, edit: &Value) -> Result<String, String> {
    let text = |name: &str| edit.get(name).and_then(Value::as_str).unwrap_or_default();
    let (old, new) = (text("old_string"), text("new_string"));
    let Some(before) = before else {
        return match old {
            "" => Ok(new.to_owned()),
            _ => Err("the file does not exist, so the edit would fail".to_owned()),
        };
    };
    let grown = |count: usize| before.len().saturating_add(count.saturating_mul(new.len())) > MAX_BYTES;
    let all = edit.get("replace_all").and_then(Value::as_bool).unwrap_or(false);
    match (old, before.matches(old).take(2).count()) {
        ("", _) if before.is_empty() => Ok(new.to_owned()),
        ("", _) => Err("the file is not empty, so the edit would fail".to_owned()),
        (_, count) if grown(if all { before.matches(old).count() } else { count }) => Err(too_large()),
        (_, 0) => Err("the text to replace is not in the file, so the edit would fail".to_owned()),
        (_, _) if all => Ok(before.replace(old, new)),
        (_, 1) => Ok(before.replacen(old, new, 1)),
        _ => Err("the text to replace is in the file more than once, so the edit would fail".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn of(tool: &str, input: &Value, before: Option<&str>) -> FilePreview {
        FilePreview::of(tool, input, "/w/a", before)
    }

    #[test]
    fn an_overwrite_shows_the_removed_lines() {
        let write = json!({"file_path": "/w/a", "content": "one\nthree\n"});
        let preview = of("Write", &write, Some("one\ntwo\n"));
        assert_eq!((preview.effect, preview.added, preview.removed), (FileEffect::Replaces, 1, 1));
        assert_eq!(
            preview.diff.as_deref(),
            Some("--- /w/a\n+++ /w/a\n@@ -1,2 +1,2 @@\n one\n-two\n+three\n")
        );
        let preview = of("Write", &write, None);
        assert_eq!((preview.effect, preview.added, preview.removed), (FileEffect::Creates, 2, 0));
        let emptied = of("Write", &json!({"file_path": "/w/a", "content": ""}), Some("a\nb\n"));
        assert_eq!((emptied.effect, emptied.added, emptied.removed), (FileEffect::Replaces, 0, 2));
    }

    #[test]
    fn an_edit_is_shown_with_the_lines_around_it() {
        let edit = json!({"file_path": "/w/a", "old_string": "b", "new_string": "B"});
        let preview = of("Edit", &edit, Some("a\nb\nc\n"));
        assert_eq!(preview.effect, FileEffect::Edits);
        assert_eq!(preview.diff.as_deref(), Some("--- /w/a\n+++ /w/a\n@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n"));
        assert!(of("Edit", &edit, Some("b\nb\n")).reason.unwrap().contains("more than once"));
        assert!(of("Edit", &edit, Some("x")).reason.unwrap().contains("not in the file"));
        assert!(of("Edit", &edit, None).reason.unwrap().contains("does not exist"));
        let all = json!({"file_path": "/w/a", "old_string": "b", "new_string": "B", "replace_all": true});
        assert_eq!(of("Edit", &all, Some("b\nb\n")).added, 2);
        let new = json!({"file_path": "/w/a", "old_string": "", "new_string": "x\n"});
        assert_eq!(of("Edit", &new, None).effect, FileEffect::Creates);
        let several = json!({"file_path": "/w/a", "edits": [
            {"old_string": "a", "new_string": "b"}, {"old_string": "b", "new_string": "c"}]});
        assert_eq!(of("MultiEdit", &several, Some("a\n")).added, 1);
    }

    #[test]
    fn a_short_call_cannot_ask_for_gigabytes() {
        let new = "x".repeat(1 << 20);
        let edit = json!({"file_path": "/w/a", "old_string": "a", "new_string": new, "replace_all": true});
        let preview = of("Edit", &edit, Some(&"a".repeat(1 << 20)));
        assert_eq!((preview.effect, &preview.diff), (FileEffect::Edits, &None));
        assert!(preview.reason.unwrap().contains("larger than"));
        let edits: Vec<Value> =
            (0..40).map(|_| json!({"old_string": "a", "new_string": "aa", "replace_all": true})).collect();
        let doubled = of("MultiEdit", &json!({"file_path": "/w/a", "edits": edits}), Some("a"));
        assert!(doubled.reason.unwrap().contains("larger than"));
        let write = json!({"file_path": "/w/a", "content": "x".repeat((4 << 20) + 1)});
        assert!(of("Write", &write, None).reason.is_some());
    }

    #[test]
    fn a_notebook_cell_is_compared_on_its_own() {
        let notebook = r#"{"cells": [{"id": "c1", "source": ["print(1)\n"]}]}"#;
        let edit = json!({"notebook_path": "/w/a", "cell_id": "c1", "new_source": "print(2)\n"});
        let preview = of("NotebookEdit", &edit, Some(notebook));
        assert_eq!((preview.added, preview.removed), (1, 1));
        let delete = json!({"notebook_path": "/w/a", "cell_id": "c1", "edit_mode": "delete"});
        assert_eq!(of("NotebookEdit", &delete, Some(notebook)).removed, 1);
        let none = json!({"notebook_path": "/w/a", "cell_id": "c2", "new_source": ""});
        assert!(of("NotebookEdit", &none, Some(notebook)).reason.is_some());
    }

    #[test]
    fn only_calls_that_write_files_have_a_path() {
        assert_eq!(proposed_path("Write", &json!({"file_path": "a"})), Some("a"));
        assert_eq!(proposed_path("NotebookEdit", &json!({"notebook_path": "n"})), Some("n"));
        for (tool, input) in
            [("Read", json!({"file_path": "a"})), ("Write", json!({})), ("Write", json!({"file_path": ""}))]
        {
            assert_eq!(proposed_path(tool, &input), None);
        }
    }
}
