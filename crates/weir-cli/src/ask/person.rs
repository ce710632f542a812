//! The person who answers requests.

use std::io::Write as _;

use super::lines::StdinLines;
use super::terminal::Terminal;
use crate::screen::Style;

/// The person who answers requests.
pub(crate) enum Person {
    /// A user at the terminal.
    Terminal(Terminal),
    /// Lines from the standard input. They may be a prepared list of messages, so a line that does not answer the request
    /// is kept as the next message, unless a person is known to be typing.
    Lines {
        lines: StdinLines,
        /// Whether a person types them.
        is_attentive: bool,
    },
}

impl Person {
    /// Shows something.
    pub(crate) async fn say(&mut self, text: &str) {
        match self {
            Self::Terminal(terminal) => terminal.say(text).await,
            // If this cannot be written, no answer will come either.
            Self::Lines { .. } => drop(std::io::stderr().write_all(text.as_bytes())),
        }
    }

    /// Asks for a line; `None` if there is no answer.
    pub(crate) async fn ask(&mut self, prompt: &str) -> Option<String> {
        match self {
            Self::Terminal(terminal) => terminal.ask(prompt).await,
            Self::Lines { lines, .. } => {
                let _ = std::io::stderr().write_all(format!("{prompt}\n").as_bytes());
                lines.next().await
            }
        }
    }

    /// Keeps the line as the next message and returns true, unless the person can be asked again.
    pub(crate) fn keep_for_later(&mut self, line: String) -> bool {
        match self {
            Self::Terminal(_) | Self::Lines { is_attentive: true, .. } => false,
            Self::Lines { lines, .. } => {
                lines.give_back(line);
                true
            }
        }
    }

    /// Whether every line typed now is meant as an answer.
    pub(crate) fn is_attentive(&self) -> bool {
        matches!(self, Self::Terminal(_) | Self::Lines { is_attentive: true, .. })
    }

    pub(crate) fn style(&self) -> Style {
        match self {
            Self::Terminal(_) => Style::for_terminal(),
            Self::Lines { .. } => Style::for_stderr(),
        }
    }
}
