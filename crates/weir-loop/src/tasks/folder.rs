//! A folder of Markdown files, one task each, in the order of their names.
//!
//! A file may start with a header between two `---` lines: `id`, `title`, `needs`, `status`. Without it, the first
//! heading is the title, and the file name is the task's id. The list below a heading `Acceptance` holds the
//! conditions. The loop writes `status: done`.

use std::path::{Path, PathBuf};

use super::slug::{Namer, is_plain, slug};
use super::{Task, TaskError, TaskId, TaskOptions};

/// The header of a file, and the rest.
struct Head<'a> {
    lines: Vec<(&'a str, &'a str)>,
    body: &'a str,
}

fn head(text: &str) -> Head<'_> {
    let none = Head { lines: Vec::new(), body: text };
    let Some(rest) =
        text.strip_prefix("---").and_then(|rest| rest.trim_start_matches([' ', '\r']).strip_prefix('\n'))
    else {
        return none;
    };
    let mut lines = Vec::new();
    let mut at = 0;
    for line in rest.split_inclusive('\n') {
        at += line.len();
        let line = line.trim_end();
        if line == "---" {
            return Head { lines, body: rest.get(at..).unwrap_or_default() };
        }
        if let Some((key, value)) = line.split_once(':') {
            lines.push((key.trim(), value.trim()));
        }
    }
    none
}

fn value<'a>(head: &Head<'a>, key: &str) -> Option<&'a str> {
    head.lines.iter().find(|(name, _)| name.eq_ignore_ascii_case(key)).map(|(_, value)| *value)
}

/// Whether a file of the folder is a task.
pub(crate) fn is_task(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    name.ends_with(".md") && !name.starts_with('.') && !name.eq_ignore_ascii_case("README.md")
}

fn names(files: &[(PathBuf, String)]) -> Vec<TaskId> {
    let mut namer = Namer::default();
    let name = |(path, text): &(PathBuf, String)| {
        let given = value(&head(text), "id").filter(|id| is_plain(id)).map(str::to_owned);
        let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
        given.unwrap_or_else(|| if is_plain(stem) { stem.to_owned() } else { slug(stem) })
    };
    files.iter().map(|file| namer.given(&name(file))).collect()
}

pub(super) fn parse(files: &[(PathBuf, String)]) -> Result<Vec<Task>, TaskError> {
    let ids = names(files);
    let task = |((file, text), id): (&(PathBuf, String), TaskId)| {
        task(text, id).map_err(|why| TaskError::File { file: file.clone(), why })
    };
    files.iter().zip(ids).map(task).collect()
}

fn task(text: &str, id: TaskId) -> Result<Task, String> {
    let head = head(text);
    let mut options = TaskOptions::default();
    for (key, value) in &head.lines {
        options.take(key, value).unwrap_or(Ok(()))?;
    }
    let mut details = String::new();
    let mut acceptance = Vec::new();
    let mut title = value(&head, "title").map(|title| title.trim_matches('"').to_owned());
    let mut in_acceptance = false;
    for line in head.body.lines() {
        if let Some(heading) = line.strip_prefix('#').map(|rest| rest.trim_start_matches('#').trim()) {
            in_acceptance = heading.to_ascii_lowercase().starts_with("acceptance");
            if title.is_none() && !in_acceptance {
                title = Some(heading.to_owned());
                continue;
            }
            if in_acceptance {
                continue;
            }
        }
        let bullet = line.trim_start().strip_prefix(['-', '*']).map(|rest| {
            let rest = rest.trim_start();
            ["[ ]", "[x]", "[X]"].iter().find_map(|mark| rest.strip_prefix(mark)).unwrap_or(rest).trim()
        });
        match bullet.filter(|bullet| in_acceptance && !bullet.is_empty()) {
            Some(condition) => acceptance.push(condition.to_owned()),
            None => {
                details.push_str(line);
                details.push('\n');
            }
        }
    }
    let needs = value(&head, "needs").unwrap_or_default().trim_matches(['[', ']']);
    let needs = needs.split(',').map(str::trim).filter(|need| !need.is_empty()).map(TaskId::new).collect();
    let touch = value(&head, "touch").unwrap_or_default().trim_matches(['[', ']']);
    let touch =
        touch.split(',').map(str::trim).filter(|pattern| !pattern.is_empty()).map(str::to_owned).collect();
    Ok(Task {
        title: title.filter(|title| !title.is_empty()).unwrap_or_else(|| id.to_string()),
        id,
        context: Vec::new(),
        details: details.trim().to_owned(),
        acceptance,
        needs,
        touch,
        options,
        done: value(&head, "status").is_some_and(|status| status.eq_ignore_ascii_case("done")),
    })
}

