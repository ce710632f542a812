//! Tells sets of options apart that need processes of their own.

use std::hash::{DefaultHasher, Hash, Hasher};

use crate::arguments::{PromptFiles, Start, arguments};
use crate::machine::Spawn;
use crate::options::SessionOptions;

/// What a process was started with, in a number: folder, model, prompts, tools, environment, logs, secrets, locks.
///
/// Two processes with the same fingerprint can stand in for each other. Which conversation it is, who decides and
/// who watches do not count: those can change without a new process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Fingerprint(u64);

impl Fingerprint {
    /// The fingerprint of a set of options.
    pub fn of(options: &SessionOptions) -> Self {
        let mut hasher = DefaultHasher::new();
        // No name and nothing to resume: what is left is what all processes have in common.
        let spawn = Spawn::default();
        let start =
            Start { spawn: &spawn, new_id: None, project_settings: true, prompts: &PromptFiles::default() };
        arguments(options, &start, &|_| true).hash(&mut hasher);
        options.sandbox.hash(&mut hasher);
        options.program.hash(&mut hasher);
        options.cwd.hash(&mut hasher);
        options.environment.resolve(std::env::vars_os()).hash(&mut hasher);
        (options.transport == weir_process::Transport::Pty).hash(&mut hasher);
        (&options.log, &options.secrets, &options.state_directory).hash(&mut hasher);
        (options.lock_workspace, options.line_limit, options.handshake).hash(&mut hasher);
        options.mcp_servers.hash(&mut hasher);
        options.output_schema.as_ref().map(ToString::to_string).hash(&mut hasher);
        for hook in &options.hooks {
            (&hook.event, &hook.matcher, &hook.callback_ids).hash(&mut hasher);
        }
        Self(hasher.finish())
    }
}
