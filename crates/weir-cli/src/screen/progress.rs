//! Progress on the standard error, one line per step.

use std::collections::VecDeque;
use std::io::{IsTerminal as _, Write as _};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use weir_process::Secrets;
use weir_transcript::{
    Agent, AgentState, Change, Entry, EntryBody, EntryId, HookRun, Notice, Session, Status, ToolCall,
    ToolState, View,
};

use super::clean::one_line;
use super::style::Style;
use super::words::seconds;

/// A destination for lines instead of the standard error.
pub(crate) type LineSink = Box<dyn FnMut(&str) + Send>;

/// Number of finished calls that are remembered so that they are not printed twice.
const REMEMBERED: usize = 256;

/// Maximum length of a call's name and title.
const MAX_TITLE_LENGTH: usize = 100;

/// Prints tool calls and notices. On a terminal, also shows a spinner with the current activity.
pub(crate) struct ProgressLines {
    quiet: bool,
    style: Style,
    secrets: Secrets,
    spinner: Option<ProgressBar>,
    /// The spinner's text, while it is shown.
    shown: Option<String>,
    /// Calls whose end was printed.
    printed: VecDeque<EntryId>,
    /// What was told once: servers that failed, hooks, agents that ended in the background.
    told: VecDeque<String>,
    /// The lines held back while a person is asked.
    held: Option<Vec<String>>,
    /// The destination of lines, if not the standard error.
    elsewhere: Option<LineSink>,
    /// Whether the last line of text on the same terminal, or in the same file, is incomplete.
    is_in_line: bool,
}