pub(super) fn mark_done(files: &[(PathBuf, String)], id: &TaskId) -> Option<(PathBuf, String)> {
    let place = names(files).iter().position(|name| name == id)?;
    let (path, text) = files.get(place)?;
    let head = head(text);
    let edited = if head.lines.is_empty() && head.body.len() == text.len() {
        format!("---\nstatus: done\n---\n{text}")
    } else {
        let start = text.len() - head.body.len();
        let mut written = false;
        let mut edited = String::new();
        for line in text.get(..start)?.split_inclusive('\n') {
            let is_status =
                line.split_once(':').is_some_and(|(key, _)| key.trim().eq_ignore_ascii_case("status"));
            let is_end = line.trim_end() == "---" && !edited.is_empty();
            if is_status || (is_end && !written) {
                written = true;
                edited.push_str("status: done\n");
            }
            if !is_status {
                edited.push_str(line);
            }
        }
        edited + head.body
    };
    Some((path.clone(), edited))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files() -> Vec<(PathBuf, String)> {
        vec![
            (
                PathBuf::from("01-first.md"),
                "# Do the first thing\n\nText.\n\n## Acceptance\n- [ ] it works\n".to_owned(),
            ),
            (
                PathBuf::from("02.md"),
                "---\nid: second\ntitle: Then this\nneeds: 01-first\n---\nBody\n".to_owned(),
            ),
            (PathBuf::from("03.md"), "---\nstatus: done\n---\n# Old\n".to_owned()),
        ]
    }

    #[test]
    fn files_are_tasks() {
        let tasks = parse(&files()).unwrap();
        let names: Vec<(&str, &str, bool)> =
            tasks.iter().map(|t| (t.id.as_str(), t.title.as_str(), t.done)).collect();
        assert_eq!(
            names,
            [("01-first", "Do the first thing", false), ("second", "Then this", false), ("03", "Old", true)]
        );
        assert_eq!(
            (tasks[0].details.as_str(), &tasks[0].acceptance[..]),
            ("Text.", &["it works".to_owned()][..])
        );
        assert_eq!(tasks[1].needs, [TaskId::new("01-first")]);
        assert!(
            is_task(Path::new("x/01.md")) && !is_task(Path::new("README.md")) && !is_task(Path::new("a.txt"))
        );
    }

    #[test]
    fn marking_a_task_as_done_changes_only_its_header() {
        let files = files();
        let (_, text) = mark_done(&files, &TaskId::new("01-first")).unwrap();
        assert_eq!(text, format!("---\nstatus: done\n---\n{}", files[0].1));
        let (path, text) = mark_done(&files, &TaskId::new("second")).unwrap();
        assert_eq!(path, Path::new("02.md"));
        assert_eq!(text, "---\nid: second\ntitle: Then this\nneeds: 01-first\nstatus: done\n---\nBody\n");
        let (_, again) =
            mark_done(&[(PathBuf::from("x.md"), text.replace("done", "todo"))], &TaskId::new("second"))
                .unwrap();
        assert_eq!(again, text);
    }
}
