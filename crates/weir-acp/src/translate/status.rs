//! What an editor shows around the conversation: plan, usage, commands, title, mode and model.

use agent_client_protocol::v1::schema::{
    AvailableCommand, AvailableCommandInput, AvailableCommandsUpdate, ConfigOptionUpdate, Cost,
    CurrentModeUpdate, Plan, PlanEntry, PlanEntryPriority, PlanEntryStatus, SessionInfoUpdate, SessionUpdate,
    UnstructuredCommandInput, UsageUpdate,
};
use weir_base::time::Utc;
use weir_host::SessionInfo;
use weir_transcript::{Todo, View};

use super::children::Updates;
use super::options::{self, Chosen};
use crate::guard::Offer;

/// Tokens that a model takes, where its name does not say otherwise. The CLI does not report it.
const WINDOW: u64 = 200_000;
/// The same for models with a long context, which have it in their name.
const LONG_WINDOW: u64 = 1_000_000;

/// What the editor knows.
#[derive(Debug)]
pub(crate) struct Status {
    offer: Offer,
    todos: Vec<Todo>,
    usage: Option<(u64, u64, Option<f64>)>,
    commands: Option<Vec<String>>,
    title: Option<String>,
    chosen: Option<Chosen>,
    /// The mode as the CLI and the settings told it last: whichever changes is the newer one.
    reported_mode: Option<String>,
    set_mode: Option<String>,
}

impl Status {
    pub(crate) fn new(offer: Offer) -> Self {
        Self {
            offer,
            todos: Vec::new(),
            usage: None,
            commands: None,
            title: None,
            chosen: None,
            reported_mode: None,
            set_mode: None,
        }
    }

    /// Tells what is new in the view.
    pub(crate) fn view(&mut self, view: &View, updates: &mut Updates) {
        let todos = view.todos.iter().find(|list| list.agent.is_none());
        let todos = todos.map(|list| list.items.clone()).unwrap_or_default();
        if self.todos != todos {
            self.todos = todos;
            updates.push(SessionUpdate::Plan(Plan::new(self.todos.iter().map(plan_entry).collect())));
        }
        let commands = commands(&self.offer.commands, &view.session.slash_commands);
        if self.commands.as_ref() != Some(&commands) {
            let list = commands.iter().map(|name| command(name)).collect();
            updates.push(SessionUpdate::AvailableCommandsUpdate(AvailableCommandsUpdate::new(list)));
            self.commands = Some(commands);
        }
        self.used(view, updates);
        let reported = view.session.permission_mode.clone();
        if reported.is_some() && reported != self.reported_mode {
            self.reported_mode.clone_from(&reported);
            if let Some(chosen) = self.chosen.clone() {
                self.choose(&Chosen { mode: reported.unwrap_or_default(), ..chosen }, updates);
            }
        }
    }

    /// Tells what is new in the summary.
    pub(crate) fn info(&mut self, info: &SessionInfo, updates: &mut Updates) {
        let title = info.name.clone().or_else(|| info.title.clone());
        if title.is_some() && self.title != title {
            let update = SessionInfoUpdate::new().title(title.clone()).updated_at(timestamp(info.updated_at));
            updates.push(SessionUpdate::SessionInfoUpdate(update));
            self.title = title;
        }
        let now = Chosen::of(info);
        let set_mode = Some(now.mode.clone());
        let mode = match &self.chosen {
            Some(before) if self.set_mode == set_mode => before.mode.clone(),
            // At first the CLI knows better, if it has said something.
            None => self.reported_mode.clone().filter(|_| info.has_process).unwrap_or(now.mode),
            Some(_) => now.mode,
        };
        self.set_mode = set_mode;
        let now = Chosen { mode, ..now };
        if self.chosen.is_none() {
            // The response to the request that opened the session says so too.
            self.chosen = Some(now);
        } else {
            self.choose(&now, updates);
        }
    }

    fn choose(&mut self, now: &Chosen, updates: &mut Updates) {
        let Some(before) = self.chosen.replace(now.clone()) else { return };
        if before == *now {
            return;
        }
        if before.mode != now.mode {
            let update = CurrentModeUpdate::new(now.mode.clone());
            updates.push(SessionUpdate::CurrentModeUpdate(update));
        }
        let update = ConfigOptionUpdate::new(options::options(&self.offer, now));
        updates.push(SessionUpdate::ConfigOptionUpdate(update));
    }

    /// The tokens that the last answer of the main agent had before it, and what everything has cost.
    fn used(&mut self, view: &View, updates: &mut Updates) {
        let Some(last) = view.usages.iter().rfind(|usage| usage.parent.is_none()) else { return };
        let tokens = last.usage;
        let used = tokens.input_tokens
            + tokens.cache_read_input_tokens
            + tokens.cache_creation_input_tokens
            + tokens.output_tokens;
        let model = last.model.as_deref().or(view.session.model.as_deref()).unwrap_or_default();
        let size = if model.contains("[1m]") { LONG_WINDOW } else { WINDOW };
        let now = (used, size.max(used), view.cost.usd);
        if self.usage == Some(now) {
            return;
        }
        self.usage = Some(now);
        let cost = now.2.map(|usd| Cost::new(usd, "USD"));
        updates.push(SessionUpdate::UsageUpdate(UsageUpdate::new(now.0, now.1).cost(cost)));
    }
}

/// A time as the protocol writes it.
pub(crate) fn timestamp(at: i64) -> String {
    Utc::from_ms(at).rfc3339()
}

fn plan_entry(todo: &Todo) -> PlanEntry {
    let status = match todo.status.as_str() {
        "completed" => PlanEntryStatus::Completed,
        "in_progress" => PlanEntryStatus::InProgress,
        _ => PlanEntryStatus::Pending,
    };
    let text = match (&todo.active_form, &status) {
        (Some(active), PlanEntryStatus::InProgress) => active,
        _ => &todo.text,
    };
    PlanEntry::new(text.clone(), PlanEntryPriority::Medium, status)
}

/// The commands that may be run and that the CLI has. Before its first turn it has not said which it has.
fn commands(offered: &[String], reported: &[String]) -> Vec<String> {
    let is_there = |name: &&String| reported.is_empty() || reported.contains(name);
    offered.iter().filter(is_there).cloned().collect()
}

fn command(name: &str) -> AvailableCommand {
    let (about, hint) = match name {
        "compact" => ("Replaces the conversation by a summary", Some("what to keep")),
        "context" => ("Shows what fills the context", None),
        "cost" | "usage" => ("Shows what was used", None),
        "init" => ("Writes a CLAUDE.md for this project", None),
        "review" | "code-review" => ("Reviews a pull request or changes", Some("what to review")),
        "security-review" => ("Looks for security problems in the changes", None),
        _ => ("A command of Claude Code", Some("arguments")),
    };
    let input = hint.map(|hint| AvailableCommandInput::Unstructured(UnstructuredCommandInput::new(hint)));
    AvailableCommand::new(name.to_owned(), about.to_owned()).input(input)
}
