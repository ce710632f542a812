//! Shows a run in progress: the answer on the standard output, progress on the standard error.

use std::io::{self, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use weir_process::Secrets;
use weir_session::Observer;
use weir_transcript::{Change, EntryBody, HostEvent, Notice, SummaryBuilder, View};

use super::settings::Form;
use crate::ask::{Floor, Stage};
use crate::events::EventPrinter;
use crate::screen::markdown::Markdown;
use crate::screen::{Output, ProgressLines, Style, TextPrinter, TextSink, clean, width};

/// State shared by the observer and the command.
pub(super) struct Show {
    form: Form,
    text: TextPrinter,
    markdown: Markdown,
    events: EventPrinter,
    pub(super) progress: ProgressLines,
    pub(super) summary: SummaryBuilder,
    /// The parts of the view that the summary needs after the session has ended.
    pub(super) view: View,
    /// How the CLI ended, if it ended abnormally.
    pub(super) odd_end: Option<Notice>,
    out: Output,
    /// Whether text and progress go to the same pipe or file.
    shares_output: bool,
}

/// A handle to the shown run.
#[derive(Clone)]
pub(super) struct Shared(Arc<Mutex<Show>>);

impl Shared {
    pub(super) fn new(form: Form, quiet: bool, secrets: Secrets, out: Output) -> Self {
        let mut progress = ProgressLines::new(quiet, secrets);
        let shares_output = form == Form::Text && out.has_errors_in_it();
        if shares_output {
            // Through the same queue, or the lines would overtake the text before them.
            let mut lines = out.clone();
            progress.divert(Some(Box::new(move |line| {
                // The command sees failures through the output itself.
                let _ = writeln!(lines, "{line}");
            })));
        }
        Self(Arc::new(Mutex::new(Show {
            form,
            text: TextPrinter::default(),
            markdown: Markdown::new(Style::for_stdout()),
            events: match form {
                Form::AgentEvents => EventPrinter::agent(),
                Form::ClassicEvents => EventPrinter::classic(),
                Form::Text | Form::Value | Form::Json | Form::Raw => EventPrinter::Nothing,
            },
            progress,
            shares_output,
            summary: if form == Form::Json { SummaryBuilder::new() } else { SummaryBuilder::without_texts() },
            view: View::default(),
            odd_end: None,
            out,
        })))
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Show> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Prints a line on the standard error, even while the observer waits for a slow reader of our output.
    pub(super) fn tell(&self, line: &str) {
        match self.0.try_lock() {
            Ok(mut show) => show.progress.line(line),
            Err(_) => crate::exit::tell(line),
        }
    }
}

impl Show {
    /// Ends the answer. Prints it if none of it was streamed.
    pub(super) fn end_text(&mut self, answer: Option<&str>) -> io::Result<()> {
        self.progress.pause();
        if self.form == Form::Text {
            let Self { text, markdown, progress, out, shares_output, .. } = self;
            text.end(answer, &mut Answer { out, progress, markdown, shares_output: *shares_output })?;
        }
        self.out.flush()
    }

    pub(super) fn print(&mut self, line: &str) -> io::Result<()> {
        writeln!(self.out, "{line}")
    }
}

impl Observer for Shared {
    fn bytes(&mut self, bytes: &[u8]) {
        let mut show = self.lock();
        if show.form == Form::Raw {
            // The command sees failures through the output itself.
            let _ = show.out.write_all(bytes);
        }
    }

    fn host(&mut self, event: &HostEvent) {
        let mut guard = self.lock();
        let show = &mut *guard;
        // The command sees failures through the output itself.
        let _ = show.events.host(&show.view, event, &mut show.out);
    }

    fn change(&mut self, view: &View, change: &Change<'_>) {
        let mut guard = self.lock();
        let show = &mut *guard;
        show.summary.observe(view, change);
        if matches!(change, Change::Session(_) | Change::Cost(_) | Change::Oddities(_) | Change::RateLimit(_))
        {
            show.view.apply(change);
        }
        show.progress.change(view, change);
        if let Change::EntryAdded(entry) = change
            && let EntryBody::Notice { notice: notice @ Notice::ProcessEnded { .. } } = &entry.body
        {
            show.odd_end = Some(notice.clone());
        }
        // The command sees failures through the output itself.
        let _ = match show.form {
            Form::Text => {
                let Show { text, markdown, progress, out, shares_output, .. } = show;
                text.change(
                    view,
                    change,
                    &mut Answer { out, progress, markdown, shares_output: *shares_output },
                )
            }
            _ => show.events.change(view, change, &mut show.out),
        };
    }

    fn pause(&mut self) {
        let mut guard = self.lock();
        let Show { markdown, progress, out, shares_output, .. } = &mut *guard;
        let _ = Answer { out, progress, markdown, shares_output: *shares_output }.show();
        let _ = out.flush();
    }
}

impl Stage for Shared {
    /// A lock of its own: there is no prompt to share the floor with.
    fn floor(&self) -> Floor {
        Floor::default()
    }

    fn announce(&self) {}

    fn hold(&self) {
        self.lock().progress.hold();
    }

    fn release(&self) {
        self.lock().progress.release();
    }
}

/// Prints the answer: unchanged, or on a terminal as styled Markdown without control characters.
struct Answer<'a> {
    out: &'a mut Output,
    progress: &'a mut ProgressLines,
    markdown: &'a mut Markdown,
    shares_output: bool,
}

impl Answer<'_> {
    /// Also shows the beginning of an incomplete word.
    fn show(&mut self) -> io::Result<()> {
        let mut styled = String::new();
        self.markdown.show(&mut styled);
        self.write(&styled)
    }

    /// Writes to a terminal.
    fn write(&mut self, styled: &str) -> io::Result<()> {
        if !styled.is_empty() {
            self.progress.text_printed(!styled.ends_with('\n'));
        }
        self.out.write_all(styled.as_bytes())
    }
}

impl TextSink for Answer<'_> {
    fn block_began(&mut self, is_first: bool) -> io::Result<()> {
        self.progress.pause();
        // Each time, because the window may have changed.
        self.markdown.set_width(width());
        if is_first { Ok(()) } else { self.out.write_all(b"\n") }
    }

    fn piece(&mut self, text: &str) -> io::Result<()> {
        self.progress.pause();
        if !self.out.is_terminal() {
            self.progress.text_printed(self.shares_output && !text.ends_with('\n'));
            return self.out.write_all(text.as_bytes());
        }
        if !self.progress.is_in_line() {
            self.markdown.line_was_begun();
        }
        let mut styled = String::new();
        self.markdown.push(&clean(text), &mut styled);
        self.write(&styled)
    }

    fn block_ended(&mut self, ends_in_line: bool) -> io::Result<()> {
        let mut styled = String::new();
        self.markdown.finish(&mut styled);
        if ends_in_line {
            styled.push('\n');
        }
        self.out.write_all(styled.as_bytes())?;
        self.progress.text_printed(false);
        Ok(())
    }

    fn is_text_alone(&self) -> bool {
        !self.shares_output && !self.out.is_terminal()
    }
}
