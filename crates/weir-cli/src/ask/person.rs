//! Who answers.

use std::io::Write as _;

use super::lines::StdinLines;
use super::terminal::Terminal;
use crate::screen::Style;

/// Who answers.
pub(crate) enum Person {
    /// Somebody at the terminal.
    Terminal(Terminal),
    /// Whoever writes lines to our standard input. It may be a list of messages that was written beforehand, so a
    /// line that is no answer is kept: it is the next message. Unless it is known to be a person.
    Lines {
        /// The lines.
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
            // Where it cannot be written there is nobody to ask.
            Self::Lines { .. } => drop(std::io::stderr().write_all(text.as_bytes())),
        }
    }

    /// The answer in a line; nothing where nobody answers.
    pub(crate) async fn ask(&mut self, prompt: &str) -> Option<String> {
        match self {
            Self::Terminal(terminal) => terminal.ask(prompt).await,
            Self::Lines { lines, .. } => {
                let _ = std::io::stderr().write_all(format!("{prompt}\n").as_bytes());
                lines.next().await
            }
        }
    }

    /// Whether an answer can be asked for again. If not, the line is kept for whoever reads the next message.
    pub(crate) fn keep_for_later(&mut self, line: String) -> bool {
        match self {
            Self::Terminal(_) | Self::Lines { is_attentive: true, .. } => false,
            Self::Lines { lines, .. } => {
                lines.give_back(line);
                true
            }
        }
    }

    /// Whether what they say is meant for us, whatever it is.
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
