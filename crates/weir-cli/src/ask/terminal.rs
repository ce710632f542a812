//! The terminal itself, even if the standard streams are redirected.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;

use rustix::fs::OFlags;
use rustix::termios::{QueueSelector, tcflush, tcgetpgrp};
use tokio::net::unix::pipe::{Receiver, Sender};

/// The terminal. It is read only while a question is open; anything else that is typed stays there for other
/// programs.
pub(crate) struct Terminal {
    input: Receiver,
    output: Sender,
}

impl Terminal {
    /// The terminal, if there is one. Must be called in a tokio runtime.
    pub(crate) fn open() -> Option<Self> {
        // These are not pipes, but can be polled in the same way.
        let input = Receiver::from_file_unchecked(open()?).ok()?;
        let output = Sender::from_file_unchecked(open()?).ok()?;
        Some(Self { input, output })
    }

    /// Whether we may read: the system would stop a background job that does.
    fn is_ours(&self) -> bool {
        tcgetpgrp(&self.input).is_ok_and(|group| group == rustix::process::getpgrp())
    }

    /// Shows something.
    pub(crate) async fn say(&mut self, text: &str) {
        let mut rest = text.as_bytes();
        while !rest.is_empty() && self.output.writable().await.is_ok() {
            match self.output.try_write(rest) {
                Ok(count) => rest = rest.get(count..).unwrap_or_default(),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                // If this cannot be written, no answer will come either.
                Err(_) => return,
            }
        }
    }

    /// Asks for a line; `None` if there is no answer. Dropping the future loses only what was typed of the line.
    pub(crate) async fn ask(&mut self, prompt: &str) -> Option<String> {
        if !self.is_ours() {
            return None;
        }
        // What was typed before the question is not an answer to it.
        let _ = tcflush(&self.input, QueueSelector::IFlush);
        self.say(prompt).await;
        let mut line = Vec::new();
        loop {
            self.input.readable().await.ok()?;
            let mut buffer = [0; 4096];
            match self.input.try_read(&mut buffer) {
                Ok(count) if count > 0 => line.extend_from_slice(buffer.get(..count)?),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => continue,
                _ => return None,
            }
            if let Some(end) = line.iter().position(|byte| *byte == b'\n') {
                line.truncate(end);
                return Some(String::from_utf8_lossy(&line).trim().to_owned());
            }
        }
    }
}

/// Opens the terminal separately, so that non-blocking mode affects only us.
fn open() -> Option<File> {
    let flags = i32::try_from((OFlags::NONBLOCK | OFlags::NOCTTY).bits()).ok()?;
    OpenOptions::new().read(true).write(true).custom_flags(flags).open("/dev/tty").ok()
}
