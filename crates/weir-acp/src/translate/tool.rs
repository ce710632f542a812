//! Tool calls as editors show them.

use std::path::{Path, PathBuf};

use agent_client_protocol::v1::schema::{
    Content, ContentBlock, Diff, TextContent, ToolCallContent, ToolCallLocation, ToolCallStatus, ToolKind,
};
use serde_json::Value;
use weir_transcript::{FileChange, FileChangeKind, Output, ToolCall, ToolDetail, ToolState};

use super::diff::hunks;

/// Longest title, in characters.
const MAX_TITLE: usize = 200;

/// Tools that keep a to-do list, which editors show as a plan.
const TODO_TOOLS: [&str; 5] = ["TodoWrite", "TaskCreate", "TaskUpdate", "TaskList", "TaskGet"];

/// Whether a call is shown by the plan that it changes, and not as a call.
pub(crate) fn is_plan_keeping(call: &ToolCall) -> bool {
    TODO_TOOLS.contains(&call.name.as_str()) && !call.state.is_error()
}

/// What a tool does.
pub(crate) fn kind(name: &str) -> ToolKind {
    match name {
        "Read" | "NotebookRead" | "ReadMcpResourceTool" => ToolKind::Read,
        "Edit" | "MultiEdit" | "Write" | "NotebookEdit" => ToolKind::Edit,
        "Bash" | "BashOutput" | "KillShell" | "PowerShell" => ToolKind::Execute,
        "Grep" | "Glob" | "LS" | "ToolSearch" | "ListMcpResourcesTool" => ToolKind::Search,
        "WebFetch" | "WebSearch" => ToolKind::Fetch,
        "Task" | "Agent" | "TodoWrite" | "TaskCreate" | "TaskUpdate" => ToolKind::Think,
        "ExitPlanMode" | "EnterPlanMode" => ToolKind::SwitchMode,
        _ => ToolKind::Other,
    }
}

/// The state of a call.
pub(crate) fn status(state: ToolState) -> ToolCallStatus {
    match state {
        ToolState::Running => ToolCallStatus::InProgress,
        ToolState::Succeeded => ToolCallStatus::Completed,
        ToolState::Failed | ToolState::Denied | ToolState::Interrupted | ToolState::Unknown => {
            ToolCallStatus::Failed
        }
        // Its arguments are streaming in, or a person has to allow it, or a state that is newer than this.
        _ => ToolCallStatus::Pending,
    }
}

/// What a call does, in a line.
pub(crate) fn title(name: &str, subject: &str) -> String {
    let subject = weir_base::text::one_line(subject);
    let text = match (kind(name), subject.is_empty()) {
        (ToolKind::Execute, false) => format!("`{}`", subject.replace('`', "'")),
        (_, false) => format!("{name} {subject}"),
        (_, true) if name.is_empty() => "tool".to_owned(),
        (_, true) => name.to_owned(),
    };
    text.chars().take(MAX_TITLE).collect()
}

/// The files that a call is about.
pub(crate) fn locations(input: &Value, detail: &ToolDetail, cwd: Option<&str>) -> Vec<ToolCallLocation> {
    let named = ["file_path", "notebook_path", "path"].iter().find_map(|key| input.get(key)?.as_str());
    let (path, read_from) = match detail {
        ToolDetail::FileRead { path, start_line, .. } => (Some(path.as_str()), *start_line),
        ToolDetail::FileChanged { path, .. } => (Some(path.as_str()), None),
        _ => (named, None),
    };
    let Some(path) = path.filter(|path| !path.is_empty()) else { return Vec::new() };
    let line = read_from.or_else(|| input.get("offset")?.as_u64());
    let line = line.and_then(|line| u32::try_from(line).ok());
    vec![ToolCallLocation::new(absolute(path, cwd)).line(line)]
}

fn absolute(path: &str, cwd: Option<&str>) -> PathBuf {
    match cwd {
        Some(cwd) => Path::new(cwd).join(path),
        None => PathBuf::from(path),
    }
}

/// What a call would do to files, by its arguments.
pub(crate) fn proposed(name: &str, input: &Value) -> Vec<ToolCallContent> {
    let text = |value: &Value, key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
    let Some(path) = text(input, "file_path").or_else(|| text(input, "notebook_path")) else {
        return Vec::new();
    };
    let edit = |value: &Value| {
        let (old, new) = (text(value, "old_string")?, text(value, "new_string")?);
        let diff = Diff::new(Path::new(&path), new);
        Some(ToolCallContent::Diff(if old.is_empty() { diff } else { diff.old_text(old) }))
    };
    match name {
        "Edit" => edit(input).into_iter().collect(),
        "MultiEdit" => {
            let edits = input.get("edits").and_then(Value::as_array);
            edits.into_iter().flatten().filter_map(edit).collect()
        }
        "Write" => {
            let content = text(input, "content");
            content.map(|content| Diff::new(Path::new(&path), content).into()).into_iter().collect()
        }
        "NotebookEdit" => {
            let source = text(input, "new_source");
            source.map(|source| Diff::new(Path::new(&path), source).into()).into_iter().collect()
        }
        _ => Vec::new(),
    }
}

/// The arguments of a call, complete: a title is one line, and what is cut off or folded there could be what matters.
pub(crate) fn arguments(name: &str, input: &Value) -> Vec<ToolCallContent> {
    let text = match input.get("command").and_then(Value::as_str).filter(|_| kind(name) == ToolKind::Execute)
    {
        Some(command) => weir_transcript::reveal_command(command),
        None if input.as_object().is_none_or(serde_json::Map::is_empty) => return Vec::new(),
        None => super::shown(&serde_json::to_string_pretty(input).unwrap_or_default()),
    };
    vec![text_content(fenced(&text))]
}

