//! Shows a run: live on a terminal, as plain lines elsewhere, or as JSON.

use std::convert::Infallible;
use std::io::{IsTerminal as _, Write as _};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use weir_base::file::Replace;
use weir_base::time::now_ms;
use weir_loop::event::LoopEvent;
use weir_loop::state::Mirror;
use weir_loop::tasks::TaskId;
use weir_process::Secrets;

use super::frame::{Activities, Frame};
use super::lines::line;
use crate::screen::{Style, columns, size};

/// How often a terminal is repainted when nothing happens, because times keep changing.
const REPAINT: Duration = Duration::from_millis(500);

/// How often current activities are written for `status --watch`.
const WRITE_INTERVAL: Duration = Duration::from_secs(1);

/// How a run is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    Live,
    Plain,
    Json,
}

impl Form {
    pub(super) fn choose(json: bool, plain: bool) -> Self {
        let is_dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb");
        match (json, plain || is_dumb || !std::io::stdout().is_terminal()) {
            (true, _) => Self::Json,
            (_, true) => Self::Plain,
            (_, false) => Self::Live,
        }
    }
}

/// The state of the run, for those who show it.
pub(super) type SharedMirror = Arc<Mutex<Mirror>>;

/// Shows a run. Clones show the same one.
#[derive(Clone)]
pub(super) struct Screen(Arc<Mutex<Inner>>);

struct Inner {
    form: Form,
    style: Style,
    secrets: Secrets,
    mirror: SharedMirror,
    /// Whether the run is over: nothing is painted any more.
    is_over: bool,
    activities: Activities,
    /// The frame on the terminal: the number of columns of each line.
    painted: Vec<usize>,
    activity_file: PathBuf,
    written_down: Option<Instant>,
    /// Whether the output was closed.
    closed: bool,
}

impl Screen {
    pub(super) fn new(form: Form, secrets: Secrets, activity_file: PathBuf, mirror: SharedMirror) -> Self {
        Self(Arc::new(Mutex::new(Inner {
            form,
            style: Style::for_stdout(),
            secrets,
            mirror,
            is_over: false,
            activities: Activities::new(),
            painted: Vec::new(),
            activity_file,
            written_down: None,
            closed: false,
        })))
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Shows an event of the run.
    pub(super) fn event(&self, event: &LoopEvent) {
        self.lock().event(event);
    }

    /// Shows a message.
    pub(super) fn say(&self, text: &str) {
        let mut inner = self.lock();
        if inner.form == Form::Json {
            crate::exit::tell(text);
        } else {
            inner.print(text);
        }
    }

    /// Repaints periodically until the future is dropped.
    pub(super) async fn keep_fresh(&self) -> Infallible {
        let mut ticks = tokio::time::interval(REPAINT);
        loop {
            ticks.tick().await;
            self.lock().paint();
        }
    }

    /// Paints the last frame, which stays on the terminal.
    pub(super) fn finish(&self) {
        let mut inner = self.lock();
        inner.activities.clear();
        inner.paint();
        inner.painted.clear();
        inner.is_over = true;
        let _ = std::fs::remove_file(&inner.activity_file);
    }
}

impl Inner {
    fn event(&mut self, event: &LoopEvent) {
        match event {
            LoopEvent::Activity { task, text } => self.note(task, text),
            LoopEvent::Gate { task, gate, result: None } => self.note(task, gate),
            LoopEvent::Gates { task, .. } | LoopEvent::AttemptEnded { task, .. } => {
                self.activities.remove(task.as_str());
                self.written_down = None;
                self.write_down();
            }
            _ => {}
        }
        match self.form {
            Form::Json => {
                let text = serde_json::to_string(event).unwrap_or_default();
                self.write(&format!("{}\n", self.secrets.mask(&text)));
            }
            Form::Plain | Form::Live => {
                if let Some(text) = line(event, self.style) {
                    let text = self.secrets.mask(&text).into_owned();
                    self.print(&text);
                }
            }
        }
    }

    /// Notes what is being done for a task.
    fn note(&mut self, task: &TaskId, text: &str) {
        let text = self.secrets.mask(text).into_owned();
        let is_new = self.activities.get(task.as_str()).is_none_or(|(before, _)| *before != text);
        if is_new {
            self.activities.insert(task.to_string(), (text, now_ms()));
        }
        self.write_down();
    }

    /// Prints a line above the frame.
    fn print(&mut self, text: &str) {
        let clear = self.clear();
        self.write(&format!("{clear}{}\n", text.trim_end()));
        self.paint();
    }

    /// Removes the frame.
    fn clear(&mut self) -> String {
        erase(&std::mem::take(&mut self.painted), size().0)
    }

    fn paint(&mut self) {
        if self.form != Form::Live || self.is_over {
            return;
        }
        let mirror = Arc::clone(&self.mirror);
        let mirror = mirror.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(run) = mirror.run() else { return };
        let (width, height) = size();
        let frame =
            Frame { run, activities: &self.activities, now: now_ms(), width, height, style: self.style };
        let lines = frame.rows();
        let columns = lines.iter().map(|line| columns(line)).collect();
        // One write, to avoid flicker.
        let text: String = lines.iter().map(|line| format!("{line}\x1b[K\n")).collect();
        let clear = self.clear();
        self.write(&format!("{clear}{text}"));
        self.painted = columns;
    }

    fn write(&mut self, text: &str) {
        if self.closed {
            return;
        }
        let mut out = std::io::stdout().lock();
        // A closed output does not stop the run: its report is on disk.
        self.closed = out.write_all(text.as_bytes()).and_then(|()| out.flush()).is_err();
    }

    fn write_down(&mut self) {
        if self.written_down.is_some_and(|at| at.elapsed() < WRITE_INTERVAL) {
            return;
        }
        self.written_down = Some(Instant::now());
        // For `status --watch` only.
        let _ = serde_json::to_vec(&self.activities)
            .map_err(std::io::Error::from)
            .and_then(|text| Replace::new().quick().bytes(&self.activity_file, &text));
    }
}

/// The escape codes that erase lines of these widths. A terminal that was made narrower shows a line in several rows.
pub(super) fn erase(lines: &[usize], width: usize) -> String {
    let rows: usize = lines.iter().map(|columns| columns.div_ceil(width.max(1)).max(1)).sum();
    if rows == 0 { String::new() } else { format!("\x1b[{rows}A\r\x1b[J") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_wrapped_by_a_narrower_terminal_are_erased_completely() {
        assert_eq!(erase(&[], 80), "");
        assert_eq!(erase(&[80, 0, 10], 80), "\x1b[3A\r\x1b[J");
        assert_eq!(erase(&[80, 0, 10], 60), "\x1b[4A\r\x1b[J");
        assert_eq!(erase(&[5], 0), "\x1b[5A\r\x1b[J");
    }
}
