//! Progress on the standard error, one line per step.

use std::collections::VecDeque;
use std::io::{IsTerminal as _, Write as _};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use weir_process::Secrets;
use weir_transcript::{Change, Entry, EntryBody, EntryId, Notice, Status, ToolCall, ToolState, View};

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
                _ => {}
            },
            Change::EntryReplaced(entry) if matches!(entry.body, EntryBody::Tool(_)) => {
                self.tool(view, entry.id);
            }
            Change::Status { status } => self.status(status),
            _ => {}
        }
    }

    fn status(&mut self, status: &Status) {
        match status {
            Status::Running => self.now("waiting for the model"),
            Status::Compacting => self.now("summarising the session"),
            Status::Background => self.now("waiting for background tasks"),
            Status::WaitingForPerson | Status::Idle | Status::Ended => self.pause(),
            _ => {}
        }
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