impl ProgressLines {
    pub(crate) fn new(quiet: bool, secrets: Secrets) -> Self {
        let style = Style::for_stderr();
        let is_dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        let spinner = (std::io::stderr().is_terminal() && !quiet && !is_dumb).then(|| {
            let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
            let style = ProgressStyle::with_template("{spinner} {elapsed:>3} {wide_msg}");
            bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()));
            bar
        });
        Self {
            quiet,
            style,
            secrets,
            spinner,
            shown: None,
            printed: VecDeque::new(),
            told: VecDeque::new(),
            held: None,
            elsewhere: None,
            is_in_line: false,
        }
    }

    pub(crate) fn change(&mut self, view: &View, change: &Change<'_>) {
        if self.quiet {
            return;
        }
        match change {
            Change::ToolEnded { entry, .. } | Change::ToolState { entry, .. } => self.tool(view, *entry),
            Change::EntryAdded(entry) => match &entry.body {
                EntryBody::Tool(_) => self.tool(view, entry.id),
                EntryBody::Notice { notice } => self.notice(notice),
                EntryBody::Thinking(_) => self.now("thinking"),
                EntryBody::Hook(hook) => self.hook(hook),
                _ => {}
            },
            Change::EntryReplaced(entry) => match &entry.body {
                EntryBody::Tool(_) => self.tool(view, entry.id),
                EntryBody::Hook(hook) => self.hook(hook),
                _ => {}
            },
            Change::Status { status } => self.status(view, status),
            Change::Session(session) => self.servers(session),
            Change::Agent(agent) => self.agent(agent),
            _ => {}
        }
    }

    fn status(&mut self, view: &View, status: &Status) {
        match status {
            Status::Running => self.activity(view),
            Status::Compacting => self.now("summarising the session"),
            Status::Background => self.now("waiting for background tasks"),
            Status::WaitingForPerson | Status::Idle | Status::Ended => self.pause(),
            _ => {}
        }
    }

    /// Shows what a turn is doing: the call that runs, or else that the model is at work.
    fn activity(&mut self, view: &View) {
        let running = view.entries.iter().rev().find_map(|entry| match &entry.body {
            EntryBody::Tool(tool) if !tool.state.is_settled() && !tool.name.is_empty() => Some((entry, tool)),
            _ => None,
        });
        match running {
            Some((entry, tool)) => self.now(&headline(entry, tool)),
            None => self.now("waiting for the model"),
        }
    }

    /// Tells once of each MCP server that cannot be used.
    fn servers(&mut self, session: &Session) {
        for server in &session.mcp_servers {
            let why = match server.status.as_str() {
                "failed" => "did not start, so its tools are missing",
                "needs-auth" => "needs a login, so its tools are missing",
                _ => continue,
            };
            self.once(&format!("the MCP server {} {why}", one_line(&server.name, MAX_TITLE_LENGTH)));
        }
    }

    /// Tells of a hook that failed.
    fn hook(&mut self, hook: &HookRun) {
        if hook.outcome.as_deref() != Some("error") {
            return;
        }
        let code = hook.exit_code.map(|code| format!(" with exit code {code}")).unwrap_or_default();
        let said = one_line(hook.output.trim(), 200);
        let said = if said.is_empty() { said } else { format!(": {said}") };
        self.once(&format!("the hook {} failed{code}{said}", one_line(&hook.name, MAX_TITLE_LENGTH)));
    }

    /// Tells of the end of an agent that ran in the background. That of any other one is the end of its call.
    fn agent(&mut self, agent: &Agent) {
        let (mark, how) = match agent.state {
            AgentState::Completed => (self.style.good("✓"), "has finished"),
            AgentState::Failed => (self.style.bad("✗"), "has failed"),
            AgentState::Stopped => (self.style.bad("✗"), "was stopped"),
            _ => return,
        };
        if !agent.background || !self.remember(format!("agent {}", agent.id)) {
            return;
        }
        self.line(&format!("{mark} {} {how}", one_line(&agent.label(), MAX_TITLE_LENGTH)));
    }

    /// Prints a warning, unless it was printed before.
    fn once(&mut self, text: &str) {
        if self.remember(text.to_owned()) {
            let mark = self.style.careful("!");
            self.line(&format!("{mark} {text}"));
        }
    }

    /// Returns whether it was not remembered before.
    fn remember(&mut self, what: String) -> bool {
        if self.told.contains(&what) {
            return false;
        }
        if self.told.len() >= REMEMBERED {
            self.told.pop_front();
        }
        self.told.push_back(what);
        true
    }

    fn tool(&mut self, view: &View, id: EntryId) {
        let Some((entry, tool)) = view.tool(id) else { return };
        if !tool.state.is_settled() {
            if !tool.name.is_empty() {
                self.now(&headline(entry, tool));
            }
            return;
        }
        if self.printed.contains(&id) {
            return;
        }
        if self.printed.len() >= REMEMBERED {
            self.printed.pop_front();
        }
        self.printed.push_back(id);
        let took = tool.duration_ms.map(|ms| format!("  {}", seconds(Duration::from_millis(ms))));
        let (mark, note) = match tool.state {
            ToolState::Succeeded => (self.style.good("✓"), ""),
            ToolState::Denied => (self.style.bad("✗"), " (not allowed)"),
            ToolState::Interrupted => (self.style.bad("✗"), " (interrupted)"),
            ToolState::Failed => (self.style.bad("✗"), " (failed)"),
            _ => (self.style.faint("?"), " (no result)"),
        };
        let took = self.style.faint(&took.unwrap_or_default());
        self.line(&format!("{mark} {}{note}{took}", headline(entry, tool)));
        if self.shown.is_some() {
            self.activity(view);
        }
    }

    fn notice(&mut self, notice: &Notice) {
        if let Some(text) = super::notices::text(notice) {
            let mark = self.style.careful("!");
            self.line(&format!("{mark} {}", one_line(&text, 500)));
        }
    }

    /// Prints a line above the spinner.
    pub(crate) fn line(&mut self, line: &str) {
        if self.quiet {
            return;
        }
        let line = self.secrets.mask(line).into_owned();
        if let Some(held) = &mut self.held {
            return held.push(line);
        }
        self.print(&line);
    }

    fn print(&mut self, line: &str) {
        let before = if std::mem::take(&mut self.is_in_line) { "\n" } else { "" };
        if let Some(elsewhere) = &mut self.elsewhere {
            return elsewhere(&format!("{before}{line}"));
        }
        let write = || {
            // One write, so that nothing comes in between. A failure cannot be reported anywhere else.
            let _ = std::io::stderr().write_all(format!("{before}{line}\n").as_bytes());
        };
        match &self.spinner {
            Some(spinner) if self.shown.is_some() => spinner.suspend(write),
            _ => write(),
        }
    }

    /// Shows the current activity, unless something else is on that line.
    pub(crate) fn now(&mut self, what: &str) {
        if self.held.is_some() || self.elsewhere.is_some() || self.is_in_line {
            return;
        }
        let Some(spinner) = &self.spinner else { return };
        let what = self.secrets.mask(what);
        if self.shown.as_deref() == Some(&*what) {
            return;
        }
        if self.shown.is_none() {
            spinner.reset();
            spinner.enable_steady_tick(Duration::from_millis(120));
        }
        spinner.reset_elapsed();
        spinner.set_message(what.clone().into_owned());
        self.shown = Some(what.into_owned());
    }

    /// Removes the spinner, so that something else can be printed.
    pub(crate) fn pause(&mut self) {
        if self.shown.take().is_some()
            && let Some(spinner) = &self.spinner
        {
            spinner.disable_steady_tick();
            spinner.finish_and_clear();
        }
    }

    /// Keeps the screen still while a person is asked.
    pub(crate) fn hold(&mut self) {
        self.pause();
        self.held.get_or_insert_default();
    }

    /// Prints the lines that were held back.
    pub(crate) fn release(&mut self) {
        for line in self.held.take().into_iter().flatten() {
            self.print(&line);
        }
    }

    /// Redirects lines, or sends them to the standard error again.
    pub(crate) fn divert(&mut self, elsewhere: Option<LineSink>) {
        self.pause();
        self.elsewhere = elsewhere;
    }

    /// Notes that text was printed on the same terminal or into the same file, and whether its last line is incomplete.
    pub(crate) fn text_printed(&mut self, ends_in_line: bool) {
        self.is_in_line = ends_in_line;
    }

    /// Whether the last line of printed text is incomplete.
    pub(crate) fn is_in_line(&self) -> bool {
        self.is_in_line
    }

    pub(crate) fn style(&self) -> Style {
        self.style
    }

    pub(crate) fn is_quiet(&self) -> bool {
        self.quiet
    }
}

impl Drop for ProgressLines {
    fn drop(&mut self) {
        self.pause();
    }
}

/// A call in one line: its tool and title, indented for a sub-agent.
pub(crate) fn headline(entry: &Entry, tool: &ToolCall) -> String {
    let indent = if entry.parent.is_some() { "  " } else { "" };
    let (name, title) = (one_line(&tool.name, MAX_TITLE_LENGTH), one_line(&tool.title, MAX_TITLE_LENGTH));
    if title.is_empty() { format!("{indent}{name}") } else { format!("{indent}{name} {title}") }
}
