//! What is typed or piped in.

use std::io::Write as _;

use super::command::{goes_on, joined};
use super::editor::Editor;
use crate::ask::StdinLines;
use crate::signals::Asked;

/// What came.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Input {
    /// Text, possibly of several lines.
    Text(String),
    /// Ctrl-C.
    Interrupted,
    /// Nothing comes any more.
    End,
    /// We were asked to end.
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

/// Where it comes from.
pub(super) enum Source {
    /// A person with an editor.
    Editor(Editor),
    /// Plain lines, with a prompt if they come from a person.
    Lines { lines: StdinLines, prompts: bool },
}

impl Source {
    /// The next input. Cancel safe, but for lines that go on.
    pub(super) async fn read(&mut self, prompt: &str) -> Input {
        let input = match self {
            Self::Editor(editor) => editor.read(prompt).await,
            Self::Lines { lines, prompts } => {
                if *prompts {
                    // Where it cannot be written there is nobody to see it.
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

/// A line, with those that belong to it.
async fn read_lines(lines: &StdinLines) -> Input {
    let Some(mut text) = lines.next().await else { return Input::End };
    while goes_on(&text) {
        let Some(more) = lines.next().await else { break };
        text.push('\n');
        text.push_str(&more);
    }
    Input::Text(text)
}
