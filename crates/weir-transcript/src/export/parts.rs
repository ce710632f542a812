//! What to show of a tool call, for both formats.

use std::collections::HashMap;

use super::clean::{one_line, plain, short};
use super::outline::Item;
use super::words;
use crate::view::{Agent, Entry, EntryBody, EntryId, FileChange, Output, ToolCall, ToolDetail, View};

/// Looks things up while a view is written.
pub(super) struct Finder<'v> {
    view: &'v View,
    files: HashMap<EntryId, Vec<&'v FileChange>>,
}

/// A tool call, in parts.
pub(super) struct ToolParts<'v> {
    pub(super) name: String,
    pub(super) title: String,
    /// State, time and who allowed it.
    pub(super) remarks: Vec<String>,
    pub(super) is_error: bool,
    /// The arguments: the language, and the text.
    pub(super) input: Option<(&'static str, String)>,
    pub(super) files: Vec<&'v FileChange>,
    pub(super) detail: &'v ToolDetail,
    pub(super) output: Option<String>,
    pub(super) images: u32,
    pub(super) agent: Option<&'v Agent>,
}

impl<'v> Finder<'v> {
    pub(super) fn new(view: &'v View) -> Self {
        let mut files: HashMap<EntryId, Vec<&FileChange>> = HashMap::new();
        for file in &view.files {
            files.entry(file.entry).or_default().push(file);
        }
        Self { view, files }
    }

    pub(super) fn tool(&self, entry: &Entry, tool: &'v ToolCall) -> ToolParts<'v> {
        let agent = self.view.agent(&tool.id);
        let files = self.files.get(&entry.id).cloned().unwrap_or_default();
        let mut remarks: Vec<String> = words::tool_state(tool.state).map(str::to_owned).into_iter().collect();
        let request = tool.request.as_ref().and_then(|id| self.view.request(id)).and_then(words::request);
        remarks.extend(request.map(|request| short(&request, 200)));
        remarks.extend(tool.duration_ms.map(weir_base::time::duration_text));
        if let Some(agent) = agent {
            remarks.push(words::agent_state(agent.state).to_owned());
            remarks.extend(agent.agent_type.as_deref().map(one_line));
            remarks.extend(agent.background.then(|| "in the background".to_owned()));
        }
        let name = if tool.name.is_empty() { "a tool".to_owned() } else { one_line(&tool.name) };
        ToolParts {
            name,
            title: short(title(tool), 160),
            remarks,
            is_error: tool.state.is_settled() && words::tool_state(tool.state).is_some(),
            input: input(tool, !files.is_empty()),
            files,
            detail: &tool.detail,
            output: tool.output.as_ref().map(output).filter(|text| !text.trim().is_empty()),
            images: tool.output.as_ref().map_or(0, |output| output.images),
            agent,
        }
    }
}

fn title(tool: &ToolCall) -> &str {
    match &tool.detail {
        ToolDetail::Questions { questions, .. } if tool.title.is_empty() => {
            questions.first().map(|question| question.question.as_str()).unwrap_or_default()
        }
        _ => &tool.title,
    }
}

impl ToolParts<'_> {
    /// What a sub-agent was asked, unless its entries show it.
    pub(super) fn shown_prompt(&self, inside: &[Item<'_>]) -> Option<&str> {
        let is_user = |item: &Item<'_>| matches!(item.entry.body, EntryBody::User(_));
        self.agent?.prompt.as_deref().filter(|_| !inside.iter().any(is_user))
    }

    /// The tool's output, unless something else shows it: a diff, or the text of a sub-agent. For a sub-agent
    /// in the background, the output only says that it was started.
    pub(super) fn shown_output(&self, inside: &[Item<'_>]) -> Option<&str> {
        let is_text = |item: &Item<'_>| matches!(item.entry.body, EntryBody::Text(_));
        let is_covered = self.agent.is_some_and(|agent| agent.background) || inside.iter().any(is_text);
        let is_shown = self.is_error || (self.files.is_empty() && !is_covered);
        self.output.as_deref().filter(|_| is_shown)
    }
}

/// The arguments, unless something else shows them.
fn input(tool: &ToolCall, has_diff: bool) -> Option<(&'static str, String)> {
    let json = tool.input.to_value();
    if let Some(command) = json.get("command").and_then(|command| command.as_str()) {
        return Some(("sh", plain(command).into_owned()));
    }
    let is_shown = has_diff
        || !matches!(
            tool.detail,
            ToolDetail::None | ToolDetail::FileRead { .. } | ToolDetail::Command { .. }
        );
    // Nothing, or only what the title says.
    let is_empty = json.is_null()
        || json.as_object().is_some_and(|members| {
            members.len() < 2 && members.values().all(|value| value.as_str() == Some(tool.title.as_str()))
        });
    if is_shown || is_empty {
        return (!tool.input_text.is_empty()).then(|| ("json", plain(&tool.input_text).into_owned()));
    }
    let pretty = serde_json::to_string_pretty(&json).unwrap_or_default();
    Some(("json", plain(&pretty).into_owned()))
}

fn output(output: &Output) -> String {
    let text = output.text.to_str();
    let mut whole = plain(&text).into_owned();
    if let Some(tail) = &output.tail {
        let (tail, bytes) = (tail.to_str(), words::number(output.bytes));
        whole.push_str(&format!("\n… cut: {bytes} bytes in total …\n"));
        whole.push_str(&plain(&tail));
    }
    whole
}

/// The changed files, each once, with the total of added and removed lines.
#[derive(Debug, Default)]
pub(super) struct Totals {
    rows: Vec<(String, u64, u64)>,
    places: HashMap<String, usize>,
}

impl Totals {
    pub(super) fn of(files: &[FileChange]) -> Self {
        let mut totals = Self::default();
        files.iter().for_each(|file| totals.add(file));
        totals
    }

    pub(super) fn add(&mut self, file: &FileChange) {
        let place = match self.places.get(&file.path) {
            Some(place) => *place,
            None => {
                self.rows.push((file.path.clone(), 0, 0));
                self.places.insert(file.path.clone(), self.rows.len() - 1);
                self.rows.len() - 1
            }
        };
        if let Some((_, added, removed)) = self.rows.get_mut(place) {
            *added += u64::from(file.added);
            *removed += u64::from(file.removed);
        }
    }

    pub(super) fn rows(&self) -> &[(String, u64, u64)] {
        &self.rows
    }
}
