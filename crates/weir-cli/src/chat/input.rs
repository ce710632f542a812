//! Input of `weir chat`: typed or piped in.

use std::io::Write as _;

use super::command::{is_continued, joined};
use super::editor::Editor;
use crate::ask::StdinLines;
use crate::signals::Asked;

/// One input.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Input {
    /// Text, possibly of several lines.
    Text(String),
    /// Ctrl-C.
    Interrupted,
    /// The end of the input.
    End,
    /// A signal to exit.
    Ended,
}

impl From<Asked> for Input {
    fn from(asked: Asked) -> Self {
        match asked {
            Asked::Interrupt => Self::Interrupted,
            Asked::End => Self::Ended,
        }
    }
}

/// The source of input.
pub(super) enum Source {
    /// A person with a line editor.
    Editor(Editor),
    /// Plain lines, with a prompt if they come from a person.
    Lines { lines: StdinLines, prompts: bool },
}

impl Source {
    /// The next input. Cancel safe, except for lines with a continuation.
    pub(super) async fn read(&mut self, prompt: &str) -> Input {
        let input = match self {
            Self::Editor(editor) => editor.read(prompt).await,
            Self::Lines { lines, prompts } => {
                if *prompts {
                    // If this cannot be written, there is no one to see it.
                    let _ = std::io::stderr().write_all(prompt.as_bytes());
                }
                read_lines(lines).await
            }
        };
        match input {
            Input::Text(text) => Input::Text(joined(&text)),
            other => other,
        }
    }
}

/// A line, with its continuation lines.
async fn read_lines(lines: &StdinLines) -> Input {
    let Some(mut text) = lines.next().await else { return Input::End };
    while is_continued(&text) {
        let Some(more) = lines.next().await else { break };
        text.push('\n');
        text.push_str(&more);
    }
    Input::Text(text)
}
