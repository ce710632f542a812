//! One run of git, with a configuration under which it runs nothing else.

use std::path::Path;
use std::time::Duration;

use weir_process::{Environment, PlainCommand};

/// How long git may take. Hooks do not run and nothing is fetched, so it usually takes far less.
pub const MAX_DURATION: Duration = Duration::from_secs(300);

/// How much of the output is kept.
const MAX_OUTPUT: usize = 64 << 20;

/// Settings with which git runs no program on Weir's behalf, whatever the repository configures. They take precedence
/// over every file.
const QUIET: [&str; 16] = [
    "-c",
    "core.hooksPath=/dev/null",
    "-c",
    "core.fsmonitor=false",
    "-c",
    "core.untrackedCache=false",
    "-c",
    "core.ignoreStat=false",
    "-c",
    "credential.helper=",
    "-c",
    "gc.auto=0",
    "-c",
    "maintenance.auto=false",
    "-c",
    "submodule.recurse=false",
];

/// Variables with which an outer git would point elsewhere, or change what git does.
const OUTER: [&str; 21] = [
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_COMMON_DIR",
    "GIT_NAMESPACE",
    "GIT_CEILING_DIRECTORIES",
    "GIT_ATTR_SOURCE",
    "GIT_EXTERNAL_DIFF",
    "GIT_DIFF_OPTS",
    "GIT_CONFIG",
    "GIT_CONFIG_COUNT",
    "GIT_CONFIG_PARAMETERS",
    "GIT_PREFIX",
    "GIT_LITERAL_PATHSPECS",
    "GIT_GLOB_PATHSPECS",
    "GIT_NOGLOB_PATHSPECS",
    "GIT_ICASE_PATHSPECS",
    "GIT_TRACE",
    "GIT_REPLACE_REF_BASE",
];

/// Git in a folder, without prompts, translated messages, optional locks, hooks, a pager or a transport.
///
/// `state` is where the process is recorded, so that it is found if Weir is killed.
pub fn plain_command(folder: &Path, state: Option<&Path>, args: &[&str], input: &[u8]) -> PlainCommand {
    let words = ["--no-pager"].iter().chain(&QUIET).chain(args).copied();
    let mut command = PlainCommand::new("git").args(words).cwd(folder).input(input);
    command.environment = OUTER
        .iter()
        .fold(Environment::inherit(), |all, name| all.exclude(*name))
        .set("GIT_TERMINAL_PROMPT", "0")
        .set("GIT_OPTIONAL_LOCKS", "0")
        // Objects that a partial clone lacks would be fetched, by a program that the repository names.
        .set("GIT_NO_LAZY_FETCH", "1")
        .set("GIT_ALLOW_PROTOCOL", "none")
        .set("GIT_EDITOR", "false")
        .set("GIT_SEQUENCE_EDITOR", "false")
        .set("GIT_ASKPASS", "false")
        .set("LC_ALL", "C");
    command.timeout = Some(MAX_DURATION);
    command.keep_bytes = MAX_OUTPUT;
    command.leaves_nothing = true;
    command.state_directory = state.map(Path::to_owned);
    command.purpose = "git".to_owned();
    command
}
