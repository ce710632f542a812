//! Shows a running session: text on the standard output, progress on the standard error.
//!
//! While a line is being edited, everything is printed above it, line by line.

use std::io::{self, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};

use weir_process::Secrets;
use weir_session::Observer;
use weir_transcript::{Change, Entry, EntryBody, FileChange, SummaryBuilder, TodoList, View};

use crate::ask::{Floor, Stage};
use crate::screen::markdown::Markdown;
use crate::screen::{
    Output, ProgressLines, Style, TextPrinter, TextSink, clean, coloured, odd_end, one_line, plural,
    short_path, width,
};

/// Maximum number of shown lines of a diff.
const MAX_DIFF_LINES: usize = 40;

/// State shared by the observer and the command.
pub(super) struct Display {
    text: TextPrinter,
    page: Page,
    pub(super) progress: ProgressLines,
    /// The summary of the turn.
    pub(super) summary: SummaryBuilder,
    /// The parts of the view that are needed after the session has ended.
    pub(super) view: View,
}

/// The destination of text.
struct Page {
    markdown: Markdown,
    out: Output,
    /// The lines above the prompt, while there is one.
    above: Option<mpsc::Sender<String>>,
    /// The incomplete line above the prompt.
    line: String,
}

/// A handle to the display.
#[derive(Clone)]
pub(super) struct Shared {
    display: Arc<Mutex<Display>>,
    /// Held by the part that talks to the user: the prompt, or a request.
    floor: Floor,
}

