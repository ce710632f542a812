//! Shows a run: live on a terminal, as plain lines elsewhere, or as JSON.

use std::io::{IsTerminal as _, Write as _};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use weir_loop::event::LoopEvent;
use weir_loop::state::RunState;
use weir_loop::time::unix_ms;
use weir_process::Secrets;

use super::frame::{Activities, Frame};
use super::lines::line;
use crate::screen::{Style, columns};

/// How often a terminal is painted again although nothing happened: times go on.
const REPAINT: Duration = Duration::from_millis(500);

/// How often what goes on is written down for `status --watch`.
const WRITE_DOWN: Duration = Duration::from_secs(1);

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

/// Shows a run. Clones show the same one.
#[derive(Clone)]
pub(super) struct Screen(Arc<Mutex<Inner>>);

struct Inner {
    form: Form,
    style: Style,
    secrets: Secrets,
    run: Option<RunState>,
    activities: Activities,
    /// The frame that is on the terminal: how many columns each of its lines takes.
    painted: Vec<usize>,
    activity_file: PathBuf,
    written_down: Option<Instant>,
    /// Whether the reader of the output is gone.
    closed: bool,
}

impl Screen {
    pub(super) fn new(form: Form, secrets: Secrets, activity_file: PathBuf) -> Self {
        Self(Arc::new(Mutex::new(Inner {
            form,
            style: Style::for_stdout(),
            secrets,
            run: None,
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

    /// Takes an event of the run.
    pub(super) fn event(&self, event: &LoopEvent, run: &RunState) {
        self.lock().event(event, run);
    }

    /// Says something besides.
    pub(super) fn say(&self, text: &str) {
        let mut inner = self.lock();
        if inner.form == Form::Json {
            crate::exit::tell(text);
        } else {
            inner.print(text);
        }
    }

    /// Paints again now and then, until it is dropped.
    pub(super) async fn keep_fresh(&self) {
        let mut ticks = tokio::time::interval(REPAINT);
        loop {
            ticks.tick().await;
            self.lock().paint();
        }
    }

    /// The last frame stays on the terminal.
    pub(super) fn finish(&self) {
        let mut inner = self.lock();
        inner.activities.clear();
        inner.paint();
        inner.painted.clear();
        inner.run = None;
        let _ = std::fs::remove_file(&inner.activity_file);
    }
}

impl Inner {
    fn event(&mut self, event: &LoopEvent, run: &RunState) {
        if let LoopEvent::Activity { task, text } = event {
            let text = self.secrets.mask(text).into_owned();
            let is_new = self.activities.get(task.as_str()).is_none_or(|(before, _)| *before != text);
            if is_new {
                self.activities.insert(task.to_string(), (text, unix_ms()));
            }
            self.write_down();
        } else {
            if let LoopEvent::AttemptEnded { task, .. } = event {
                self.activities.remove(task.as_str());
                self.written_down = None;
                self.write_down();
            }
            if self.form == Form::Live {
                self.run = Some(run.clone());
            }
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

    /// Prints a line above the frame.
    fn print(&mut self, text: &str) {
        let clear = self.clear();
        self.write(&format!("{clear}{}\n", text.trim_end()));
        self.paint();
    }

    /// Takes the frame away.
    fn clear(&mut self) -> String {
        take_away(&std::mem::take(&mut self.painted), size().0)
    }

    fn paint(&mut self) {
        let Some(run) = self.run.as_ref().filter(|_| self.form == Form::Live) else { return };
        let (width, height) = size();
        let frame =
            Frame { run, activities: &self.activities, now: unix_ms(), width, height, style: self.style };
        let lines = frame.rows();
        let columns = lines.iter().map(|line| columns(line)).collect();
        // In one write, so that it does not flicker.
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
        // A reader that is gone does not stop the run: its report is on disk.
        self.closed = out.write_all(text.as_bytes()).and_then(|()| out.flush()).is_err();
    }

    fn write_down(&mut self) {
        if self.written_down.is_some_and(|at| at.elapsed() < WRITE_DOWN) {
            return;
        }
        self.written_down = Some(Instant::now());
        let temporary = self.activity_file.with_extension("new");
        // For `status --watch` only.
        let _ = serde_json::to_vec(&self.activities)
            .map_err(std::io::Error::from)
            .and_then(|text| std::fs::write(&temporary, text))
            .and_then(|()| std::fs::rename(&temporary, &self.activity_file));
    }
}

/// What takes away lines of so many columns. A terminal that was made narrower shows each in several rows.
pub(super) fn take_away(lines: &[usize], width: usize) -> String {
    let rows: usize = lines.iter().map(|columns| columns.div_ceil(width.max(1)).max(1)).sum();
    if rows == 0 { String::new() } else { format!("\x1b[{rows}A\r\x1b[J") }
}

/// Columns and rows of the terminal.
pub(super) fn size() -> (usize, usize) {
    #[cfg(unix)]
    if let Ok(size) = rustix::termios::tcgetwinsize(std::io::stdout())
        && size.ws_col > 0
    {
        return (usize::from(size.ws_col), usize::from(size.ws_row));
    }
    (80, 24)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_a_narrower_terminal_has_broken_are_taken_away_whole() {
        assert_eq!(take_away(&[], 80), "");
        assert_eq!(take_away(&[80, 0, 10], 80), "\x1b[3A\r\x1b[J");
        assert_eq!(take_away(&[80, 0, 10], 60), "\x1b[4A\r\x1b[J");
        assert_eq!(take_away(&[5], 0), "\x1b[5A\r\x1b[J");
    }
}
