//! How the CLI of a loop is run: what no task and no configuration decides.

use std::sync::Arc;
use std::time::Duration;

use weir_loop::agent::{AgentRequest, SessionAgent};
use weir_loop::shell::Folders;
use weir_process::{LogOptions, Secrets};
use weir_session::SessionOptions;

use crate::conversation::environment;
use crate::folders;
use crate::opts::LoopProcessOpts;

/// The agent, and what is masked.
pub(super) fn agent(opts: LoopProcessOpts, places: &Folders) -> anyhow::Result<(SessionAgent, Secrets)> {
    let (environment, secrets) = environment(&opts.env, &opts.secret)?;
    // The CLI's own word for what our hook forbids as well.
    let environment = environment.set("CLAUDE_CODE_DISABLE_BACKGROUND_TASKS", "1");
    let masked = secrets.clone();
    let probe_cache = folders::probe_cache();
    let (logs, state) = (places.logs(), places.state());
    let factory = move |request: &AgentRequest| {
        let mut options = SessionOptions::new();
        options.program.clone_from(&opts.claude);
        options.environment = environment.clone();
        options.secrets = secrets.clone();
        options.probe_cache.clone_from(&probe_cache);
        options.state_directory = Some(state.clone());
        options.partial_messages = false;
        let mut log = LogOptions::new(&logs, &request.mode, &request.task);
        // Without its log a run could not go on after a kill, nor be checked.
        log.require = true;
        options.log = Some(log);
        options.stop.grace = Duration::from_secs(3);
        options
    };
    Ok((SessionAgent::new(Arc::new(factory)), masked))
}
