//! Checks conditions, and waits for them with a deadline.

use std::path::Path;

use super::model::Condition;
use super::run::DEADLINE;
use crate::json::Json;
use crate::real::{Driver, DriverError, Received};

impl Condition {
    /// Whether it holds, given the lines of the process so far and its working directory. The end of a process does
    /// not show in its lines, so [`Condition::Exit`] never holds here.
    pub fn holds(&self, lines: &[Received], directory: &Path) -> bool {
        let count = |wanted: &dyn Fn(&Received) -> usize| lines.iter().map(wanted).sum::<usize>();
        let of_type =
            |kind: &str, subtype: Option<&str>| count(&|line: &Received| usize::from(line.is(kind, subtype)));
        match self {
            Self::Results(wanted) => of_type("result", None) >= *wanted,
            Self::Lines(kind, subtype, wanted) => of_type(kind, Some(subtype)) >= *wanted,
            Self::Deltas(wanted) => {
                let is_piece = |line: &Received| {
                    line.json.at(&["event", "delta", "type"]).and_then(Json::as_str) == Some("text_delta")
                };
                count(&|line| usize::from(is_piece(line))) >= *wanted
            }
            Self::ToolCalls(name, wanted) => count(&|line| tool_calls(line, name)) >= *wanted,
            Self::PermissionRequests(wanted) => {
                count(&|line| usize::from(is_permission_request(line))) >= *wanted
            }
            Self::McpCalls(wanted) => {
                let method = |line: &Received| {
                    line.json.at(&["request", "message", "method"]).and_then(Json::as_str)
                        == Some("tools/call")
                };
                count(&|line| usize::from(method(line))) >= *wanted
            }
            Self::Response(id) => count(&|line| usize::from(answers(line, id))) > 0,
            Self::ResultsWithTasks(with, without) => {
                let reported = of_type("system", Some("background_tasks_changed")) > 0;
                of_type("result", None) >= if reported { *with } else { *without }
            }
            Self::File(name) => directory.join(name).exists(),
            Self::Exit => false,
        }
    }
}

pub(super) fn wait(driver: &Driver, directory: &Path, condition: &Condition) -> Result<(), DriverError> {
    let what = format!("{condition:?}");
    match condition {
        Condition::Exit => driver.wait_for_exit(DEADLINE).map(drop),
        // There are no notifications for files.
        Condition::File(_) => {
            driver.poll_for(&what, DEADLINE, || condition.holds(&[], directory).then_some(()))
        }
        _ => driver.wait_for(&what, DEADLINE, |lines| condition.holds(lines, directory).then_some(())),
    }
}

pub(super) fn wait_for_response(driver: &Driver, id: &str) -> Result<(), DriverError> {
    driver.wait_for(&format!("the answer to request {id}"), DEADLINE, |lines| {
        lines.iter().find(|line| answers(line, id)).map(drop)
    })
}

fn answers(line: &Received, id: &str) -> bool {
    line.is("control_response", None)
        && line.json.at(&["response", "request_id"]).and_then(Json::as_str) == Some(id)
}

/// Whether this line asks for permission or an answer.
pub(super) fn is_permission_request(line: &Received) -> bool {
    line.is("control_request", None)
        && line.json.at(&["request", "subtype"]).and_then(Json::as_str) == Some("can_use_tool")
}

fn tool_calls(line: &Received, name: &str) -> usize {
    if !line.is("assistant", None) {
        return 0;
    }
    let blocks = line.json.at(&["message", "content"]).map(Json::items).unwrap_or_default();
    let called =
        |block: &&Json| block.str_of("type") == Some("tool_use") && block.str_of("name") == Some(name);
    blocks.iter().filter(called).count()
}
