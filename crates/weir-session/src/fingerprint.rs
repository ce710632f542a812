//! Distinguishes sets of options that need separate processes.

use std::hash::{DefaultHasher, Hash, Hasher};

use crate::arguments::{Start, arguments};
use crate::introduction;
use crate::machine::Spawn;
use crate::options::SessionOptions;
use crate::start_files::{self, StartFiles};

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
            Start { spawn: &spawn, new_id: None, project_settings: true, files: &StartFiles::default() };
        arguments(options, &start, &|_| true).hash(&mut hasher);
        (&options.sandbox, &options.user).hash(&mut hasher);
        options.program.hash(&mut hasher);
        options.cwd.hash(&mut hasher);
        options.environment.resolve(std::env::vars_os()).hash(&mut hasher);
        (options.transport == weir_process::Transport::Pty).hash(&mut hasher);
        (&options.log, &options.secrets, &options.state_directory).hash(&mut hasher);
        (options.lock_workspace, options.line_limit, options.handshake).hash(&mut hasher);
        (options.spec.file_checkpointing, options.question_previews).hash(&mut hasher);
        options.mcp_servers.hash(&mut hasher);
        options.subagent_text.hash(&mut hasher);
        let mut members = introduction::members(options);
        // Only for a new session; the title of one that exists stays.
        members.remove("title");
        serde_json::Value::Object(members).to_string().hash(&mut hasher);
        (start_files::servers(options), start_files::settings(options)).hash(&mut hasher);
        for hook in &options.hooks {
            (hook.event.as_str(), &hook.matcher, &hook.callback_ids).hash(&mut hasher);
            (hook.timeout_s, hook.blocks_on_failure).hash(&mut hasher);
        }
        Self(hasher.finish())
    }
}
