//! Distinguishes sets of options that need separate processes.

use std::hash::{DefaultHasher, Hash, Hasher};

use crate::arguments::{PromptFiles, Start, arguments};
use crate::machine::Spawn;
use crate::options::SessionOptions;

/// Hash of what a process is started with: folder, model, prompts, tools, environment, logs, secrets, locks.
///
/// Two processes with the same fingerprint are interchangeable. The session, the handler and the observer are
/// not included: they can change without a new process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Fingerprint(u64);

impl Fingerprint {
    /// The fingerprint of a set of options.
    pub fn of(options: &SessionOptions) -> Self {
        let mut hasher = DefaultHasher::new();
        // No id and nothing to resume: what is left is common to all processes.
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
        options.spec.file_checkpointing.hash(&mut hasher);
        options.mcp_servers.hash(&mut hasher);
        options.spec.output_schema.as_ref().map(ToString::to_string).hash(&mut hasher);
        for hook in &options.hooks {
            (&hook.event, &hook.matcher, &hook.callback_ids).hash(&mut hasher);
        }
        Self(hasher.finish())
    }
}
