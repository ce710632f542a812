//! `structuredPatch`: the changes to a file, as hunks with three lines of context.

use similar::{ChangeTag, TextDiff};

use crate::json::Json;
use crate::object;

/// The hunks between two texts.
pub(crate) fn structured_patch(old: &str, new: &str) -> Json {
    let diff = TextDiff::from_lines(old, new);
    let mut hunks = Vec::new();
    for group in diff.grouped_ops(3) {
        let (Some(first), Some(last)) = (group.first(), group.last()) else { continue };
        let (old_range, new_range) =
            (first.old_range().start..last.old_range().end, first.new_range().start..last.new_range().end);
        let mut lines = Vec::new();
        for change in group.iter().flat_map(|op| diff.iter_changes(op)) {
            let mark = match change.tag() {
                ChangeTag::Equal => ' ',
                ChangeTag::Delete => '-',
                ChangeTag::Insert => '+',
            };
            lines.push(format!("{mark}{}", change.value().trim_end_matches('\n')));
            if change.missing_newline() {
                lines.push("\\ No newline at end of file".to_owned());
            }
        }
        // An empty hunk names the line before it.
        let start =
            |range: &std::ops::Range<usize>| if range.is_empty() { range.start } else { range.start + 1 };
        hunks.push(object! {
            "oldStart" => start(&old_range),
            "oldLines" => old_range.len(),
            "newStart" => start(&new_range),
            "newLines" => new_range.len(),
            "lines" => lines,
        });
    }
    Json::Array(hunks)
}

#[cfg(test)]
mod tests {
    use super::structured_patch;

    #[test]
    fn hunks_match_the_recordings() {
        let patch =
            structured_patch("def add(a, b):\n    return a - b\n", "def add(a, b):\n    return a + b\n");
        assert_eq!(
            patch.to_string(),
            r#"[{"oldStart":1,"oldLines":2,"newStart":1,"newLines":2,"lines":[" def add(a, b):","-    return a - b","+    return a + b"]}]"#
        );
        let patch = structured_patch("1\ntwo\n", "x");
        assert_eq!(
            patch.to_string(),
            r#"[{"oldStart":1,"oldLines":2,"newStart":1,"newLines":1,"lines":["-1","-two","+x","\\ No newline at end of file"]}]"#
        );
        assert_eq!(structured_patch("same\n", "same\n").items().len(), 0);
    }
}
