//! Finds processes left behind by killed runs.

use serde_json::json;
use weir_process::{StopOptions, end_leftovers, leftovers};

use super::report::Report;
use super::settings::Settings;
use crate::screen::{date, plural};

pub(super) async fn check(settings: &Settings, report: &mut Report) {
    let Some(state) = &settings.state else { return };
    let found = match leftovers(state) {
        Ok(found) => found,
        Err(error) => {
            report.fail("leftovers", error.to_string(), "choose another folder with WEIR_STATE_DIR");
            return;
        }
    };
    let pids: Vec<u32> =
        found.iter().flat_map(|left| left.processes.iter().map(|process| process.pid)).collect();
    if pids.is_empty() {
        report.good("leftovers", "no processes left from killed runs").with(json!([]));
        return;
    }
    let count = plural(pids.len() as u64, "program");
    let list: Vec<String> = pids.iter().map(ToString::to_string).collect();
    if settings.clean {
        let left = end_leftovers(found, &StopOptions::default()).await;
        if left.is_empty() {
            report.good("leftovers", format!("ended {count} from killed runs ({})", list.join(", ")));
        } else {
            let list: Vec<String> = left.iter().map(|process| process.pid.to_string()).collect();
            let message = format!("cannot be ended: {}", list.join(", "));
            report.fail("leftovers", message, "they may belong to another user; end them by hand");
        }
        return;
    }
    let runs: Vec<String> = found
        .iter()
        .map(|left| format!("weir process {}, started {} UTC", left.host.pid, date(left.since)))
        .collect();
    let message =
        format!("{count} from killed runs still running: {} ({})", list.join(", "), runs.join("; "));
    report.fail("leftovers", message, "`weir doctor --clean` ends them").with(json!(pids));
}
