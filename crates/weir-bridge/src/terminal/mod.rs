//! A chat in the terminal, for trying things out: one chat, one person, no account.

mod screen;

use std::fmt;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{Mutex as AsyncMutex, Notify, mpsc};
use weir_base::time::now_ms;

use crate::channel::{
    BoxFuture, Capabilities, Channel, Incoming, IncomingBody, IncomingText, Inlet, MessageRef, Operation,
    OperationError, OutgoingFile, Place, Sender,
};
use crate::error::BridgeError;
use crate::file_names::{free_name, safe_name};
use crate::markup::Markup;
use screen::Screen;

/// Id of the person at the terminal.
pub const PERSON: &str = "you";

/// A chat in the terminal.
pub struct TerminalChannel {
    lines: AsyncMutex<mpsc::Receiver<String>>,
    screen: Mutex<Screen>,
    started: i64,
    count: AtomicI64,
    posts: AtomicU64,
    /// Width of a terminal on which messages can be overwritten, or `None` if the output is a file or a pipe.
    columns: Option<usize>,
    /// Folder for the agent's pictures.
    pictures: Option<PathBuf>,
    ended: Notify,
}

impl fmt::Debug for TerminalChannel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TerminalChannel").field("columns", &self.columns).finish_non_exhaustive()
    }
}

impl TerminalChannel {
    /// A chat that reads these lines and writes to `out`.
    pub fn new(lines: mpsc::Receiver<String>, out: Box<dyn Write + Send>, columns: Option<usize>) -> Self {
        Self {
            lines: AsyncMutex::new(lines),
            screen: Mutex::new(Screen::new(out, columns)),
            started: now_ms(),
            count: AtomicI64::new(0),
            posts: AtomicU64::new(0),
            columns,
            pictures: None,
            ended: Notify::new(),
        }
    }

    /// Saves the agent's pictures in this folder and prints their paths.
    #[must_use]
    pub fn pictures(mut self, folder: PathBuf) -> Self {
        self.pictures = Some(folder);
        self
    }

    /// Waits until the input has ended and all lines are stored. Supports a single waiter.
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
            body: IncomingBody::Text(IncomingText::new(text)),
        }
    }

    fn write(&self, operation: Operation) -> std::io::Result<Option<MessageRef>> {
        let mut screen = self.screen();
        match operation {
            Operation::Post { content, .. } => {
                let name: MessageRef = self.posts.fetch_add(1, Ordering::Relaxed).to_string().into();
                screen.post(&name, &content)?;
                Ok(Some(name))
            }
            Operation::Edit { message, content, .. } => {
                screen.edit(&message, &content)?;
                Ok(None)
            }
            Operation::Upload { file, .. } => {
                let line = match &self.pictures {
                    Some(folder) => format!("[{}]", save(folder, &file)?.display()),
                    None => format!("[{}, {} bytes]", file.name, file.data.len()),
                };
                screen.line(&line)?;
                Ok(None)
            }
            Operation::Delete { .. } | Operation::Typing { .. } | Operation::React { .. } => Ok(None),
        }
    }
}

/// Saves a file in a folder under a name that is not taken.
fn save(folder: &Path, file: &OutgoingFile) -> std::io::Result<PathBuf> {
    std::fs::create_dir_all(folder)?;
    let path = folder.join(free_name(folder, &safe_name(&file.name)));
    std::fs::write(&path, &file.data)?;
    Ok(path)
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
            largest_picture: Some(u64::MAX),
            // The output of earlier runs does not matter.
            posts_once: true,
            edit_interval_ms: 200,
        }
    }

    fn run(self: Arc<Self>, inlet: Inlet) -> BoxFuture<'static, Result<(), BridgeError>> {
        Box::pin(async move {
            let mut lines = self.lines.lock().await;
            while let Some(line) = lines.recv().await {
                self.screen().typed();
                if inlet.deliver(self.line(&inlet, line), Vec::new()).await.is_err() {
                    return Ok(());
                }
            }
            self.ended.notify_one();
            // Replies are still to come after the end of the input.
            std::future::pending().await
        })
    }

    fn perform(&self, operation: Operation) -> BoxFuture<'_, Result<Option<MessageRef>, OperationError>> {
        let done = self.write(operation).map_err(|error| OperationError::Refused(error.to_string()));
        Box::pin(std::future::ready(done))
    }

    fn check(&self) -> BoxFuture<'_, Result<Vec<String>, BridgeError>> {
        Box::pin(std::future::ready(Ok(vec!["the terminal works".to_owned()])))
    }
}
