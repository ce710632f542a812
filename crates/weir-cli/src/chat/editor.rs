//! The line editor, on a thread of its own: it blocks while somebody types.

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::mpsc;

use rustyline::completion::Completer;
use rustyline::error::ReadlineError;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::history::FileHistory;
use rustyline::validate::{ValidationContext, ValidationResult, Validator};
use rustyline::{Config, Context, ExternalPrinter as _, Helper};
use tokio::sync::mpsc as replies;

use super::command::{COMMANDS, goes_on};
use super::input::Input;
use crate::folders::create_private;
use crate::screen::Style;

type LineEditor = rustyline::Editor<Assistant, FileHistory>;

/// The line editor.
pub(super) struct Editor {
    /// Prompts to show.
    prompts: mpsc::Sender<String>,
    typed: replies::UnboundedReceiver<Input>,
    /// Whether a prompt is shown at the moment.
    is_shown: bool,
    above: mpsc::Sender<String>,
}

impl Editor {
    /// Starts the editor. What is typed is kept in the file, if there is one.
    pub(super) fn start(history: Option<PathBuf>) -> rustyline::Result<Self> {
        let config = Config::builder().max_history_size(2000)?.history_ignore_dups(true)?;
        let mut editor = LineEditor::with_config(config.auto_add_history(false).build())?;
        editor.set_helper(Some(Assistant { style: Style::for_stdout() }));
        let history =
            history.filter(|file| file.parent().is_some_and(|folder| create_private(folder).is_ok()));
        if let Some(file) = &history {
            // A first start has none.
            let _ = editor.load_history(file);
        }
        let mut printer = editor.create_external_printer()?;
        let (above, lines) = mpsc::channel::<String>();
        // The printer waits for the editor, so it must not be called by somebody who may not wait.
        std::thread::Builder::new().name("above".into()).spawn(move || {
            for line in lines {
                if printer.print(line).is_err() {
                    return;
                }
            }
        })?;
        let (prompts, wanted) = mpsc::channel::<String>();
        let (sender, typed) = replies::unbounded_channel();
        std::thread::Builder::new().name("editor".into()).spawn(move || {
            for prompt in wanted {
                if sender.send(read(&mut editor, &prompt, history.as_deref())).is_err() {
                    return;
                }
            }
        })?;
        Ok(Self { prompts, typed, is_shown: false, above })
    }

    /// The next input. Cancel safe: a prompt that is shown stays.
    pub(super) async fn read(&mut self, prompt: &str) -> Input {
        if !self.is_shown {
            if self.prompts.send(prompt.to_owned()).is_err() {
                return Input::End;
            }
            self.is_shown = true;
        }
        let input = self.typed.recv().await.unwrap_or(Input::End);
        self.is_shown = false;
        input
    }

    /// Where to send what is to be printed above the prompt.
    pub(super) fn above(&self) -> mpsc::Sender<String> {
        self.above.clone()
    }
}

fn read(editor: &mut LineEditor, prompt: &str, history: Option<&Path>) -> Input {
    match editor.readline(prompt) {
        Ok(line) => {
            // The answer to a question of ours is nothing to come back to.
            if !line.trim().is_empty() && prompt == super::PROMPT {
                // A history that cannot be kept is no reason to stop.
                let _ = editor.add_history_entry(line.as_str());
                let _ = history.map_or(Ok(()), |file| editor.append_history(file));
            }
            Input::Text(line)
        }
        Err(ReadlineError::Interrupted) => Input::Interrupted,
        Err(_) => Input::End,
    }
}

/// Completes commands, and knows when more lines follow.
struct Assistant {
    style: Style,
}

impl Helper for Assistant {}

impl Completer for Assistant {
    type Candidate = String;

    fn complete(&self, line: &str, place: usize, _: &Context<'_>) -> rustyline::Result<(usize, Vec<String>)> {
        let typed = line.get(..place).unwrap_or_default();
        let names = COMMANDS.iter().filter_map(|(usage, _)| usage.split(' ').next());
        let fitting = names.filter(|name| typed.starts_with('/') && name.starts_with(typed));
        Ok((0, fitting.map(str::to_owned).collect()))
    }
}

impl Hinter for Assistant {
    type Hint = String;
}

impl Highlighter for Assistant {
    fn highlight_prompt<'b, 's: 'b, 'p: 'b>(&'s self, prompt: &'p str, _: bool) -> Cow<'b, str> {
        Cow::Owned(self.style.accent(prompt))
    }
}

impl Validator for Assistant {
    fn validate(&self, context: &mut ValidationContext<'_>) -> rustyline::Result<ValidationResult> {
        let is_open = goes_on(context.input());
        Ok(if is_open { ValidationResult::Incomplete } else { ValidationResult::Valid(None) })
    }
}
