//! `weir run`: one prompt, one answer.

mod ending;
mod settings;
mod show;

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use weir_session::{Facts, Message, Sent, Session, SessionError, TurnEnd};

use crate::ask::{Person, PersonHandler, Terminal};
use crate::exit::Exit;
use crate::screen::Output;
use crate::signals::{Asked, Signals};
use ending::Ending;
use settings::Form;
pub(crate) use settings::Settings;
use show::Shared;

/// How long an interrupted turn may take to end before the process is killed.
const PATIENCE: Duration = Duration::from_secs(10);

/// How long the process may take to exit by itself when the user does not want to wait.
const SHORT_GRACE: Duration = Duration::from_secs(1);

/// How long the reader may take to read the rest of an interrupted run's output.
const LAST_OUTPUT: Duration = Duration::from_secs(1);

/// How long a session may take to return facts about its process.
const FACTS_TIMEOUT: Duration = Duration::from_secs(1);

pub(crate) fn run(settings: Settings) -> anyhow::Result<Exit> {
    crate::runtime::block_on(answer(settings))
}

async fn answer(settings: Settings) -> anyhow::Result<Exit> {
    let signals = Signals::new();
    let output = Output::stdout();
    let shared = Shared::new(settings.form, settings.quiet, settings.session.secrets.clone(), output.clone());
    let session = session(&settings, &shared);
    let started = Instant::now();
    let mut run = Run {
        session,
        shared,
        output,
        signals,
        interrupted: false,
        is_stopped: false,
        facts: Facts::default(),
    };
    let mut result = run.turn(settings.session.message(settings.prompt, settings.attachments)).await;
    if result.is_ok() && settings.wait && !run.interrupted {
        let left = settings.timeout.map(|timeout| timeout.saturating_sub(started.elapsed()));
        if let Err(error) = run.settle(left).await {
            result = Err(error);
        }
    }
    // The message was withdrawn before its turn began, so nothing needs time to end cleanly.
    let is_withdrawn = matches!(result, Err(SessionError::Interrupted));
    run.stop(is_withdrawn.then_some(SHORT_GRACE)).await;
    if settings.form == Form::Json {
        // The JSON object is printed even if the output was abandoned.
        run.output.revive();
    }
    let ending = Ending {
        result,
        interrupted: run.interrupted,
        missing_log: settings.session.missing_log(&run.facts),
        facts: run.facts,
        took: started.elapsed(),
        timeout: settings.timeout,
        max_cost_usd: settings.session.spec.max_cost_usd,
        has_schema: settings.session.spec.output_schema.is_some(),
        secrets: settings.session.secrets,
    };
    let exit = ending.tell(&mut run.shared.lock(), settings.form)?;
    let last_output = run.interrupted.then_some(LAST_OUTPUT);
    tokio::select! {
        written = run.output.finish() => written.context("cannot write the output")?,
        // The reader may never read again.
        _ = run.signals.next() => return Ok(Exit::Interrupted),
        () = after(last_output) => {}
    }
    Ok(exit)
}

fn session(settings: &Settings, shared: &Shared) -> Session {
    let mut options = settings.session.options();
    options.limits.turn = settings.timeout;
    if let Some(timeout) = settings.timeout {
        options.limits.starting = options.limits.starting.map(|limit| limit.min(timeout));
    }
    if let Some(terminal) = settings.session.asks.then(Terminal::open).flatten() {
        let handler =
            PersonHandler::new(Person::Terminal(terminal), shared.clone(), settings.session.cwd.clone());
        options.handler = Some(Arc::new(handler));
    }
    options.observer = Some(Box::new(shared.clone()));
    Session::new(options)
}

/// A run in progress.
struct Run {
    session: Session,
    shared: Shared,
    output: Output,
    signals: Signals,
    /// Whether the user interrupted it.
    interrupted: bool,
    /// Whether the session was told to stop.
    is_stopped: bool,
    facts: Facts,
}

type Answer = Result<Arc<TurnEnd>, SessionError>;

impl Run {
    /// Sends the prompt and waits for its answer. A first Ctrl-C interrupts the turn, a second one ends the run.
    async fn turn(&mut self, prompt: Message) -> Answer {
        let mut sent = tokio::select! {
            sent = self.session.send(prompt) => sent?,
            _ = self.signals.next() => return self.quit(None).await,
            () = self.output.failed() => return self.abandon(None).await,
        };
        tokio::select! {
            answer = sent.answer() => return answer,
            asked = self.signals.next() => if asked == Asked::End {
                return self.quit(None).await;
            },
            () = self.output.failed() => return self.abandon(None).await,
        }
        self.interrupted = true;
        self.shared.tell("weir: interrupting; press Ctrl-C again to quit immediately");
        self.interrupt(&mut sent).await
    }

    async fn interrupt(&mut self, sent: &mut Sent) -> Answer {
        let session = self.session.clone();
        // Its outcome shows in the answer.
        let interrupt = tokio::spawn(async move { session.interrupt().await });
        let answer = tokio::select! {
            answer = sent.answer() => Some(answer),
            _ = self.signals.next() => None,
            () = self.output.failed() => None,
            () = tokio::time::sleep(PATIENCE) => None,
        };
        interrupt.abort();
        match answer {
            Some(answer) => answer,
            None => self.quit(Some(SHORT_GRACE)).await,
        }
    }

    /// Ends everything at the user's request.
    async fn quit(&mut self, patience: Option<Duration>) -> Answer {
        self.interrupted = true;
        self.abandon(patience).await
    }

    /// Ends everything, because the answer is no longer read.
    async fn abandon(&mut self, patience: Option<Duration>) -> Answer {
        // This comes first: the session may be blocked by a reader that does not read.
        self.output.abandon();
        self.stop(patience).await;
        Err(SessionError::Stopped)
    }

    /// Ends the session and its process. Whatever is left after the time limit or another Ctrl-C is killed together with
    /// the runtime.
    async fn stop(&mut self, patience: Option<Duration>) {
        if std::mem::replace(&mut self.is_stopped, true) {
            return;
        }
        self.note_facts().await;
        tokio::select! {
            () = self.session.stop() => {}
            _ = self.signals.next() => self.interrupted = true,
            () = after(patience) => {}
        }
    }

    /// Waits for background tasks. Ctrl-C or the time limit ends the wait.
    async fn settle(&mut self, left: Option<Duration>) -> Result<(), SessionError> {
        tokio::select! {
            // An error means that the process has ended, so nothing is running.
            _ = self.session.settled() => Ok(()),
            _ = self.signals.next() => {
                self.interrupted = true;
                Ok(())
            }
            () = self.output.failed() => Ok(()),
            () = after(left) => Err(SessionError::TimedOut {
                phase: weir_session::Phase::Background,
                after: left.unwrap_or_default(),
                stderr: String::new(),
            }),
        }
    }

    /// Records facts about the process while the session still exists.
    async fn note_facts(&mut self) {
        if let Ok(Ok(facts)) = tokio::time::timeout(FACTS_TIMEOUT, self.session.facts()).await {
            self.facts = facts;
        }
    }
}

/// Waits for this long, or forever.
async fn after(time: Option<Duration>) {
    match time {
        Some(time) => tokio::time::sleep(time).await,
        None => std::future::pending().await,
    }
}
