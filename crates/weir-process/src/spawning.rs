//! What starting a CLI and starting a plain command have in common.

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};

use tokio::process::Command;

use crate::launch::SpawnError;
use crate::sandbox::{self, Sandbox, SandboxError};

/// The command that creates a sandbox and starts the program in it. It also reads `more`.
#[expect(clippy::disallowed_methods, reason = "this crate starts processes")]
pub(crate) fn fenced(
    sandbox: &Sandbox,
    program: &Path,
    cwd: io::Result<PathBuf>,
    search_path: Option<&OsStr>,
    more: &[PathBuf],
) -> Result<Command, SpawnError> {
    if !cfg!(target_os = "linux") {
        return Err(SpawnError::Sandbox { source: SandboxError::NoSystem });
    }
    let cwd = cwd.map_err(no_sandbox)?;
    let mut readable = sandbox::needed_by(program, search_path);
    readable.extend_from_slice(more);
    let mut command = Command::new(&sandbox.program);
    command.args(sandbox.arguments(&cwd, &readable)).arg(program);
    Ok(command)
}

/// The sandbox cannot be prepared.
#[expect(clippy::needless_pass_by_value, reason = "for `map_err`")]
pub(crate) fn no_sandbox(error: io::Error) -> SpawnError {
    SpawnError::Sandbox { source: SandboxError::NotWorking { reason: error.to_string() } }
}

/// The folder that a sandbox begins in.
pub(crate) fn resolved(cwd: Option<&Path>) -> io::Result<PathBuf> {
    cwd.map_or_else(std::env::current_dir, Path::canonicalize)
}

/// Sets the working directory. The system would only report that something was not found, not what.
pub(crate) fn set_cwd(command: &mut Command, cwd: &Path) -> Result<(), SpawnError> {
    let failed = |source| SpawnError::Directory { path: cwd.to_owned(), source };
    if !std::fs::metadata(cwd).map_err(failed)?.is_dir() {
        return Err(failed(io::ErrorKind::NotADirectory.into()));
    }
    command.current_dir(cwd);
    Ok(())
}

/// Whether a program is looked up in `PATH`.
pub(crate) fn is_name(program: &Path) -> bool {
    program.components().count() == 1 && program.parent() == Some(Path::new(""))
}

/// Why the program of a sandbox did not start.
pub(crate) fn sandbox_failed(sandbox: &Sandbox, source: &io::Error) -> SpawnError {
    let reason = format!("{}: {source}", sandbox.program.display());
    SpawnError::Sandbox { source: SandboxError::NotWorking { reason } }
}
