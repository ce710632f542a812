//! Differences as patches.

use std::fmt::Write as _;

use serde_json::{Value, json};

/// A difference of version 1 as the content of a call. Without the line at which it is, it is no patch but can be shown.
pub(super) fn diff(content: &Value) -> Vec<Value> {
    let text = |name: &str| content.get(name).and_then(Value::as_str);
    let (path, old, new) =
        (text("path").unwrap_or_default(), text("oldText"), text("newText").unwrap_or_default());
    let lines = content.pointer("/_meta/weir/lines").and_then(Value::as_array).map(Vec::as_slice);
    let lines = match lines {
        Some([old, new]) => old.as_u64().zip(new.as_u64()),
        _ => old.is_none().then_some((0, 1)),
    };
    let operation = if old.is_none() { "add" } else { "modify" };
    let changes = json!([{"operation": operation, "path": path, "fileType": "text"}]);
    let body = body(old.unwrap_or_default(), new);
    let Some((from, to)) = lines else {
        let shown = crate::translate::tool::fenced_as("diff", &body);
        let shown = json!({"type": "content", "content": {"type": "text", "text": shown}});
        return vec![json!({"type": "diff", "changes": changes}), shown];
    };
    let name = quoted(path);
    let mut text = format!("diff --git {name} {name}\n");
    if old.is_none() {
        text.push_str("new file mode 100644\n");
    }
    if !body.is_empty() {
        let before = if old.is_none() { "/dev/null" } else { &name };
        let (removed, added) = (count(&body, '-'), count(&body, '+'));
        // Writing to a String cannot fail.
        let _ = write!(text, "--- {before}\n+++ {name}\n@@ -{from},{removed} +{to},{added} @@\n{body}");
    }
    vec![json!({"type": "diff", "changes": changes, "patch": {"format": "git_patch", "text": text}})]
}

/// How many lines the side with this mark has.
fn count(body: &str, mark: char) -> usize {
    body.lines().filter(|line| line.starts_with(mark) || line.starts_with(' ')).count()
}

/// The lines of a patch: what both sides begin and end with is context.
fn body(old: &str, new: &str) -> String {
    let (old, new): (Vec<&str>, Vec<&str>) =
        (old.split_inclusive('\n').collect(), new.split_inclusive('\n').collect());
    let before = old.iter().zip(&new).take_while(|(old, new)| old == new).count();
    let (old_rest, new_rest) = (old.get(before..).unwrap_or_default(), new.get(before..).unwrap_or_default());
    let after = old_rest.iter().rev().zip(new_rest.iter().rev()).take_while(|(old, new)| old == new).count();
    let cut = |rest: &[&str]| rest.len() - after;
    let mut body = String::new();
    let mut push = |mark: char, lines: Option<&[&str]>| {
        for line in lines.unwrap_or_default() {
            body.push(mark);
            body.push_str(line);
            if !line.ends_with('\n') {
                body.push_str("\n\\ No newline at end of file\n");
            }
        }
    };
    push(' ', old.get(..before));
    push('-', old_rest.get(..cut(old_rest)));
    push('+', new_rest.get(..cut(new_rest)));
    push(' ', old_rest.get(cut(old_rest)..));
    body
}

/// A path as Git writes it.
fn quoted(path: &str) -> String {
    let is_usual = |byte: u8| (0x20..0x7f).contains(&byte) && byte != b'"' && byte != b'\\';
    if path.bytes().all(is_usual) {
        return path.to_owned();
    }
    let mut name = String::from("\"");
    for byte in path.bytes() {
        match byte {
            b'"' => name.push_str("\\\""),
            b'\\' => name.push_str("\\\\"),
            b'\n' => name.push_str("\\n"),
            b'\t' => name.push_str("\\t"),
            byte if is_usual(byte) => name.push(char::from(byte)),
            byte => {
                let _ = write!(name, "\\{byte:03o}");
            }
        }
    }
    name.push('"');
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    fn patch(content: &Value) -> String {
        diff(content)[0]["patch"]["text"].as_str().unwrap().to_owned()
    }

    #[test]
    fn a_hunk_is_a_patch_with_context() {
        let content = json!({
            "type": "diff", "path": "/a b", "oldText": "one\ntwo\nthree\n", "newText": "one\n2\nthree\n",
            "_meta": {"weir": {"lines": [4, 5]}},
        });
        assert_eq!(
            patch(&content),
            "diff --git /a b /a b\n--- /a b\n+++ /a b\n@@ -4,3 +5,3 @@\n one\n-two\n+2\n three\n"
        );
        assert_eq!(
            diff(&content)[0]["changes"],
            json!([{"operation": "modify", "path": "/a b", "fileType": "text"}])
        );
    }

    #[test]
    fn a_new_file_is_added_from_nothing() {
        let content = json!({"type": "diff", "path": "/ü\"", "newText": "x"});
        let expected = "diff --git \"/\\303\\274\\\"\" \"/\\303\\274\\\"\"\nnew file mode 100644\n--- /dev/null\n\
                        +++ \"/\\303\\274\\\"\"\n@@ -0,0 +1,1 @@\n+x\n\\ No newline at end of file\n";
        assert_eq!(patch(&content), expected);
    }

    #[test]
    fn without_its_line_a_difference_is_only_shown() {
        let found = diff(&json!({"type": "diff", "path": "/a", "oldText": "1", "newText": "2"}));
        assert!(found[0].get("patch").is_none(), "{found:?}");
        assert!(found[1]["content"]["text"].as_str().unwrap().starts_with("```diff\n-1\n"), "{found:?}");
    }
}
