//! The options of a session: those of the program, and those that a task needs in addition.

use std::sync::Arc;

use weir_session::{Handler, Origin, SessionOptions, SessionSpec, Unlisted, tools_of_rules};
use weir_wire::CliSessionId;

use super::{AgentRequest, hooks};
use crate::config::PermissionPolicy;

/// How long background tasks may take after the answer.
pub(super) const BACKGROUND: std::time::Duration = std::time::Duration::from_secs(60);

/// Provides the options that do not depend on the task: the program, its environment, logs, the folder for locks.
pub type SessionFactory = Arc<dyn Fn(&AgentRequest) -> SessionOptions + Send + Sync>;

/// What the session of a request is to be like.
pub(super) fn spec(request: &AgentRequest, permissions: PermissionPolicy) -> SessionSpec {
    let mut spec = request.spec.clone();
    let rules = request.rules;
    spec.append_system_prompt = Some(match spec.append_system_prompt {
        Some(more) => format!("{rules}\n\n{more}"),
        None => rules.to_owned(),
    });
    // The loop commits only what is in the folder that it gave the session.
    spec.disallowed_tools.push(crate::allowlist::LEAVES_THE_FOLDER.to_owned());
    if request.skip_permissions {
        return spec;
    }
    let unlisted = match permissions {
        PermissionPolicy::Deny => Unlisted::Absent,
        PermissionPolicy::Ask => Unlisted::Asked,
    };
    let tools = Some(tools_of_rules(&spec.allowed_tools, unlisted));
    spec.with_defaults(SessionSpec { tools, ..SessionSpec::default() })
}

/// The other options of the session.
pub(super) fn options(
    factory: &SessionFactory,
    request: &AgentRequest,
    handler: Arc<dyn Handler>,
) -> SessionOptions {
    let mut options = factory(request);
    let id = CliSessionId::new(request.session_id.clone());
    options.origin = if request.resume { Origin::Resume(id) } else { Origin::Named(id) };
    options.limits.background = Some(BACKGROUND);
    options.extra_args.extend(request.extra_args.iter().map(Into::into));
    if request.skip_permissions {
        options.extra_args.push("--dangerously-skip-permissions".into());
    }
    options.hooks.push(hooks::registration());
    options.handler = Some(handler);
    options
}
