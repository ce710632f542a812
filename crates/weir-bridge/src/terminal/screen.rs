//! What stands on the terminal, and how a message that is changed is shown there.
//!
//! The last message is written over. What is above it stays as it is: of a change only the lines that are new are
//! written, below.

use std::collections::VecDeque;
use std::io::Write;

use crate::channel::{Content, MessageRef};

/// Messages that may still be changed.
const MOST_MESSAGES: usize = 32;

/// What stands on the terminal.
pub(super) struct Screen {
    out: Box<dyn Write + Send>,
    /// Columns of a terminal on which messages can be written over.
    columns: Option<usize>,
    messages: VecDeque<(MessageRef, Vec<String>)>,
    /// The message at the bottom.
    last: Option<Last>,
}

struct Last {
    message: MessageRef,
    /// The first of its lines that stands there.
    from: usize,
    /// How many rows they take.
    rows: usize,
}

impl Screen {
    pub(super) fn new(out: Box<dyn Write + Send>, columns: Option<usize>) -> Self {
        Self { out, columns, messages: VecDeque::new(), last: None }
    }

    /// Somebody typed something below what stands there.
    pub(super) fn typed(&mut self) {
        self.last = None;
    }

    /// Writes a line that is no message.
    pub(super) fn line(&mut self, line: &str) -> std::io::Result<()> {
        self.last = None;
        writeln!(self.out, "{}", clean(line))?;
        self.out.flush()
    }

    /// Writes a message.
    pub(super) fn post(&mut self, message: &MessageRef, content: &Content) -> std::io::Result<()> {
        let lines = lines(content);
        self.show(message, &lines, 0)?;
        if self.messages.len() >= MOST_MESSAGES {
            self.messages.pop_front();
        }
        self.messages.push_back((message.clone(), lines));
        Ok(())
    }

    /// Writes what is new of a message.
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
                // Up to where it begins, and everything below is gone.
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

/// The lines of a message, with its buttons below.
fn lines(content: &Content) -> Vec<String> {
    let buttons = content.buttons.iter().map(|button| format!("  [{}]", button.label));
    content.text.plain.lines().map(str::to_owned).chain(buttons).map(|line| clean(&line)).collect()
}

/// What the model says must not steer the terminal.
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
    struct Paper(Arc<Mutex<Vec<u8>>>);

    impl Write for Paper {
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
        let paper = Paper::default();
        talk(&mut Screen::new(Box::new(paper.clone()), columns));
        String::from_utf8(paper.0.lock().unwrap().clone()).unwrap()
    }

    #[test]
    fn the_last_message_is_written_over() {
        let shown = check(Some(4), |screen| {
            screen.post(&"1".into(), &says("abcdef\nx")).unwrap();
            screen.edit(&"1".into(), &says("abcdefg")).unwrap();
        });
        assert_eq!(shown, "abcdef\nx\n\x1b[3A\r\x1b[Jabcdefg\n");
    }

    #[test]
    fn what_stands_above_a_question_is_not_repeated() {
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
    fn nothing_steers_the_terminal() {
        assert_eq!(check(None, |screen| screen.post(&"1".into(), &says("a\x1b[2Jb")).unwrap()), "a[2Jb\n");
    }
}