impl Shared {
    pub(super) fn new(quiet: bool, secrets: Secrets, out: Output) -> Self {
        let display = Display {
            text: TextPrinter::default(),
            page: Page {
                markdown: Markdown::new(Style::for_stdout()),
                out,
                above: None,
                line: String::new(),
            },
            progress: ProgressLines::new(quiet, secrets),
            summary: SummaryBuilder::without_texts(),
            view: View::default(),
        };
        Self { display: Arc::new(Mutex::new(display)), floor: Floor::default() }
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Display> {
        self.display.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Display {
    /// Begins a turn that the user started.
    pub(super) fn begin_turn(&mut self) {
        self.summary = SummaryBuilder::without_texts();
        self.progress.now("waiting for the model");
    }

    /// Ends the turn. Prints the answer if none of it was streamed.
    pub(super) fn end_turn(&mut self, answer: Option<&str>) -> io::Result<()> {
        self.progress.pause();
        let Self { text, page, progress, .. } = self;
        text.end(answer, &mut Sink { page, progress })?;
        self.page.out.flush()
    }

    /// Begins another session.
    pub(super) fn begin_session(&mut self) {
        self.view = View::default();
        self.text = TextPrinter::default();
    }

    /// Starts printing above a line that is being edited, or stops doing so.
    pub(super) fn prompt(&mut self, above: Option<mpsc::Sender<String>>) {
        let lines = above.clone();
        self.progress.divert(lines.map(|lines| -> crate::screen::LineSink {
            Box::new(move |line| {
                // An editor that is gone shows nothing.
                let _ = lines.send(format!("{line}\n"));
            })
        }));
        let rest = std::mem::take(&mut self.page.line);
        self.page.above = above;
        if !rest.is_empty() {
            // A line that began above the prompt continues below it.
            let _ = self.page.out.write_all(rest.as_bytes());
        }
    }

    /// Prints our own text on the standard output.
    pub(super) fn print(&mut self, text: &str) -> io::Result<()> {
        self.progress.pause();
        self.page.out.write_all(text.as_bytes())?;
        self.page.out.flush()
    }

    fn file(&mut self, file: &FileChange) {
        let style = self.progress.style();
        let counts = format!(
            "{} {}",
            style.good(&format!("+{}", file.added)),
            style.bad(&format!("-{}", file.removed))
        );
        self.progress.line(&format!("  {} {counts}", one_line(&short_path(&file.path), 100)));
        for line in coloured(&file.diff, MAX_DIFF_LINES, style) {
            self.progress.line(&format!("  {line}"));
        }
    }

    /// Shows that an idle CLI has ended. If it ends in the middle of a turn, the end of the turn reports it.
    fn entry(&mut self, view: &View, entry: &Entry) {
        let is_reported = view.turns.last().is_some_and(|turn| turn.state.is_cut_short());
        if let EntryBody::Notice { notice } = &entry.body
            && let Some(text) = odd_end(notice).filter(|_| !is_reported)
        {
            let mark = self.progress.style().careful("!");
            self.progress.line(&format!("{mark} {}", clean(&text)));
        }
    }

    fn todos(&mut self, todos: &TodoList) {
        let done = todos.items.iter().filter(|todo| todo.status == "completed").count();
        let now = todos.items.iter().find(|todo| todo.status == "in_progress");
        let now = now.map(|todo| one_line(todo.active_form.as_deref().unwrap_or(&todo.text), 80));
        let count = plural(todos.items.len() as u64, "todo");
        let now = now.map(|now| format!(": {now}")).unwrap_or_default();
        self.progress.line(&format!("  {done} of {count} done{now}"));
    }
}

impl Observer for Shared {
    fn change(&mut self, view: &View, change: &Change<'_>) {
        let mut guard = self.lock();
        let display = &mut *guard;
        display.summary.observe(view, change);
        if matches!(change, Change::Session(_) | Change::Cost(_) | Change::Oddities(_) | Change::RateLimit(_))
        {
            display.view.apply(change);
        }
        display.progress.change(view, change);
        match change {
            Change::FileChanged(file) => display.file(file),
            Change::Todos(todos) if todos.agent.is_none() => display.todos(todos),
            Change::EntryAdded(entry) => display.entry(view, entry),
            _ => {}
        }
        let Display { text, page, progress, .. } = display;
        // The command sees failures through the output itself.
        let _ = text.change(view, change, &mut Sink { page, progress });
    }

    fn pause(&mut self) {
        let mut guard = self.lock();
        let Display { page, progress, .. } = &mut *guard;
        let _ = Sink { page, progress }.show();
        let _ = page.out.flush();
    }
}

impl Stage for Shared {
    fn floor(&self) -> Floor {
        Floor::clone(&self.floor)
    }

    fn announce(&self) {
        let mut display = self.lock();
        let mark = display.progress.style().careful("!");
        display.progress.line(&format!("{mark} a background task needs an answer; press Enter"));
    }

    fn hold(&self) {
        self.lock().progress.hold();
    }

    fn release(&self) {
        self.lock().progress.release();
    }
}

struct Sink<'a> {
    page: &'a mut Page,
    progress: &'a mut ProgressLines,
}

impl Sink<'_> {
    /// Also shows the beginning of an incomplete word.
    fn show(&mut self) -> io::Result<()> {
        if self.page.above.is_some() {
            return Ok(());
        }
        let mut styled = String::new();
        self.page.markdown.show(&mut styled);
        if styled.is_empty() { Ok(()) } else { self.write(&styled) }
    }

    fn write(&mut self, text: &str) -> io::Result<()> {
        let Some(above) = &self.page.above else {
            if self.page.out.is_terminal() && !text.is_empty() {
                self.progress.text_printed(!text.ends_with('\n'));
            }
            return self.page.out.write_all(text.as_bytes());
        };
        self.page.line.push_str(text);
        if let Some(end) = self.page.line.rfind('\n') {
            let rest = self.page.line.split_off(end + 1);
            let lines = std::mem::replace(&mut self.page.line, rest);
            // An editor that is gone shows nothing.
            let _ = above.send(lines);
        }
        Ok(())
    }
}

impl TextSink for Sink<'_> {
    fn block_began(&mut self, is_first: bool) -> io::Result<()> {
        self.progress.pause();
        // Each time, because the window may have changed.
        self.page.markdown.set_width(width());
        if is_first { Ok(()) } else { self.write("\n") }
    }

    fn piece(&mut self, text: &str) -> io::Result<()> {
        self.progress.pause();
        let mut styled = String::new();
        if self.page.out.is_terminal() {
            if self.page.above.is_none() && !self.progress.is_in_line() {
                self.page.markdown.line_was_begun();
            }
            self.page.markdown.push(&clean(text), &mut styled);
        } else {
            styled.push_str(text);
        }
        self.write(&styled)
    }

    fn is_text_alone(&self) -> bool {
        self.page.above.is_none() && !self.page.out.is_terminal()
    }

    fn block_ended(&mut self, ends_in_line: bool) -> io::Result<()> {
        let mut styled = String::new();
        self.page.markdown.finish(&mut styled);
        if ends_in_line {
            styled.push('\n');
        }
        self.write(&styled)?;
        self.progress.text_printed(false);
        Ok(())
    }
}
