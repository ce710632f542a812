//! The contents of the terminal, and how edited messages are shown.
//!
//! The last message is overwritten. Earlier ones stay as they are: if one of them changes, only its new lines are
//! written, at the bottom.

use std::collections::VecDeque;
use std::io::Write;

use crate::channel::{Content, MessageRef};

/// Maximum number of messages that can still be edited.
const MAX_MESSAGES: usize = 32;

/// The contents of the terminal.
pub(super) struct Screen {
    out: Box<dyn Write + Send>,
    /// Width of a terminal on which messages can be overwritten.
    columns: Option<usize>,
    messages: VecDeque<(MessageRef, Vec<String>)>,
    /// The message at the bottom.
    last: Option<Last>,
}

struct Last {
    message: MessageRef,
    /// The first of its lines that is shown there.
    from: usize,
    /// Number of terminal rows that they take.
    rows: usize,
}

impl Screen {
    pub(super) fn new(out: Box<dyn Write + Send>, columns: Option<usize>) -> Self {
        Self { out, columns, messages: VecDeque::new(), last: None }
    }

    /// Notes that the person typed something below the last message.
    pub(super) fn typed(&mut self) {
        self.last = None;
    }

    /// Writes a line that is not part of a message.
    pub(super) fn line(&mut self, line: &str) -> std::io::Result<()> {
        self.last = None;
        writeln!(self.out, "{}", clean(line))?;
        self.out.flush()
    }

    /// Writes a message.
    pub(super) fn post(&mut self, message: &MessageRef, content: &Content) -> std::io::Result<()> {
        let lines = lines(content);
        self.show(message, &lines, 0)?;
        if self.messages.len() >= MAX_MESSAGES {
            self.messages.pop_front();
        }
        self.messages.push_back((message.clone(), lines));
        Ok(())
    }

    /// Writes the changes of a message.
    pub(super) fn edit(&mut self, message: &MessageRef, content: &Content) -> std::io::Result<()> {
        let lines = lines(content);
        let Some(index) = self.messages.iter().position(|(other, _)| other == message) else {
            return self.post(message, content);
        };
        let same = self.messages.get(index).map_or(0, |(_, shown)| {
            shown.iter().zip(&lines).take_while(|(before, now)| before == now).count()
        });
        let at_bottom = self.last.take_if(|last| last.message == *message && self.columns.is_some());
        let from = match at_bottom {
            Some(Last { from, rows, .. }) => {
                // Moves up to its first row and clears everything below.
                write!(self.out, "\x1b[{rows}A\r\x1b[J")?;
                from.min(same)
            }
            None => same,
        };
        if from < lines.len() {
            self.show(message, &lines, from)?;
        }
        if let Some((_, shown)) = self.messages.get_mut(index) {
            *shown = lines;
        }
        Ok(())
    }

    fn show(&mut self, message: &MessageRef, lines: &[String], from: usize) -> std::io::Result<()> {
        let columns = self.columns.unwrap_or(usize::MAX).max(1);
        let mut rows = 0;
        for line in lines.iter().skip(from) {
            rows += line.chars().count().saturating_sub(1) / columns + 1;
            writeln!(self.out, "{line}")?;
        }
        self.out.flush()?;
        self.last = Some(Last { message: message.clone(), from, rows });
        Ok(())
    }
}

/// The lines of a message, followed by its buttons.
fn lines(content: &Content) -> Vec<String> {
    let buttons = content.buttons.iter().map(|button| format!("  [{}]", button.label));
    content.text.plain.lines().map(str::to_owned).chain(buttons).map(|line| clean(&line)).collect()
}

/// Removes control characters, so that text of the model cannot control the terminal.
fn clean(text: &str) -> String {
    text.chars().filter(|character| !character.is_control()).collect()
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::sync::{Arc, Mutex};

    use super::Screen;
    use crate::channel::Content;
    use crate::markup::Rendered;

    #[derive(Clone, Default)]
    struct Output(Arc<Mutex<Vec<u8>>>);

    impl Write for Output {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    fn says(text: &str) -> Content {
        Content { text: Rendered { plain: text.to_owned(), html: None }, buttons: Vec::new() }
    }

    fn check(columns: Option<usize>, talk: impl Fn(&mut Screen)) -> String {
        let output = Output::default();
        talk(&mut Screen::new(Box::new(output.clone()), columns));
        String::from_utf8(output.0.lock().unwrap().clone()).unwrap()
    }

    #[test]
    fn the_last_message_is_overwritten() {
        let shown = check(Some(4), |screen| {
            screen.post(&"1".into(), &says("abcdef\nx")).unwrap();
            screen.edit(&"1".into(), &says("abcdefg")).unwrap();
        });
        assert_eq!(shown, "abcdef\nx\n\x1b[3A\r\x1b[Jabcdefg\n");
    }

    #[test]
    fn lines_above_a_question_are_not_repeated() {
        let shown = check(Some(80), |screen| {
            screen.post(&"1".into(), &says("First.\n\nBash: ls")).unwrap();
            screen.post(&"2".into(), &says("May it?")).unwrap();
            screen.typed();
            screen.edit(&"2".into(), &says("Allowed.")).unwrap();
            screen.edit(&"1".into(), &says("First.\n\nSecond")).unwrap();
            screen.edit(&"1".into(), &says("First.\n\nSecond and last.")).unwrap();
            screen.edit(&"1".into(), &says("First.\n\nSecond and last.")).unwrap();
        });
        let expected = "First.\n\nBash: ls\nMay it?\nAllowed.\nSecond\n\x1b[1A\r\x1b[JSecond and last.\n";
        assert!(shown.starts_with(expected), "{shown:?}");
        assert_eq!(shown.matches("First.").count(), 1);
    }

    #[test]
    fn control_characters_are_removed() {
        assert_eq!(check(None, |screen| screen.post(&"1".into(), &says("a\x1b[2Jb")).unwrap()), "a[2Jb\n");
    }
}
