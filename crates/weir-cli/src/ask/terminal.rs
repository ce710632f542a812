//! The terminal itself, also where the standard streams are something else.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;

use rustix::fs::OFlags;
use rustix::termios::{QueueSelector, tcflush, tcgetpgrp};
use tokio::net::unix::pipe::{Receiver, Sender};

/// The terminal. Nothing is read from it unless somebody is asked, so what is typed otherwise stays there for
/// whoever it is meant for.
pub(crate) struct Terminal {
    input: Receiver,
    output: Sender,
}

impl Terminal {
    /// The terminal, if there is one. Must be called in a tokio runtime.
    pub(crate) fn open() -> Option<Self> {
        // Not pipes, but files that can be waited for in the same way.
        let input = Receiver::from_file_unchecked(open()?).ok()?;
        let output = Sender::from_file_unchecked(open()?).ok()?;
        Some(Self { input, output })
    }

    /// Whether we may read: a job in the background would be stopped by the system.
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
                // Where it cannot be written there is nobody to ask.
                Err(_) => return,
            }
        }
    }

    /// The answer in a line; nothing where nobody answers. Dropping the future takes nothing from the terminal
    /// but what was typed of the line.
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

/// Opened anew, so that not blocking is our own affair.
fn open() -> Option<File> {
    let flags = i32::try_from((OFlags::NONBLOCK | OFlags::NOCTTY).bits()).ok()?;
    OpenOptions::new().read(true).write(true).custom_flags(flags).open("/dev/tty").ok()
}
