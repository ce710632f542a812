//! `weir chat`: a session of many turns.

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
use weir_session::{Origin, Session};

use crate::ask::{Person, PersonHandler, Stage as _, StdinLines, Terminal};
use crate::exit::{self, Exit};
use crate::explain::explain;
use crate::screen::{Output, Style, one_line};
use crate::signals::Signals;
use command::Command;
use display::Shared;
use editor::Editor;
use input::{Input, Source};
pub(crate) use settings::Settings;

/// How long the process may take to exit by itself when the user does not want to wait.
const SHORT_GRACE: Duration = Duration::from_secs(1);

/// The prompt for the next message.
const PROMPT: &str = "> ";

pub(crate) fn run(settings: Settings) -> anyhow::Result<Exit> {
    // Restores the terminal, whatever happens.
    let _saved = tty::SavedSettings::new();
    crate::runtime::block_on(async move { Chat::new(settings)?.talk().await })
}

/// A running chat.
struct Chat {
    settings: Settings,
    session: Session,
    display: Shared,
    output: Output,
    source: Source,
    signals: Signals,
    /// Lines of the standard input, if there is no line editor.
    lines: Option<StdinLines>,
    /// The sessions in the last list, by number.
    listed: Vec<String>,
    /// How the last turn ended.
    last: Exit,
    /// Whether the session has had a turn.
    had_turn: bool,
    /// Whether the user was just told that another Ctrl-C quits.
    was_told_how_to_quit: bool,
}

/// What to do next.
enum Next {
    /// Read another line.
    Line,
    Leave(Exit),
}

impl Chat {
    fn new(settings: Settings) -> anyhow::Result<Self> {
        let signals = Signals::new();
        let output = Output::stdout();
        let display = Shared::new(settings.quiet, settings.session.secrets.clone(), output.clone());
        let (source, lines) = if settings.edits {
            let editor = Editor::start(settings.history.clone()).context("cannot start the line editor")?;
            (Source::Editor(editor), None)
        } else {
            let lines = StdinLines::new().context("cannot read the standard input")?;
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
            had_turn: false,
            was_told_how_to_quit: false,
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
        self.say_how_to_resume()?;
        self.stop(exit).await;
        tokio::select! {
            written = self.output.finish() => written.context("cannot write the output")?,
            // The reader may never read again.
            _ = self.signals.next() => return Ok(Exit::Interrupted),
        }
        Ok(exit)
    }

    /// Starts the CLI, so that problems show before the user types anything.
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
            let was_told_how_to_quit = std::mem::take(&mut self.was_told_how_to_quit);
            let next = match input {
                Input::Text(text) => self.line(&text).await?,
                Input::Interrupted if was_told_how_to_quit => Next::Leave(self.quit_code()),
                Input::Interrupted => {
                    self.was_told_how_to_quit = true;
                    exit::tell("Press Ctrl-C again or Ctrl-D to quit.");
                    Next::Line
                }
                Input::End => Next::Leave(self.quit_code()),
                Input::Ended => Next::Leave(Exit::Interrupted),
            };
            if let Next::Leave(exit) = next {
                return Ok(exit);
            }
        }
    }

    /// The next input. Meanwhile, output is printed above the prompt.
    async fn read(&mut self, prompt: &str) -> Input {
        let floor = self.display.floor();
        // A waiting request comes first.
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
        // The CLI's commands work only if it interprets messages.
        let cli_commands = match self.settings.session.interprets {
            true => self.display.lock().view.session.slash_commands.clone(),
            false => Vec::new(),
        };
        match Command::read(text, &cli_commands) {
            Command::Nothing => {}
            Command::Message(text) => return self.turn(text).await,
            Command::Attach(source) => self.attach(source)?,
            Command::Note(text) => return self.note(text).await,
            Command::Quit => return Ok(Next::Leave(self.quit_code())),
            Command::Help => self.print(&replies::help())?,
            Command::Cost => self.cost().await?,
            Command::Model(name) => self.model(name).await?,
            Command::Tools(number) => self.tools(number).await?,
            Command::Stop(which) => self.stop_task(which).await?,
            Command::New => self.begin(Origin::New).await?,
            Command::Resume(which) => self.resume(which).await?,
            Command::Unknown(name) => {
                self.complain(&format!("unknown command /{name}; /help lists the commands"));
            }
        }
        Ok(Next::Line)
    }

    /// Leaves a person with the command that continues the session, if there is anything to continue.
    fn say_how_to_resume(&self) -> anyhow::Result<()> {
        let is_kept = !self.settings.session.spec.no_session_persistence;
        if !self.settings.edits || self.settings.quiet || !is_kept || !self.had_turn {
            return Ok(());
        }
        let Some(id) = self.display.lock().view.session.id.clone() else { return Ok(()) };
        let line = format!("weir chat --resume {}", one_line(id.as_str(), 60));
        self.print(&format!("{}\n", Style::for_stdout().faint(&line)))
    }

    /// Ends this session and starts another one.
    async fn begin(&mut self, conversation: Origin) -> anyhow::Result<()> {
        // Only one process may own a session: the old one ends before the new one starts.
        self.session.stop().await;
        self.display.lock().begin_session();
        self.had_turn = false;
        let is_new = conversation == Origin::New;
        self.settings.session.conversation = conversation;
        self.session = session(&self.settings, &self.display, self.lines.as_ref());
        if is_new {
            return self.print("New session.\n");
        }
        Ok(())
    }

    /// Ends the session and its process. If the user presses Ctrl-C again, or an interrupted user has waited long
    /// enough, whatever is left is killed together with the runtime.
    async fn stop(&mut self, exit: Exit) {
        let patience = async {
            match exit {
                Exit::Interrupted => tokio::time::sleep(SHORT_GRACE).await,
                _ => std::future::pending().await,
            }
        };
        tokio::select! {
            () = self.session.stop() => {}
            _ = self.signals.next() => {}
            () = patience => {}
        }
    }

    /// The exit code: success for a person who quits, that of the last turn for a program.
    fn quit_code(&self) -> Exit {
        if self.settings.edits { Exit::Success } else { self.last }
    }

    fn print(&self, text: &str) -> anyhow::Result<()> {
        self.display.lock().print(text).context("cannot write the output")
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

/// The person who answers: a user at the terminal, or the standard input. Lines that are typed on a terminal must have
/// only one reader.
fn person(lines: Option<&StdinLines>) -> Option<Person> {
    let types_lines = lines.is_some() && std::io::stdin().is_terminal();
    let terminal = (std::io::stderr().is_terminal() && !types_lines).then(Terminal::open).flatten();
    let lines = lines.cloned().map(|lines| Person::Lines { lines, is_attentive: types_lines });
    terminal.map(Person::Terminal).or(lines)
}
