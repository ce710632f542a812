//! One turn: a message, its answer, and what Ctrl-C does in between.

use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use weir_session::{Message, Sent, SessionError, TurnEnd};
use weir_transcript::Turn;
use weir_wire::MessageOrigin;

use super::{Chat, Next};
use crate::conversation::attachment;
use crate::exit::Exit;
use crate::explain::explain;
use crate::screen::{cost_of, dollars, one_line, plural, seconds};
use crate::signals::Asked;

/// How long an interrupted turn may take to end.
const PATIENCE: Duration = Duration::from_secs(10);

/// How the wait for an answer ended.
enum Waited {
    Answered(Result<Arc<TurnEnd>, SessionError>),
    /// The user wants to quit.
    Leave(Exit),
}

impl Chat {
    /// Sends a message, with what was attached before, and shows its answer.
    pub(super) async fn turn(&mut self, text: String) -> anyhow::Result<Next> {
        let attachments = std::mem::take(&mut self.settings.attachments);
        let message = self.settings.session.message(text, attachments);
        self.answered(message).await
    }

    /// Sends a text that gets no answer.
    pub(super) async fn note(&mut self, text: Option<String>) -> anyhow::Result<Next> {
        let Some(text) = text else {
            self.complain("/note needs a text");
            return Ok(Next::Line);
        };
        self.answered(Message::note(text).origin(MessageOrigin::Human)).await
    }

    /// Keeps a picture or a document for the next message.
    pub(super) fn attach(&mut self, source: Option<String>) -> anyhow::Result<()> {
        let Some(source) = source else {
            self.complain("/attach needs a file or a web address");
            return Ok(());
        };
        match attachment(&source) {
            Ok(attachment) => {
                self.settings.attachments.push(attachment);
                self.print("It goes with the next message.\n")
            }
            Err(error) => {
                self.complain(&error.to_string());
                Ok(())
            }
        }
    }

    async fn answered(&mut self, message: Message) -> anyhow::Result<Next> {
        let started = Instant::now();
        self.display.lock().begin_turn();
        self.had_turn = true;
        let sent = tokio::select! {
            sent = self.session.send(message) => sent,
            _ = self.signals.next() => return Ok(self.leave(Exit::Interrupted)),
        };
        let mut interrupted = false;
        let result = match sent {
            Ok(mut sent) => match self.answer(&mut sent, &mut interrupted).await {
                Waited::Answered(result) => result,
                Waited::Leave(exit) => return Ok(self.leave(exit)),
            },
            Err(error) => Err(error),
        };
        let log = match self.session.facts().await {
            Ok(facts) => facts.logs.map(|logs| logs.output),
            Err(_) => None,
        };
        self.end(&result, interrupted, started.elapsed(), log.as_deref())?;
        Ok(Next::Line)
    }

    fn leave(&self, exit: Exit) -> Next {
        // The session may be blocked by a reader that does not read.
        if exit != Exit::Success || !self.output.is_terminal() {
            self.output.abandon();
        }
        self.display.lock().progress.pause();
        Next::Leave(exit)
    }

    async fn answer(&mut self, sent: &mut Sent, interrupted: &mut bool) -> Waited {
        tokio::select! {
            answer = sent.answer() => return Waited::Answered(answer),
            asked = self.signals.next() => if asked == Asked::End {
                return Waited::Leave(Exit::Interrupted);
            },
            () = self.output.failed() => return Waited::Leave(Exit::Success),
        }
        *interrupted = true;
        // The turn may end before the next Ctrl-C, which then comes at the prompt.
        self.was_told_how_to_quit = true;
        self.display.lock().progress.line("weir: interrupting; press Ctrl-C again to quit");
        let session = self.session.clone();
        // Its outcome shows in the answer.
        let interrupt = tokio::spawn(async move { session.interrupt().await });
        let waited = tokio::select! {
            answer = sent.answer() => Waited::Answered(answer),
            _ = self.signals.next() => Waited::Leave(Exit::Interrupted),
            () = tokio::time::sleep(PATIENCE) => Waited::Leave(Exit::Interrupted),
        };
        interrupt.abort();
        waited
    }

    fn end(
        &mut self,
        result: &Result<Arc<TurnEnd>, SessionError>,
        interrupted: bool,
        took: Duration,
        log: Option<&Path>,
    ) -> anyhow::Result<()> {
        let mut display = self.display.lock();
        let said = result.as_ref().ok().filter(|end| !end.is_error()).map(|end| end.text.clone());
        display.end_turn(said.as_deref())?;
        self.last = match result {
            _ if interrupted => Exit::Interrupted,
            Ok(_) => display.summary.outcome(&display.view).into(),
            Err(error) => Exit::from(error),
        };
        let cost = result.as_ref().ok().and_then(|end| end.cost_usd());
        let tools = plural(display.summary.tools(), "tool call");
        let style = display.progress.style();
        let used = result.as_ref().ok().map(|end| tokens(&end.turn)).unwrap_or_default();
        let interrupted = interrupted || result.as_ref().is_ok_and(|end| end.is_interrupted());
        let line = style.faint(&format!("{tools}, {}, {}{used}", cost_of(cost, interrupted), seconds(took)));
        let line = if interrupted { format!("{} {line}", style.bad("interrupted,")) } else { line };
        let complaint = match result {
            _ if interrupted => None,
            Err(error) => Some(explain(error, None)),
            Ok(end) if end.is_error() => Some(failure(end)),
            Ok(end) if end.is_degraded() => {
                display.progress.line("the result was empty; the answer is the text up to that point");
                None
            }
            Ok(_) => None,
        };
        if !display.progress.is_quiet() {
            display.progress.line(&line);
        }
        drop(display);
        if let Some(complaint) = complaint {
            let log = log.map(|log| format!("; the raw log is {}", log.display()));
            self.complain(&format!("{complaint}{}", log.unwrap_or_default()));
        }
        Ok(())
    }
}

/// A turn's usage: tokens in and out, and the cost per model if there were several.
fn tokens(turn: &Turn) -> String {
    let mut text = String::new();
    if let Some(usage) = turn.result.as_ref().and_then(|result| result.usage) {
        let cached = usage.cache_read_input_tokens;
        let read = usage.input_tokens + cached + usage.cache_creation_input_tokens;
        let cached = if cached > 0 { format!(" ({cached} cached)") } else { String::new() };
        // Writing to a string cannot fail.
        let _ = write!(text, ", {read} tokens in{cached}, {} out", usage.output_tokens);
    }
    if turn.models.len() > 1 {
        let models = turn
            .models
            .iter()
            .map(|model| format!("{} {}", one_line(&model.model, 60), dollars(Some(model.usd))));
        let _ = write!(text, ", {}", models.collect::<Vec<_>>().join(", "));
    }
    text
}

/// Why a turn failed.
fn failure(end: &TurnEnd) -> String {
    let result = end.turn.result.as_ref();
    let errors = result.map(|result| result.errors.join("; ")).filter(|errors| !errors.is_empty());
    let subtype = result.map(|result| result.subtype.clone());
    let text = Some(end.text.clone()).filter(|text| !text.trim().is_empty());
    format!("the turn failed: {}", errors.or(text).or(subtype).unwrap_or_else(|| "no result".to_owned()))
}
