//! A repository with a task list.

use std::process::{Command, Stdio};

use crate::common::{Done, Place};

/// Gives a place a repository with this list and configuration.
pub(crate) fn repository(place: &Place, list: &str, config: &str) {
    std::fs::write(place.workspace().join("TASKS.md"), list).unwrap();
    std::fs::write(place.workspace().join("weir.toml"), config).unwrap();
    for args in [
        &["init", "-q", "-b", "main"][..],
        &["config", "user.name", "Test"],
        &["config", "user.email", "test@example.com"],
        &["add", "-A"],
        &["commit", "-q", "-m", "Begin"],
    ] {
        git(place, args);
    }
}

/// Runs git in the workspace.
#[expect(clippy::disallowed_methods, reason = "it is waited for")]
pub(crate) fn git(place: &Place, args: &[&str]) -> String {
    let mut command = Command::new("git");
    command.args(args).current_dir(place.workspace()).stdin(Stdio::null());
    command.env_clear().envs(place.environment().iter().cloned());
    let done = command.output().unwrap();
    assert!(done.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8(done.stdout).unwrap()
}

/// A task with a script for the simulated CLI that runs a command.
pub(crate) fn task(title: &str, command: &str) -> String {
    let command = serde_json::Value::from(command);
    format!(
        "- [ ] {title}\n  @@[{{\"tool\":\"Bash\",\"input\":{{\"command\":{command}}}}},{{\"text\":\"Done.\"}}]\n"
    )
}

/// The state of the run.
pub(crate) fn state(place: &Place) -> serde_json::Value {
    let text = std::fs::read_to_string(place.workspace().join(".ralph/state/run.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// The subjects of the commits since the first, oldest first.
pub(crate) fn commits(place: &Place) -> Vec<String> {
    git(place, &["log", "--first-parent", "--reverse", "--format=%s"])
        .lines()
        .skip(1)
        .map(str::to_owned)
        .collect()
}

/// Runs `weir loop` with these arguments.
pub(crate) fn weir_loop(place: &Place, args: &[&str]) -> Done {
    let all: Vec<&str> = std::iter::once("loop").chain(args.iter().copied()).collect();
    place.weir(&all)
}
