//! A chat on a terminal, for trying out: one chat, one person, no account.

use std::fmt;
use std::io::Write;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{Mutex as AsyncMutex, Notify, mpsc};

use crate::channel::{
    Capabilities, Channel, Content, Doing, Incoming, IncomingBody, Inlet, MessageRef, Operation,
    OperationError, Place, Sender,
};
use crate::error::BridgeError;
use crate::markup::Markup;

/// The person at the terminal, as the configuration would name them.
pub const PERSON: &str = "you";

/// A chat on a terminal.
pub struct TerminalChannel {
    lines: AsyncMutex<mpsc::Receiver<String>>,
    screen: Mutex<Screen>,
    started: i64,
    count: AtomicI64,
    posts: AtomicU64,
    /// Columns of a terminal on which messages can be written over; none where the output is a file or a pipe.
    columns: Option<usize>,
    ended: Notify,
}

struct Screen {
    out: Box<dyn Write + Send>,
    /// The last message, with the number of rows that it takes.
    last: Option<(MessageRef, usize)>,
}

impl fmt::Debug for TerminalChannel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TerminalChannel").field("columns", &self.columns).finish_non_exhaustive()
    }
}

impl TerminalChannel {
    /// A chat that reads these lines and writes there.
    pub fn new(lines: mpsc::Receiver<String>, out: Box<dyn Write + Send>, columns: Option<usize>) -> Self {
        Self {
            lines: AsyncMutex::new(lines),
            screen: Mutex::new(Screen { out, last: None }),
            started: crate::now(),
            count: AtomicI64::new(0),
            posts: AtomicU64::new(0),
            columns,
            ended: Notify::new(),
        }
    }

    /// Waits until no more lines come and all that came are kept. For one who waits.
    pub async fn ended(&self) {
        self.ended.notified().await;
    }

    fn screen(&self) -> MutexGuard<'_, Screen> {
        self.screen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn line(&self, inlet: &Inlet, text: String) -> Incoming {
        let number = self.count.fetch_add(1, Ordering::Relaxed);
        Incoming {
            key: format!("{}-{number}", self.started),
            place: Place { channel: inlet.channel().clone(), chat: "terminal".into(), thread: None },
            sender: Sender { id: PERSON.into(), name: PERSON.to_owned(), is_bot: false },
            direct: true,
            addressed: true,
            order: number,
            message: None,
            body: IncomingBody::Text { text, attachments: Vec::new(), reply_to: None },
        }
    }

    fn write(&self, operation: Operation) -> std::io::Result<Option<MessageRef>> {
        let mut screen = self.screen();
        match operation {
            Operation::Post { content, .. } => {
                let name: MessageRef = self.posts.fetch_add(1, Ordering::Relaxed).to_string().into();
                screen.show(&name, &content, self.columns)?;
                Ok(Some(name))
            }
            Operation::Edit { message, content, .. } => {
                let rows = screen.last.as_ref().filter(|(last, _)| *last == message).map(|(_, rows)| *rows);
                if let (Some(rows), Some(_)) = (rows, self.columns) {
                    // Up to where the message begins, and everything below is gone.
                    write!(screen.out, "\x1b[{rows}A\r\x1b[J")?;
                }
                screen.show(&message, &content, self.columns)?;
                Ok(None)
            }
            Operation::Upload { name, text, .. } => {
                writeln!(screen.out, "[file {name}]\n{text}")?;
                screen.last = None;
                screen.out.flush()?;
                Ok(None)
            }
            Operation::Delete { .. } | Operation::Typing { .. } | Operation::React { .. } => Ok(None),
        }
    }
}

impl Screen {
    fn show(&mut self, name: &MessageRef, content: &Content, columns: Option<usize>) -> std::io::Result<()> {
        // What the model says must not steer the terminal.
        let clean = |text: &str| -> String {
            text.chars().filter(|character| *character == '\n' || !character.is_control()).collect()
        };
        let mut text = clean(&content.text.plain);
        for button in &content.buttons {
            text.push_str(&format!("\n  [{}]", clean(&button.label)));
        }
        let columns = columns.unwrap_or(usize::MAX).max(1);
        let rows = text.lines().map(|line| line.chars().count().saturating_sub(1) / columns + 1).sum();
        writeln!(self.out, "{text}")?;
        self.out.flush()?;
        self.last = Some((name.clone(), rows));
        Ok(())
    }
}

impl Channel for TerminalChannel {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            markup: Markup::Plain,
            longest: 8_000,
            edits: self.columns.is_some(),
            deletes: false,
            typing: false,
            buttons: false,
            reactions: false,
            files: false,
            // What a terminal showed before a restart is not there any more.
            posts_once: true,
            edit_interval_ms: 200,
        }
    }

    fn run(self: Arc<Self>, inlet: Inlet) -> Doing<'static, Result<(), BridgeError>> {
        Box::pin(async move {
            let mut lines = self.lines.lock().await;
            while let Some(line) = lines.recv().await {
                self.screen().last = None;
                if inlet.deliver(self.line(&inlet, line), Vec::new()).await.is_err() {
                    return Ok(());
                }
            }
            self.ended.notify_one();
            // The end of the input is not the end of what it asked for.
            std::future::pending().await
        })
    }

    fn perform(&self, operation: Operation) -> Doing<'_, Result<Option<MessageRef>, OperationError>> {
        let done = self.write(operation).map_err(|error| OperationError::Refused(error.to_string()));
        Box::pin(std::future::ready(done))
    }

    fn check(&self) -> Doing<'_, Result<Vec<String>, BridgeError>> {
        Box::pin(std::future::ready(Ok(vec!["the terminal works".to_owned()])))
    }
}
