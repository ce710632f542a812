//! `weir chat`: a conversation of many turns.

mod command;
mod display;
mod editor;
mod input;
mod replies;
mod resume;
mod settings;
mod tasks;
mod tty;
mod turn;

use std::io::IsTerminal as _;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use weir_session::{Conversation, Session};

use crate::ask::{Person, PersonHandler, Stage as _, StdinLines, Terminal};
use crate::exit::{self, Exit};
use crate::explain::explain;
use crate::screen::Output;
use crate::signals::Signals;
use command::Command;
use display::Shared;
use editor::Editor;
use input::{Input, Source};
pub(crate) use settings::Settings;

/// How long the process may take to end by itself when it has to end at once.
const AT_ONCE: Duration = Duration::from_secs(1);

/// Asks for the next message.
const PROMPT: &str = "> ";

pub(crate) fn run(settings: Settings) -> anyhow::Result<Exit> {
    // Whatever happens, the terminal is as it was.
    let _kept = tty::Kept::new();
    crate::runtime::block_on(async move { Chat::new(settings)?.talk().await })
}

/// A conversation that goes on.
struct Chat {
    settings: Settings,
    session: Session,
    display: Shared,
    output: Output,
    source: Source,
    signals: Signals,
    /// The standard input, where it is no terminal.
    lines: Option<StdinLines>,
    /// The conversations that were listed last, by number.
    listed: Vec<String>,
    /// How the last turn ended.
    last: Exit,
    /// Whether the person was just told that another Ctrl-C leaves.
    knows_how_to_leave: bool,
}

/// What comes next.
enum Next {
    /// Another line.
    Line,
    Leave(Exit),
}

impl Chat {
    fn new(settings: Settings) -> anyhow::Result<Self> {
        let signals = Signals::new();
        let output = Output::stdout();
        let display = Shared::new(settings.quiet, settings.session.secrets.clone(), output.clone());
        let (source, lines) = if settings.edits {
            let editor =
                Editor::start(settings.history.clone()).context("the line editor cannot be started")?;
            (Source::Editor(editor), None)
        } else {
            let lines = StdinLines::new().context("the standard input cannot be read")?;
            let prompts = std::io::stdin().is_terminal() && !settings.quiet;
            (Source::Lines { lines: lines.clone(), prompts }, Some(lines))
        };
        let session = session(&settings, &display, lines.as_ref());
        let last = Exit::Success;
        Ok(Self {
            settings,
            session,
            display,
            output,
            source,
            signals,
            lines,
            listed: Vec::new(),
            last,
            knows_how_to_leave: false,
        })
    }

    async fn talk(mut self) -> anyhow::Result<Exit> {
        if let Next::Leave(exit) = self.start().await {
            self.stop(exit).await;
            return Ok(exit);
        }
        self.greet().await?;
        let exit = self.lines_and_turns().await?;
        self.display.lock().prompt(None);
        self.stop(exit).await;
        tokio::select! {
            written = self.output.finish() => written.context("the output cannot be written")?,
            // The reader may never read again.
            _ = self.signals.next() => return Ok(Exit::Interrupted),
        }
        Ok(exit)
    }

    /// Starts the CLI, so that what is wrong with it shows before anybody has typed.
    async fn start(&mut self) -> Next {
        self.display.lock().progress.now("starting the CLI");
        let started = tokio::select! {
            started = self.session.start() => started,
            _ = self.signals.next() => return Next::Leave(Exit::Interrupted),
        };
        self.display.lock().progress.pause();
        let facts = self.session.facts().await.unwrap_or_default();
        if let Some(missing) = self.settings.session.missing_log(&facts) {
            self.complain(&missing);
        }
        match started {
            Ok(()) => Next::Line,
            Err(error) => {
                let log = facts.logs.map(|logs| format!("; the raw log is {}", logs.output.display()));
                self.complain(&format!("{}{}", explain(&error, None), log.unwrap_or_default()));
                Next::Leave(Exit::from(&error))
            }
        }
    }

    async fn lines_and_turns(&mut self) -> anyhow::Result<Exit> {
        loop {
            let input = self.read(PROMPT).await;
            let knows_how_to_leave = std::mem::take(&mut self.knows_how_to_leave);
            let next = match input {
                Input::Text(text) => self.line(&text).await?,
                Input::Interrupted if knows_how_to_leave => Next::Leave(self.farewell()),
                Input::Interrupted => {
                    self.knows_how_to_leave = true;
                    exit::tell("Press Ctrl-C again or Ctrl-D to leave.");
                    Next::Line
                }
                Input::End => Next::Leave(self.farewell()),
                Input::Ended => Next::Leave(Exit::Interrupted),
            };
            if let Next::Leave(exit) = next {
                return Ok(exit);
            }
        }
    }

