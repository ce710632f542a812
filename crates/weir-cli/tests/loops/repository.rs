//! A repository with a task list.

use weir_testkit::begin_repository;

use crate::common::{Done, Place};

/// Gives a place a repository with this list and configuration.
pub(crate) fn repository(place: &Place, list: &str, config: &str) {
    std::fs::write(place.workspace().join("TASKS.md"), list).unwrap();
    std::fs::write(place.workspace().join("weir.toml"), config).unwrap();
    begin_repository(&place.workspace());
}

/// Runs git in the workspace.
pub(crate) fn git(place: &Place, args: &[&str]) -> String {
    weir_testkit::git(&place.workspace(), args)
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
