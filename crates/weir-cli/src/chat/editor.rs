//! The line editor, on its own thread: it blocks while the user types.

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

use super::command::{COMMANDS, is_continued};
use super::input::Input;
use crate::screen::Style;

type LineEditor = rustyline::Editor<Assistant, FileHistory>;

/// The line editor.
pub(super) struct Editor {
    /// Prompts to show.
    prompts: mpsc::Sender<String>,
    typed: replies::UnboundedReceiver<Input>,
    /// Whether a prompt is currently shown.
    is_shown: bool,
    above: mpsc::Sender<String>,
}

impl Editor {
    /// Starts the editor. Input is kept in the history file, if there is one.
    pub(super) fn start(history: Option<PathBuf>) -> rustyline::Result<Self> {
        let config = Config::builder().max_history_size(2000)?.history_ignore_dups(true)?;
        let mut editor = LineEditor::with_config(config.auto_add_history(false).build())?;
        editor.set_helper(Some(Assistant { style: Style::for_stdout() }));
        let history = history.filter(|file| {
            file.parent().is_some_and(|folder| weir_base::file::create_private_folder(folder).is_ok())
        });
        if let Some(file) = &history {
            // On the first start there is no history yet.
            let _ = editor.load_history(file);
        }
        let mut printer = editor.create_external_printer()?;
        let (above, lines) = mpsc::channel::<String>();
        // The printer blocks until the editor is ready, so it needs its own thread.
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

    /// The sender for lines to print above the prompt.
    pub(super) fn above(&self) -> mpsc::Sender<String> {
        self.above.clone()
    }
}

fn read(editor: &mut LineEditor, prompt: &str, history: Option<&Path>) -> Input {
    match editor.readline(prompt) {
        Ok(line) => {
            // Answers to our own questions do not belong in the history.
            if !line.trim().is_empty() && prompt == super::PROMPT {
                // Failing to keep the history is not fatal.
                let _ = editor.add_history_entry(line.as_str());
                let _ = history.map_or(Ok(()), |file| editor.append_history(file));
            }
            Input::Text(line)
        }
        Err(ReadlineError::Interrupted) => Input::Interrupted,
        Err(_) => Input::End,
    }
}

/// Completes commands and detects continued lines.
struct Assistant {
    style: Style,
}

impl Helper for Assistant {}

impl Completer for Assistant {
    type Candidate = String;

    fn complete(&self, line: &str, place: usize, _: &Context<'_>) -> rustyline::Result<(usize, Vec<String>)> {
        let typed = line.get(..place).unwrap_or_default();
        let names = COMMANDS.iter().filter_map(|(usage, _)| usage.split(' ').next());
        let matching = names.filter(|name| typed.starts_with('/') && name.starts_with(typed));
        Ok((0, matching.map(str::to_owned).collect()))
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
        let is_open = is_continued(context.input());
        Ok(if is_open { ValidationResult::Incomplete } else { ValidationResult::Valid(None) })
    }
}
