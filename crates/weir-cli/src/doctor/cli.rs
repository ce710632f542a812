//! Checks the CLI: its path, version and features.

use serde_json::json;
use weir_process::{Capabilities, Environment, FindError, Found, Place, ProbeCache, Version};

use super::report::Report;
use super::settings::Settings;
use crate::folders;
use crate::screen::short_path;

/// The oldest version tested with Weir.
const OLDEST: Version = Version::new(1, 0, 124);

/// Features, each with the flag, control request or member of the first request that it needs.
const FEATURES: [(&str, Needs); 12] = [
    ("streaming text", Needs::Flag("--include-partial-messages")),
    ("permission prompts", Needs::Flag("--permission-prompt-tool")),
    ("forks", Needs::Flag("--fork-session")),
    ("named sessions", Needs::Flag("--session-id")),
    ("sessions without persistence", Needs::Flag("--no-session-persistence")),
    ("its own cost limit", Needs::Flag("--max-budget-usd")),
    ("sub-agent text", Needs::Introduction("forwardSubagentText")),
    ("interrupts", Needs::Control("interrupt")),
    ("switching models", Needs::Control("set_model")),
    ("rewinding files", Needs::Control("rewind_files")),
    ("stopping background tasks", Needs::Control("stop_task")),
    ("context usage", Needs::Control("get_context_usage")),
];

enum Needs {
    Flag(&'static str),
    Control(&'static str),
    Introduction(&'static str),
}

/// The CLI that was found.
pub(super) struct Checked {
    pub(super) program: Option<Found>,
    /// Whether it runs at all.
    pub(super) works: bool,
}

/// Finds the CLI and reports its version and features.
pub(super) async fn check(settings: &Settings, report: &mut Report) -> Checked {
    let found = match weir_process::find(settings.claude.as_deref()).await {
        Ok(found) => found,
        Err(error) => {
            let (what, advice) = explain(&error);
            report.fail("claude", what, advice);
            return Checked { program: None, works: false };
        }
    };
    let path = found.path.display().to_string();
    let place = found.place.to_string();
    let how = match found.place {
        Place::Explicit => "given".to_owned(),
        Place::Variable => format!("named by {place}"),
        _ => format!("found in {place}"),
    };
    report
        .good("claude", format!("{} ({how})", short_path(&path)))
        .with(json!({"path": path, "place": place}));
    let cache = folders::probe_cache().unwrap_or_else(|| ProbeCache::in_memory().into());
    match cache.probe(&found.path, &found.environment(&Environment::inherit())).await {
        Ok(capabilities) => {
            version(&capabilities, report);
            features(&capabilities, report);
            Checked { program: Some(found), works: true }
        }
        Err(error) => {
            let advice = "run it by hand with --version; if that fails too, reinstall it";
            report.fail("version", error.to_string(), advice);
            Checked { program: Some(found), works: false }
        }
    }
}

fn explain(error: &FindError) -> (String, String) {
    // The first line says what is wrong, the last lines what to do.
    let text = error.to_string();
    let (what, advice) = text.split_once("Install it").unwrap_or((&text, ""));
    (what.trim_end().to_owned(), format!("Install it{advice}").trim_end().to_owned())
}

fn version(capabilities: &Capabilities, report: &mut Report) {
    let version = capabilities.version();
    let line = if version < OLDEST {
        let advice = "update it with `claude update`, or `npm install -g @anthropic-ai/claude-code`";
        report.warn("version", format!("{version}, which is older than any version tested with Weir"), advice)
    } else {
        report.good("version", version.to_string())
    };
    line.with(json!(version.to_string()));
}

fn features(capabilities: &Capabilities, report: &mut Report) {
    let has = |needs: &Needs| match needs {
        Needs::Flag(flag) => capabilities.has_flag(flag),
        Needs::Control(subtype) => capabilities.has_control(subtype),
        Needs::Introduction(member) => capabilities.has_introduction(member),
    };
    let (there, missing): (Vec<_>, Vec<_>) = FEATURES.iter().partition(|(_, needs)| has(needs));
    let names =
        |features: &[&(&'static str, Needs)]| features.iter().map(|(name, _)| *name).collect::<Vec<_>>();
    let (there, missing) = (names(&there), names(&missing));
    let details = json!({"supported": there, "not_supported": missing});
    if missing.is_empty() {
        report.good("supports", format!("all {} features that Weir knows of", there.len())).with(details);
    } else {
        let message = format!("{} of {} features; not: {}", there.len(), FEATURES.len(), missing.join(", "));
        report.warn("supports", message, "update the CLI to get them; everything else works").with(details);
    }
}
