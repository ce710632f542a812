//! A program on its own terminal.

use std::fs::File;
use std::io::Write as _;
use std::os::fd::OwnedFd;
use std::process::{Child, Stdio};

use pty_process::Size;
use pty_process::blocking::{Command, Pts, open};
use rustix::process::{Pid, Signal, kill_process};

use super::capture::Capture;
use super::running::wait;
use super::{Done, Place};

/// A program on a terminal.
pub(crate) struct Terminal {
    keyboard: File,
    screen: Capture,
    child: Child,
    /// Held so that the screen stays while the program does not have it open.
    line: Option<Pts>,
    /// How much of the screen was already matched by `wait_for`.
    seen: std::cell::Cell<usize>,
}

impl Terminal {
    /// `weir` with these arguments, with all three streams on a terminal of 80 columns.
    pub(crate) fn weir(place: &Place, args: &[&str]) -> Self {
        Self::start(place, args, |command| command)
    }

    /// Like [`Self::weir`], with some of the streams redirected.
    pub(crate) fn start(place: &Place, args: &[&str], change: impl FnOnce(Command) -> Command) -> Self {
        let (pty, pts) = open().unwrap();
        pty.resize(Size::new(24, 80)).unwrap();
        let command = Command::new(env!("CARGO_BIN_EXE_weir")).args(args).env_clear();
        let command = command.envs(place.environment().iter().cloned()).current_dir(place.workspace());
        let child = change(command).spawn_borrowed(&pts).unwrap();
        let keyboard = File::from(OwnedFd::from(pty));
        let screen = Capture::of(keyboard.try_clone().unwrap());
        Self { keyboard, screen, child, line: Some(pts), seen: std::cell::Cell::new(0) }
    }

    /// A stream that is not the terminal.
    pub(crate) fn file(file: File) -> Stdio {
        Stdio::from(file)
    }

    /// Types this.
    pub(crate) fn keys(&mut self, keys: &str) {
        self.keyboard.write_all(keys.as_bytes()).unwrap();
    }

    /// Types a line.
    pub(crate) fn line(&mut self, text: &str) {
        self.keys(&format!("{text}\r"));
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Waits until this text is on the screen, after the previous match.
    #[track_caller]
    pub(crate) fn wait_for(&self, text: &str) {
        let from = self.seen.get();
        let found = |bytes: &[u8]| plain(bytes).get(from..).and_then(|rest| rest.find(text));
        self.screen.wait(text, |bytes| found(bytes).is_some());
        let place = found(&self.screen.so_far()).unwrap();
        self.seen.set(from + place + text.len());
    }

    /// Everything that was on the screen so far, with its escape sequences.
    pub(crate) fn raw(&self) -> String {
        String::from_utf8_lossy(&self.screen.so_far()).into_owned()
    }

    /// Whether the terminal reads lines, as it did at the beginning.
    pub(crate) fn reads_lines(&self) -> bool {
        let settings = rustix::termios::tcgetattr(&self.keyboard).unwrap();
        settings.local_modes.contains(rustix::termios::LocalModes::ICANON | rustix::termios::LocalModes::ECHO)
    }

    /// Waits for the program to exit, and returns whether the terminal reads lines again.
    pub(crate) fn reads_lines_after_exit(mut self) -> bool {
        wait(&mut self.child, &self.screen);
        self.reads_lines()
    }

    /// Waits for the program to exit. The standard output is the screen without escape sequences.
    #[track_caller]
    pub(crate) fn finish(mut self) -> Done {
        let code = wait(&mut self.child, &self.screen);
        self.line = None;
        let screen = plain(&self.screen.all());
        Done { code, stdout: screen.clone().into_bytes(), stderr: screen }
    }
}

/// The text without escape sequences and carriage returns.
fn plain(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let mut plain = String::new();
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\r' => {}
            '\u{1b}' => {
                // `ESC [ … letter`, or two letters.
                if letters.next() == Some('[') {
                    let end = letters.by_ref().find(char::is_ascii_alphabetic);
                    // An erased line counts as a line break.
                    plain.extend(end.filter(|end| *end == 'K').map(|_| '\n'));
                }
            }
            _ => plain.push(letter),
        }
    }
    plain
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // If it has ended, it is already reaped and this does nothing.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
