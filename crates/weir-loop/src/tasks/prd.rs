//! `prd.json`: user stories with `passes`. Only the value of `passes` is ever changed, byte for byte.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::slug::{Namer, is_plain};
use super::{Task, TaskError, TaskId, TaskOptions};

#[derive(Deserialize)]
struct Prd<'a> {
    #[serde(borrow, rename = "userStories", alias = "stories")]
    stories: Vec<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Story {
    id: serde_json::Value,
    title: String,
    description: String,
    acceptance_criteria: Vec<String>,
    needs: Vec<String>,
    depends_on: Vec<String>,
    touch: Vec<String>,
    #[serde(flatten)]
    options: TaskOptions,
    priority: f64,
    passes: bool,
}

impl Default for Story {
    fn default() -> Self {
        Self {
            id: serde_json::Value::Null,
            title: String::new(),
            description: String::new(),
            acceptance_criteria: Vec::new(),
            needs: Vec::new(),
            depends_on: Vec::new(),
            touch: Vec::new(),
            options: TaskOptions::default(),
            // Stories without a priority come last.
            priority: f64::MAX,
            passes: false,
        }
    }
}

/// The stories with their names, in the order of the file.
fn stories(text: &str) -> Result<Vec<(TaskId, Story, &RawValue)>, TaskError> {
    let invalid = |error: serde_json::Error| TaskError::Prd(error.to_string());
    let prd: Prd<'_> = serde_json::from_str(text).map_err(invalid)?;
    let mut namer = Namer::default();
    let mut found = Vec::new();
    for raw in prd.stories {
        let story: Story = serde_json::from_str(raw.get()).map_err(invalid)?;
        let name = match &story.id {
            serde_json::Value::String(name) => name.clone(),
            serde_json::Value::Number(number) => number.to_string(),
            _ => String::new(),
        };
        let id = match name.as_str() {
            "" if story.title.is_empty() => {
                return Err(TaskError::Prd("a story has neither an id nor a title".into()));
            }
            "" => namer.make_from(&story.title),
            name if is_plain(name) => namer.given(name),
            name => {
                return Err(TaskError::Prd(format!(
                    "the id {name:?} has characters other than a-z, 0-9, - and _"
                )));
            }
        };
        found.push((id, story, raw));
    }
    Ok(found)
}

pub(super) fn parse(text: &str) -> Result<Vec<Task>, TaskError> {
    let mut stories = stories(text)?;
    stories.sort_by(|(_, a, _), (_, b, _)| a.priority.total_cmp(&b.priority));
    Ok(stories
        .into_iter()
        .map(|(id, story, _)| Task {
            title: if story.title.is_empty() { id.to_string() } else { story.title },
            id,
            context: Vec::new(),
            details: story.description,
            acceptance: story.acceptance_criteria,
            needs: story.needs.into_iter().chain(story.depends_on).map(TaskId::new).collect(),
            touch: story.touch,
            options: story.options,
            done: story.passes,
        })
        .collect())
}

pub(super) fn mark_done(text: &str, id: &TaskId) -> Result<String, TaskError> {
    let stories = stories(text)?;
    let story = stories.into_iter().find(|(found, _, _)| found == id).map(|(_, _, raw)| raw);
    let Some(story) = story else { return Err(TaskError::NoSuchTask(id.clone())) };
    let invalid = |error: serde_json::Error| TaskError::Prd(error.to_string());
    let members: BTreeMap<String, &RawValue> = serde_json::from_str(story.get()).map_err(invalid)?;
    let (from, to, new) = match members.get("passes") {
        Some(value) => {
            let from = offset(text, value.get());
            (from, from + value.get().len(), "true")
        }
        // Added as the first member.
        None => {
            let from = offset(text, story.get()) + 1;
            (from, from, if members.is_empty() { "\"passes\": true" } else { "\"passes\": true, " })
        }
    };
    let (before, after) = (text.get(..from).unwrap_or_default(), text.get(to..).unwrap_or_default());
    Ok(format!("{before}{new}{after}"))
}

/// The byte offset of a part of a text.
fn offset(text: &str, part: &str) -> usize {
    part.as_ptr() as usize - text.as_ptr() as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    const PRD: &str = r#"{"project": "demo",  "userStories": [
        {"id": "US-2", "title": "Second", "priority": 2, "passes": false, "notes": "keep  me"},
        {"id": "US-1", "title": "First", "description": "Do it.", "acceptanceCriteria": ["it works"], "priority": 1},
        {"id": 3, "title": "Done", "dependsOn": ["US-1"], "passes": true}
    ]}"#;

    #[test]
    fn stories_are_sorted_by_priority() {
        let tasks = parse(PRD).unwrap();
        let names: Vec<&str> = tasks.iter().map(|task| task.id.as_str()).collect();
        assert_eq!(names, ["US-1", "US-2", "3"]);
        assert_eq!((tasks[0].details.as_str(), tasks[0].acceptance.len()), ("Do it.", 1));
        assert!(tasks[2].done && tasks[2].needs == [TaskId::new("US-1")]);
    }

    #[test]
    fn only_passes_is_changed() {
        let done = mark_done(PRD, &TaskId::new("US-2")).unwrap();
        assert_eq!(done, PRD.replace("\"passes\": false", "\"passes\": true"));
        let done = mark_done(PRD, &TaskId::new("US-1")).unwrap();
        assert_eq!(done, PRD.replace("{\"id\": \"US-1\"", "{\"passes\": true, \"id\": \"US-1\""));
        assert!(parse(&done).unwrap()[0].done);
    }

    #[test]
    fn the_error_for_an_invalid_list_says_what_it_needs() {
        for invalid in
            ["", "[]", "{}", r#"{"userStories": [{}]}"#, r#"{"userStories": [{"id": "../x", "title": "y"}]}"#]
        {
            let error = parse(invalid).unwrap_err();
            assert!(error.to_string().contains("userStories"), "{invalid}: {error}");
        }
    }
}
