//! Rules for commands of the documentation. A command without a matching rule has to succeed.

use crate::stage::Stage;

/// How a command is tested.
#[derive(Debug, Clone, Copy)]
pub(crate) enum How {
    /// It runs and ends with exit code 0.
    Succeeds,
    /// It runs and ends with this exit code.
    Ends(i32),
    /// It runs until it is interrupted, and prints this first.
    Runs(&'static str),
    /// It runs on a terminal, shows this, and is ended with Ctrl-D.
    IsLeft(&'static str),
    /// It cannot run here, for this reason. Everything it names has to exist.
    Exists(&'static str),
}

/// A rule for the commands of a file that begin with some words.
#[derive(Debug)]
pub(crate) struct Rule {
    pub(crate) file: &'static str,
    begins: &'static str,
    /// Sets up what the command needs.
    pub(crate) before: Option<fn(&mut Stage)>,
    pub(crate) how: How,
}

impl Rule {
    pub(crate) fn matches(&self, command: &str) -> bool {
        command.starts_with(self.begins)
    }
}

/// The first matching rule.
pub(crate) fn rule(file: &str, command: &str) -> Option<&'static Rule> {
    RULES.iter().find(|rule| rule.file == file && rule.matches(command))
}

/// How a command without a rule is tested. Assignments before a program are ignored.
pub(crate) fn usual(command: &str) -> How {
    let program = command.split_whitespace().find(|word| !word.contains('='));
    match program.unwrap_or_default() {
        "make" => How::Exists(
            "builds the project, and installs what that needs; scripts/fresh.sh and .ci/run run it",
        ),
        "cargo" => How::Exists("builds the project"),
        "docker" => How::Exists("needs a container engine and its images"),
        word if word.starts_with("scripts/") => How::Exists("installs programs, or needs root"),
        word if word.starts_with("target/") => {
            How::Exists("is built by another command, and needs real CLIs")
        }
        _ => How::Succeeds,
    }
}

const fn rule_for(file: &'static str, begins: &'static str, how: How) -> Rule {
    Rule { file, begins, before: None, how }
}

const fn rule_after(file: &'static str, begins: &'static str, before: fn(&mut Stage), how: How) -> Rule {
    Rule { file, begins, before: Some(before), how }
}

fn change_a_file(stage: &mut Stage) {
    stage.write("workspace/README.md", "A mill that grinds numbers.\n\nIt is small.\n");
}

fn have_instructions(stage: &mut Stage) {
    stage.write("workspace/CLAUDE.md", "Grind slowly.\n");
}

fn listen_on_any_port(stage: &mut Stage) {
    stage.have_tasks();
    stage.swap("--listen", "--listen 127.0.0.1:0");
}

const README: &str = "README.md";
const INSTALL: &str = "docs/install.md";
const COMMANDS: &str = "docs/commands.md";
const SERVER: &str = "docs/server.md";
const EVENTS: &str = "docs/events.md";
const STORE: &str = "docs/store.md";
const LOOP: &str = "docs/loop.md";
const BRIDGE: &str = "docs/bridge.md";
const TESTING: &str = "docs/testing.md";

/// All rules. The first matching one applies.
pub(crate) const RULES: &[Rule] = &[
    rule_after(README, "git diff |", change_a_file, How::Succeeds),
    rule_for(README, "weir chat", How::IsLeft("> ")),
    rule_for(README, "weir serve", How::Runs("serving on")),
    rule_for(README, "weir bridge try", How::IsLeft("Ctrl-D ends it")),
    rule_after(README, "weir bridge check", Stage::have_channel, How::Succeeds),
    rule_for(README, "weir bridge run", How::Runs("running on webhook")),
    rule_for(INSTALL, "weir service install --print", How::Succeeds),
    rule_for(INSTALL, "weir service", How::Exists("changes the services of the user who runs the test")),
    rule_after(COMMANDS, "git diff |", change_a_file, How::Succeeds),
    rule_after(COMMANDS, "weir run --resume", Stage::have_session, How::Succeeds),
    rule_for(COMMANDS, "weir chat", How::IsLeft("> ")),
    rule_after(COMMANDS, "weir review", change_a_file, How::Succeeds),
    rule_after(COMMANDS, "weir sessions show", Stage::have_session, How::Succeeds),
    rule_for(COMMANDS, "weir trust --", How::Succeeds),
    // It asks, and without a terminal the answer is no.
    rule_after(COMMANDS, "weir trust", have_instructions, How::Ends(1)),
    rule_for(SERVER, "weir serve", How::Runs("serving on")),
    rule_after(SERVER, "curl", Stage::have_server, How::Runs("event: hello")),
    rule_after(EVENTS, "curl", Stage::have_server, How::Runs("event: done")),
    rule_for(STORE, "weir serve", How::Runs("serving on")),
    rule_after(LOOP, "weir loop answer --question", Stage::have_second_question, How::Succeeds),
    rule_after(LOOP, "weir loop answer", Stage::have_question, How::Succeeds),
    rule_after(LOOP, "weir loop run --listen", listen_on_any_port, How::Succeeds),
    rule_for(
        LOOP,
        "weir loop run --sandbox",
        How::Exists("needs bubblewrap, and a CLI that can be seen inside; weir-cli/tests/loops runs it"),
    ),
    rule_for(LOOP, "weir loop run --bridge", How::Exists("needs Telegram")),
    rule_for(BRIDGE, "weir bridge try", How::IsLeft("Ctrl-D ends it")),
    rule_after(BRIDGE, "weir bridge check", Stage::have_channel, How::Succeeds),
    rule_for(BRIDGE, "weir bridge run", How::Runs("running on webhook")),
    // The bridge of the command before was ended.
    rule_for(BRIDGE, "weir bridge status", How::Ends(1)),
    rule_for(BRIDGE, "weir serve", How::Runs("running on webhook")),
    rule_after(BRIDGE, "weir loop run", Stage::have_tasks, How::Succeeds),
    rule_for(TESTING, "env -i", How::Exists("needs a real CLI and the port of a scripted API")),
];
