//! Checks who is logged in, as far as the CLI says at its start.

use std::path::Path;
use std::time::Duration;

use serde_json::Value;
use weir_session::{Login, Session, SessionOptions};

use super::report::Report;
use super::settings::Settings;
use crate::explain::explain;
use crate::folders;

/// Longer than the slowest CLI takes to start.
const PATIENCE: Duration = Duration::from_secs(30);

/// Variables that decide who pays, with their effects.
const VARIABLES: [(&str, &str); 6] = [
    ("ANTHROPIC_API_KEY", "usage is billed to this key, even if there is a subscription"),
    ("ANTHROPIC_AUTH_TOKEN", "it is used instead of a login"),
    ("ANTHROPIC_BASE_URL", "requests go there instead of to Anthropic"),
    ("CLAUDE_CODE_OAUTH_TOKEN", "it is used instead of the login on this machine"),
    ("CLAUDE_CODE_USE_BEDROCK", "requests go to AWS"),
    ("CLAUDE_CODE_USE_VERTEX", "requests go to Google Cloud"),
];

pub(super) async fn check(settings: &Settings, program: Option<&Path>, report: &mut Report) {
    for (name, effect) in VARIABLES {
        if std::env::var_os(name).is_some_and(|value| !value.is_empty()) {
            report.warn(
                "account",
                format!("{name} is set: {effect}"),
                format!("unset {name} if this is not intended"),
            );
        }
    }
    let Some(program) = program.filter(|_| !settings.offline) else { return };
    match introduction(program, settings).await {
        Ok(introduction) => account(&introduction, report),
        Err(error) => {
            let advice = "start `claude` by hand to see what it says";
            report.fail("login", format!("the CLI did not say who is logged in: {error}"), advice);
        }
    }
}

/// What the CLI reports about itself at its start.
async fn introduction(program: &Path, settings: &Settings) -> Result<Value, String> {
    let mut options = SessionOptions::new().program(program);
    options.state_directory.clone_from(&settings.state);
    options.probe_cache = folders::probe_cache();
    options.spec.no_session_persistence = true;
    options.limits.starting = Some(PATIENCE);
    options.stop.grace = Duration::from_secs(2);
    let session = Session::new(options);
    let started = session.start().await.map_err(|error| explain(&error, None));
    let facts = session.facts().await.unwrap_or_default();
    session.stop().await;
    started.map(|()| facts.introduction)
}

fn account(introduction: &Value, report: &mut Report) {
    let details = introduction.get("account").cloned().unwrap_or_default();
    match Login::of(introduction) {
        Login::Known(words) => {
            report.good("login", words).with(details);
        }
        Login::Unknown => {
            let advice = "see /status in `claude`; newer CLI versions report it here";
            report.warn("login", "this CLI does not report who is logged in", advice);
        }
        Login::Missing => {
            let advice = "run `claude` and log in with /login, or set ANTHROPIC_API_KEY";
            report.warn("login", "no login found", advice).with(details);
        }
    }
}