    /// The next input. What happens meanwhile is printed above the prompt.
    async fn read(&mut self, prompt: &str) -> Input {
        let floor = self.display.floor();
        // A request that waits comes first.
        let _floor = tokio::select! {
            held = floor.lock() => held,
            asked = self.signals.next() => return Input::from(asked),
        };
        if let Source::Editor(editor) = &self.source {
            self.display.lock().prompt(Some(editor.above()));
        }
        let input = tokio::select! {
            input = self.source.read(prompt) => input,
            asked = self.signals.next() => Input::from(asked),
            () = self.output.failed() => Input::End,
        };
        self.display.lock().prompt(None);
        input
    }

    async fn line(&mut self, text: &str) -> anyhow::Result<Next> {
        // Those work only if the CLI may act on what is sent.
        let of_the_cli = match self.settings.session.interprets {
            true => self.display.lock().view.session.slash_commands.clone(),
            false => Vec::new(),
        };
        match Command::read(text, &of_the_cli) {
            Command::Nothing => {}
            Command::Message(text) => return self.turn(text).await,
            Command::Quit => return Ok(Next::Leave(self.farewell())),
            Command::Help => self.print(&replies::help())?,
            Command::Cost => self.cost().await?,
            Command::Model(name) => self.model(name).await?,
            Command::Tools(number) => self.tools(number).await?,
            Command::Stop(which) => self.stop_task(which).await?,
            Command::New => self.begin(Conversation::New).await?,
            Command::Resume(which) => self.resume(which).await?,
            Command::Unknown(name) => {
                self.complain(&format!("there is no command /{name}; /help lists them"));
            }
        }
        Ok(Next::Line)
    }

    /// Ends this conversation and begins another one.
    async fn begin(&mut self, conversation: Conversation) -> anyhow::Result<()> {
        // One process owns a session: the old one is gone before the new one begins.
        self.session.stop().await;
        self.display.lock().begin_conversation();
        let is_new = conversation == Conversation::New;
        self.settings.session.conversation = conversation;
        self.session = session(&self.settings, &self.display, self.lines.as_ref());
        if is_new {
            return self.print("A new conversation.\n");
        }
        Ok(())
    }

    /// Ends the session and its process. What has not ended when somebody asks again, or who was interrupted has
    /// waited long enough, is killed with all that it started when the runtime goes.
    async fn stop(&mut self, exit: Exit) {
        let patience = async {
            match exit {
                Exit::Interrupted => tokio::time::sleep(AT_ONCE).await,
                _ => std::future::pending().await,
            }
        };
        tokio::select! {
            () = self.session.stop() => {}
            _ = self.signals.next() => {}
            () = patience => {}
        }
    }

    /// A person leaves when they like; a program wants to know how it went.
    fn farewell(&self) -> Exit {
        if self.settings.edits { Exit::Success } else { self.last }
    }

    fn print(&self, text: &str) -> anyhow::Result<()> {
        self.display.lock().print(text).context("the output cannot be written")
    }

    fn complain(&self, text: &str) {
        let text = self.settings.session.secrets.mask(text).into_owned();
        exit::tell(&format!("weir: {}", crate::screen::clean(&text)));
    }
}

fn session(settings: &Settings, display: &Shared, lines: Option<&StdinLines>) -> Session {
    let mut options = settings.session.options();
    let person = settings.session.asks.then(|| person(lines)).flatten();
    if let Some(person) = person {
        options.handler =
            Some(Arc::new(PersonHandler::new(person, display.clone(), settings.session.cwd.clone())));
    }
    options.observer = Some(Box::new(display.clone()));
    Session::new(options)
}

/// Who answers: somebody at the terminal, or whoever writes the lines. Lines that are typed on a terminal are read
/// by one reader only, or nobody would know who gets which.
fn person(lines: Option<&StdinLines>) -> Option<Person> {
    let types_lines = lines.is_some() && std::io::stdin().is_terminal();
    let terminal = (std::io::stderr().is_terminal() && !types_lines).then(Terminal::open).flatten();
    let lines = lines.cloned().map(|lines| Person::Lines { lines, is_attentive: types_lines });
    terminal.map(Person::Terminal).or(lines)
}
