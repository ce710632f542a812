//! Starts a program of ours that outlives this one: a run in the background.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// A program that keeps running when this one ends.
#[derive(Debug)]
pub struct Detached(Child);

impl Detached {
    /// Starts a program with its output in a file. Signals of this program's terminal do not reach it if it calls
    /// [`leave_terminal`].
    ///
    /// # Errors
    /// If it cannot be started.
    #[expect(clippy::disallowed_methods, reason = "the program is meant to outlive this one")]
    pub fn start(
        program: &Path,
        args: impl IntoIterator<Item = OsString>,
        variable: (&str, &str),
        output: File,
    ) -> io::Result<Self> {
        let errors = output.try_clone()?;
        let mut command = Command::new(program);
        command.args(args).env(variable.0, variable.1);
        command.stdin(Stdio::null()).stdout(Stdio::from(output)).stderr(Stdio::from(errors));
        command.spawn().map(Self)
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.0.id()
    }

    /// Whether it has ended already.
    ///
    /// # Errors
    /// If that cannot be found out.
    pub fn has_ended(&mut self) -> io::Result<bool> {
        Ok(self.0.try_wait()?.is_some())
    }
}

/// Leaves the terminal: what happens to it does not concern this program any more.
///
/// # Errors
/// If this program leads a group of processes.
pub fn leave_terminal() -> io::Result<()> {
    #[cfg(unix)]
    rustix::process::setsid()?;
    Ok(())
}
