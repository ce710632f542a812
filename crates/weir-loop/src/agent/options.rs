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

/// What the loop demands of a session in addition to its settings. It is not part of those: a person who continues the
/// session later does so without the loop.
fn demands(request: &AgentRequest, permissions: PermissionPolicy) -> SessionSpec {
    // The loop commits only what is in the folder that it gave the session.
    let disallowed_tools = vec![crate::allowlist::LEAVES_THE_FOLDER.to_owned()];
    let unlisted = match permissions {
        PermissionPolicy::Deny => Unlisted::Absent,
        PermissionPolicy::Ask => Unlisted::Asked,
    };
    let tools = (!request.skip_permissions).then(|| tools_of_rules(&request.spec.allowed_tools, unlisted));
    SessionSpec { tools, disallowed_tools, ..SessionSpec::default() }
}

/// The options of the session.
pub(super) fn options(
    factory: &SessionFactory,
    request: &AgentRequest,
    permissions: PermissionPolicy,
    handler: Arc<dyn Handler>,
) -> SessionOptions {
    let mut options = factory(request);
    options.spec = std::mem::take(&mut options.spec).with_defaults(demands(request, permissions));
    options.rules = Some(request.rules.to_owned());
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
