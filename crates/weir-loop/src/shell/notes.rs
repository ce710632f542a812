//! `progress.md`: what sessions learned. The loop takes it from a section at the end of their answers.

use std::io;
use std::path::Path;

use weir_base::text;

use crate::state::write_atomically;

/// Maximum size of the file, in bytes. Beyond that the oldest notes are dropped.
const MAX_FILE: usize = 256 << 10;

/// Maximum size of one session's note, in bytes.
const MAX_NOTE: usize = 4 << 10;

/// Reads the notes; empty if there are none.
pub fn read_notes(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_default()
}

/// Adds what a session learned, once. Returns whether there was anything new.
pub fn add_note(path: &Path, key: &str, title: &str, answer: &str) -> io::Result<bool> {
    let Some(note) = learned(answer) else { return Ok(false) };
    let mark = format!("<!-- {key} -->");
    let before = read_notes(path);
    if before.contains(&mark) {
        return Ok(false);
    }
    let mut text = if before.is_empty() { "# What was learned\n".to_owned() } else { before };
    text.push_str(&format!("\n## {} {mark}\n{note}\n", title.replace('\n', " ")));
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    write_atomically(path, shorten(&text).as_bytes())?;
    Ok(true)
}

/// The section `Learned` of an answer.
fn learned(answer: &str) -> Option<String> {
    let is_heading = |line: &str| line.starts_with('#');
    let is_learned =
        |line: &&str| is_heading(line) && line.trim_matches(['#', ' ', ':']).eq_ignore_ascii_case("learned");
    let mut lines = answer.lines().skip_while(|line| !is_learned(line));
    lines.next()?;
    let note: Vec<&str> = lines.take_while(|line| !is_heading(line)).collect();
    let note = note.join("\n").trim().to_owned();
    Some(text::head(&note, MAX_NOTE).to_owned()).filter(|note| !note.is_empty())
}

fn shorten(text: &str) -> String {
    if text.len() <= MAX_FILE {
        return text.to_owned();
    }
    let rest = text::tail(text, MAX_FILE);
    let whole = rest.find("\n## ").and_then(|start| rest.get(start..)).unwrap_or(rest);
    format!("# What was learned\n{whole}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_is_added_once_and_only_from_its_section() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("deep/progress.md");
        let answer = "Done.\n\n## Learned\n- tests need X\n\n## Other\nnot this";
        assert!(add_note(&path, "s1", "First\ntask", answer).unwrap());
        assert!(!add_note(&path, "s1", "First task", answer).unwrap());
        assert!(!add_note(&path, "s2", "Second", "I learned nothing").unwrap());
        assert!(add_note(&path, "s3", "Third", "# learned:\nit is fast").unwrap());
        let text = read_notes(&path);
        assert_eq!(text.matches("tests need X").count(), 1);
        assert!(text.contains("## First task <!-- s1 -->\n- tests need X\n") && !text.contains("not this"));
    }

    #[test]
    fn old_notes_are_dropped_when_there_are_too_many() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("progress.md");
        for number in 0..80 {
            let answer = format!("## Learned\n{}", format!("note {number} ").repeat(500));
            add_note(&path, &format!("s{number}"), "T", &answer).unwrap();
        }
        let text = read_notes(&path);
        assert!(text.len() <= MAX_FILE + 64 && text.contains("note 79") && !text.contains("note 0 "));
    }
}
