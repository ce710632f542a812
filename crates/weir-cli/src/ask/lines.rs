//! The standard input, line by line.

use std::collections::VecDeque;
use std::io::BufRead as _;
use std::sync::{Arc, Mutex as StdMutex, PoisonError};

use tokio::sync::{Mutex, mpsc};

/// Lines of the standard input, shared by all clones.
#[derive(Clone)]
pub(crate) struct StdinLines {
    lines: Arc<Mutex<mpsc::Receiver<String>>>,
    given_back: Arc<StdMutex<VecDeque<String>>>,
}

impl StdinLines {
    /// Starts reading, at most one line ahead.
    pub(crate) fn new() -> std::io::Result<Self> {
        let (sender, lines) = mpsc::channel(1);
        // A separate thread, because a blocking read cannot be cancelled. It ends with the program.
        std::thread::Builder::new().name("input".into()).spawn(move || {
            let mut input = std::io::stdin().lock();
            loop {
                let mut line = Vec::new();
                // A read error counts as the end of the input.
                if input.read_until(b'\n', &mut line).unwrap_or(0) == 0 {
                    return;
                }
                let text = String::from_utf8_lossy(&line);
                let text = text.strip_suffix('\n').map(|text| text.strip_suffix('\r').unwrap_or(text));
                let text = text.map_or_else(|| String::from_utf8_lossy(&line).into_owned(), str::to_owned);
                if sender.blocking_send(text).is_err() {
                    return;
                }
            }
        })?;
        Ok(Self { lines: Arc::new(Mutex::new(lines)), given_back: Arc::default() })
    }

    /// The next line; `None` at the end of the input. Cancel safe.
    pub(crate) async fn next(&self) -> Option<String> {
        let mut lines = self.lines.lock().await;
        let kept = self.given_back.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
        match kept {
            Some(line) => Some(line),
            None => lines.recv().await,
        }
    }

    /// Puts a line back: the next reader gets it first.
    pub(crate) fn give_back(&self, line: String) {
        self.given_back.lock().unwrap_or_else(PoisonError::into_inner).push_back(line);
    }
}
