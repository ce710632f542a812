//! Converts the settings of a scenario's process into session options.

use weir_process::{Environment, LogOptions};
use weir_session::{Origin, SessionOptions};
use weir_testkit::Place;
use weir_testkit::api::ScriptedApi;
use weir_testkit::scenario::{Cli, MODEL_FLAGS, Process};
use weir_transcript::FoldOptions;
use weir_wire::HookRegistration;

use crate::host::{Host, hook_name};
use crate::recorder::Recorder;

/// Options for a process of a scenario. `session` is that of the previous process.
pub(crate) fn options(
    (cli, place, api): (&Cli, &Place, &ScriptedApi),
    process: &Process,
    session: &str,
    host: &Host,
    recorder: &Recorder,
) -> SessionOptions {
    let mut environment = Environment::empty();
    let version = cli.version.to_string();
    let simulated = cli.simulated.then_some(("SIMULATED_CLAUDE_VERSION", version.as_str()));
    for (name, value) in place.environment(&api.url()) {
        environment = environment.set(name, value);
    }
    for (name, value) in process.environment.iter().copied().chain(simulated) {
        environment = environment.set(name, value);
    }
    let mut options = SessionOptions::new()
        .program(&cli.program)
        .cwd(place.directory())
        .environment(environment)
        .state_directory(place.root().join("state"))
        .observer(recorder.clone());
    options.spec.model = MODEL_FLAGS.last().map(|model| (*model).to_owned());
    options.partial_messages = false;
    options.fold = FoldOptions::default();
    options.log = Some(LogOptions::new(place.root().join("logs"), "test", "scenario"));
    if !process.unattended {
        options = options.handler(host.clone());
    }
    #[cfg(feature = "mcp")]
    if let Some(name) = process.mcp_server {
        options = options.mcp_server(name, crate::calc::calc().0);
    }
    options.hooks = process.hooks.iter().enumerate().map(registration).collect();
    let fill = |flag: &String| {
        flag.replace("{{CWD}}", &place.directory().to_string_lossy()).replace("{{SESSION}}", session)
    };
    flags(&mut options, process.flags.iter().map(fill).collect());
    options
}

fn registration((place, hook): (usize, &weir_testkit::scenario::Hook)) -> HookRegistration {
    HookRegistration {
        matcher: hook.matcher.map(str::to_owned),
        ..HookRegistration::new(hook.event, hook_name(place))
    }
}

/// Flags that have an option are converted; the others are passed on.
fn flags(options: &mut SessionOptions, flags: Vec<String>) {
    let mut flags = flags.into_iter();
    while let Some(flag) = flags.next() {
        let mut value = || flags.next().unwrap();
        match flag.as_str() {
            "--include-partial-messages" => options.partial_messages = true,
            "--continue" => options.origin = Origin::Continue,
            "--resume" => options.origin = Origin::Resume(value().as_str().into()),
            "--session-id" => options.origin = Origin::Named(value().as_str().into()),
            "--fork-session" => {
                let Origin::Resume(id) = options.origin.clone() else { continue };
                options.origin = Origin::Fork(id);
            }
            "--no-session-persistence" => options.spec.no_session_persistence = true,
            "--max-turns" => options.spec.max_turns = value().parse().ok(),
            "--max-budget-usd" => options.spec.max_cost_usd = value().parse().ok(),
            "--permission-mode" => options.spec.permission_mode = Some(value()),
            "--allowedTools" => options.spec.allowed_tools.extend(value().split(',').map(str::to_owned)),
            "--disallowedTools" => options.spec.disallowed_tools.push(value()),
            _ => options.extra_args.push(flag.into()),
        }
    }
}
