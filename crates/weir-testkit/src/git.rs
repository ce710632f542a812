//! Repositories for tests. Git's settings on this machine do not apply in them.

use std::path::Path;
use std::process::{Command, Stdio};

/// Runs git in a folder and returns what it printed.
///
/// # Panics
/// If git fails.
#[track_caller]
#[expect(clippy::disallowed_methods, reason = "it is waited for")]
#[expect(clippy::expect_used, reason = "a test that cannot continue should stop")]
pub fn git(folder: &Path, arguments: &[&str]) -> String {
    let mut command = Command::new("git");
    command.args(arguments).current_dir(folder).stdin(Stdio::null());
    command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
    let done = command.output().expect("git is installed");
    assert!(done.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8_lossy(&done.stdout).into_owned()
}

/// Makes a folder a repository on the branch `main`, with all files in a first commit.
///
/// # Panics
/// If git fails.
#[track_caller]
pub fn begin_repository(folder: &Path) {
    for arguments in [
        &["init", "-q", "-b", "main"][..],
        &["config", "user.name", "Test"],
        &["config", "user.email", "test@example.com"],
        &["config", "gc.auto", "0"],
        &["add", "-A"],
        &["commit", "-q", "--allow-empty", "-m", "Begin"],
    ] {
        git(folder, arguments);
    }
}