/// What a call did to files.
pub(crate) fn changed(files: &[&FileChange]) -> Vec<ToolCallContent> {
    let of = |file: &&FileChange| {
        let is_new = file.kind == FileChangeKind::Created;
        let path = file.path.clone();
        hunks(&file.diff).into_iter().map(move |hunk| hunk.of_file(&path, is_new).into())
    };
    files.iter().flat_map(of).collect()
}

/// The lines at which a call changed files.
pub(crate) fn changed_locations(files: &[&FileChange]) -> Vec<ToolCallLocation> {
    let of = |file: &&FileChange| {
        let (path, exact) = (file.path.clone(), file.exact);
        let found = hunks(&file.diff);
        found
            .into_iter()
            .map(move |hunk| ToolCallLocation::new(Path::new(&path)).line(hunk.line.filter(|_| exact)))
    };
    files.iter().flat_map(of).collect()
}

/// The output of a call as text; empty where there is none.
pub(crate) fn output_text(output: &Output) -> String {
    let mut text = output.text.to_str().into_owned();
    if let Some(tail) = &output.tail {
        text.push_str("\n[…]\n");
        text.push_str(&tail.to_str());
    }
    text
}

/// The output of a call. What a command printed and what a file holds is not Markdown, so it is fenced.
pub(crate) fn output(call: &ToolCall) -> Option<ToolCallContent> {
    let mut text = call.output.as_ref().map(output_text).unwrap_or_default();
    if let ToolDetail::Command { stderr, .. } = &call.detail
        && !stderr.trim().is_empty()
        && !text.contains(stderr.trim())
    {
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        text.push_str(stderr);
    }
    if text.trim().is_empty() {
        return None;
    }
    let is_markdown = matches!(call.detail, ToolDetail::Agent | ToolDetail::Plan { .. })
        || matches!(kind(&call.name), ToolKind::Fetch | ToolKind::Think);
    Some(text_content(if is_markdown { text } else { fenced(&text) }))
}

/// A text as the content of a call.
pub(crate) fn text_content(text: impl Into<String>) -> ToolCallContent {
    ToolCallContent::Content(Content::new(ContentBlock::Text(TextContent::new(text))))
}

/// A block of code around a text, with a fence that the text does not have.
pub(crate) fn fenced(text: &str) -> String {
    fenced_as("", text)
}

/// The same for a text in this language.
pub(crate) fn fenced_as(language: &str, text: &str) -> String {
    let longest = text.lines().map(|line| line.trim_start().chars().take_while(|c| *c == '`').count()).max();
    let fence = "`".repeat(longest.unwrap_or(0).max(2) + 1);
    format!("{fence}{language}\n{}\n{fence}", text.trim_end_matches('\n'))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn titles_are_one_line() {
        assert_eq!(title("Bash", "ls\n  -l"), "`ls -l`");
        assert_eq!(title("Bash", "echo `id`"), "`echo 'id'`");
        assert_eq!(title("Read", "/a/b"), "Read /a/b");
        assert_eq!(title("mcp__a__b", ""), "mcp__a__b");
        assert_eq!(title("", ""), "tool");
        assert_eq!(title("Bash", &"x".repeat(1000)).chars().count(), MAX_TITLE);
    }

    #[test]
    fn arguments_are_shown_as_what_they_would_do() {
        let edit = proposed("Edit", &json!({"file_path": "/a", "old_string": "1", "new_string": "2"}));
        assert_eq!(edit, [ToolCallContent::Diff(Diff::new("/a", "2").old_text("1".to_owned()))]);
        let write = proposed("Write", &json!({"file_path": "/a", "content": "x"}));
        assert_eq!(write, [ToolCallContent::Diff(Diff::new("/a", "x"))]);
        let edits = json!([{"old_string": "a", "new_string": "b"}, {"old_string": 7}]);
        assert_eq!(proposed("MultiEdit", &json!({"file_path": "/a", "edits": edits})).len(), 1);
        assert!(proposed("Bash", &json!({"command": "ls"})).is_empty());
        assert!(proposed("Edit", &json!({"file_path": 3})).is_empty());
    }

    #[test]
    fn arguments_are_shown_complete_and_hide_nothing() {
        let shown = |name: &str, input: &Value| serde_json::to_string(&arguments(name, input)).unwrap();
        let command = format!("ls {}; rm -rf \u{202e}x", "\n".repeat(40));
        let bash = shown("Bash", &json!({"command": command, "description": "Lists files"}));
        assert!(bash.contains("rm -rf ⟨U+202E⟩x") && bash.contains("blank lines"), "{bash}");
        let long = format!("echo {}; rm -rf x", "y".repeat(5000));
        assert!(shown("Bash", &json!({"command": long})).contains("; rm -rf x"));
        let call = shown("mcp__db__drop", &json!({"table": "users", "really": true}));
        assert!(call.contains("users") && call.contains("really"), "{call}");
        assert!(arguments("x", &json!({})).is_empty());
    }

    #[test]
    fn relative_paths_are_below_the_folder() {
        let found = locations(&json!({"path": "src", "offset": 7}), &ToolDetail::None, Some("/srv"));
        assert_eq!(found, [ToolCallLocation::new("/srv/src").line(7)]);
        assert!(locations(&json!({"command": "ls"}), &ToolDetail::None, Some("/srv")).is_empty());
    }

    #[test]
    fn a_fence_is_longer_than_those_inside() {
        assert_eq!(fenced("a\n"), "```\na\n```");
        assert_eq!(fenced("```\nx\n```"), "````\n```\nx\n```\n````");
    }
}
