//! Tasks from elsewhere, such as an issue tracker: a program prints them as JSON, and they become a list in the loop's own
//! folder. What the run has done stays done there, whatever the program prints later.

use std::collections::BTreeSet;
use std::path::PathBuf;

use serde::Deserialize;
use serde_json::{Map, Value, json};
use weir_base::error::with_causes;
use weir_process::PlainCommand;

use super::folders::Folders;
use crate::config::{Config, TaskSource};
use crate::state::write_atomically;

/// Why there are no tasks from elsewhere.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SourceError {
    /// The program failed.
    #[error("the program that prints the tasks failed ({command}): {why}")]
    Failed {
        /// The program and its arguments.
        command: String,
        /// How it failed.
        why: String,
    },
    /// It printed something else.
    #[error(
        "the program that prints the tasks ({command}) printed no tasks: {why}; it has to print \
         [{{\"id\": …, \"title\": …, \"description\": …}}]"
    )]
    NoTasks {
        /// The program and its arguments.
        command: String,
        /// What is wrong.
        why: String,
    },
    /// The list cannot be written.
    #[error("cannot write {}: {source}", path.display())]
    System {
        /// The file.
        path: PathBuf,
        /// The underlying error.
        #[source]
        source: std::io::Error,
    },
}

/// What the program prints: the tasks, or an object with them.
#[derive(Deserialize)]
#[serde(untagged)]
enum Printed {
    Tasks(Vec<Map<String, Value>>),
    Within { tasks: Vec<Map<String, Value>> },
}

/// Runs the program that prints the tasks, if one is configured, and writes the list of the run.
///
/// # Errors
/// If the program fails, or prints no tasks. Then the list is as it was.
pub async fn fetch_tasks(folders: &Folders, config: &Config) -> Result<(), SourceError> {
    let Some(source) = &config.source else { return Ok(()) };
    let command = source.command.join(" ");
    let text =
        print(folders, source).await.map_err(|why| SourceError::Failed { command: command.clone(), why })?;
    let path = folders.workspace.join(&config.tasks);
    let known = std::fs::read_to_string(&path).unwrap_or_default();
    let list = list(&text, &done_in(&known)).map_err(|why| SourceError::NoTasks { command, why })?;
    if list == known {
        return Ok(());
    }
    let parent = path.parent().unwrap_or(&folders.root).to_owned();
    std::fs::create_dir_all(parent)
        .and_then(|()| write_atomically(&path, list.as_bytes()))
        .map_err(|source| SourceError::System { path, source })
}

async fn print(folders: &Folders, source: &TaskSource) -> Result<String, String> {
    let Some((program, args)) = source.command.split_first() else { return Err("it is empty".to_owned()) };
    let mut command = PlainCommand::new(program).args(args).cwd(&folders.workspace);
    command.timeout = Some(source.timeout.duration());
    command.keep_bytes = 64 << 20;
    command.purpose = "tasks".to_owned();
    let done = command.run().await.map_err(|error| with_causes(&error))?;
    match done.is_success() {
        true => Ok(done.stdout.text()),
        false if done.timed_out => Err(format!("it took longer than {}", source.timeout)),
        false => Err(format!("{}: {}", done.exit, done.stderr.text().trim())),
    }
}

/// The ids that a list marks as done.
fn done_in(list: &str) -> BTreeSet<String> {
    let list: Value = serde_json::from_str(list).unwrap_or_default();
    let stories = list.get("userStories").and_then(Value::as_array).into_iter().flatten();
    let done = stories.filter(|story| story.get("passes").and_then(Value::as_bool).unwrap_or(false));
    done.filter_map(|story| story.get("id")?.as_str().map(str::to_owned)).collect()
}

/// The list of the run, from what the program has printed.
fn list(printed: &str, done: &BTreeSet<String>) -> Result<String, String> {
    let printed: Printed = serde_json::from_str(printed).map_err(|error| error.to_string())?;
    let (Printed::Tasks(tasks) | Printed::Within { tasks }) = printed;
    let mut stories = Vec::with_capacity(tasks.len());
    for (number, mut task) in tasks.into_iter().enumerate() {
        let mut take = |names: &[&str]| names.iter().find_map(|name| task.remove(*name));
        let id = match take(&["iid", "number", "id"]) {
            Some(Value::String(id)) => id,
            Some(Value::Number(id)) => id.to_string(),
            _ => return Err(format!("task {} has no id", number + 1)),
        };
        let title = take(&["title"]).unwrap_or_else(|| id.clone().into());
        let description = take(&["description", "body", "details"]).filter(|text| !text.is_null());
        let accept = take(&["accept", "acceptanceCriteria"]).unwrap_or_else(|| json!([]));
        let needs = take(&["needs", "after"]).unwrap_or_else(|| json!([]));
        let passes = done.contains(&id) || take(&["done", "passes"]) == Some(Value::Bool(true));
        let mut story = Map::new();
        story.insert("id".to_owned(), id.into());
        story.insert("title".to_owned(), title);
        story.insert("description".to_owned(), description.unwrap_or_else(|| "".into()));
        story.insert("acceptanceCriteria".to_owned(), accept);
        story.insert("needs".to_owned(), needs);
        for name in ["touch", "model", "effort", "limits", "priority"] {
            if let Some(value) = take(&[name]).filter(|value| !value.is_null()) {
                story.insert(name.to_owned(), value);
            }
        }
        story.insert("passes".to_owned(), passes.into());
        stories.push(Value::Object(story));
    }
    serde_json::to_string_pretty(&json!({ "userStories": stories })).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tasks::{Source, TaskId, TaskList};

    fn tasks(printed: &str, done: &[&str]) -> TaskList {
        let done = done.iter().map(ToString::to_string).collect();
        TaskList::parse(Source::Prd(list(printed, &done).unwrap())).unwrap()
    }

    #[test]
    fn what_issue_trackers_print_is_a_list() {
        // `gh issue list --json number,title,body`, and `glab issue list --output json`.
        let github = r#"[{"number": 7, "title": "Fix it", "body": "At length."}, {"number": 8, "title": "Then this", "body": null, "needs": ["7"]}]"#;
        let list = tasks(github, &["7"]);
        assert_eq!(
            (list.tasks[0].id.as_str(), list.tasks[0].details.as_str(), list.tasks[0].done),
            ("7", "At length.", true)
        );
        assert_eq!((list.tasks[1].needs.as_slice(), list.tasks[1].done), (&[TaskId::new("7")][..], false));
        let gitlab = r#"{"tasks": [{"iid": 3, "id": 999, "title": "A", "description": "b", "model": "opus", "accept": ["c"]}]}"#;
        let list = tasks(gitlab, &[]);
        assert_eq!(list.tasks[0].options.model.as_deref(), Some("opus"));
        assert_eq!(list.tasks[0].acceptance, ["c"]);
    }

    #[test]
    fn what_is_no_list_says_why() {
        let none = BTreeSet::new();
        assert!(list("not found", &none).is_err());
        assert!(list(r#"[{"title": "x"}]"#, &none).unwrap_err().contains("task 1 has no id"));
    }

    #[test]
    fn what_was_done_stays_done() {
        let first = list(r#"[{"id": "a"}, {"id": "b"}]"#, &BTreeSet::from(["b".to_owned()])).unwrap();
        assert_eq!(done_in(&first), BTreeSet::from(["b".to_owned()]));
        let again = list(r#"[{"id": "b"}, {"id": "c"}]"#, &done_in(&first)).unwrap();
        assert_eq!(done_in(&again), BTreeSet::from(["b".to_owned()]));
        assert_eq!(done_in(""), BTreeSet::new());
    }
}
