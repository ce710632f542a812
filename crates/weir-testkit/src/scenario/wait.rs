//! Waiting for a condition, with a deadline.

use std::path::Path;

use super::model::Condition;
use super::run::DEADLINE;
use crate::json::Json;
use crate::real::{Driver, DriverError, Received};

pub(super) fn wait(driver: &Driver, directory: &Path, condition: &Condition) -> Result<(), DriverError> {
    match condition {
        Condition::Results(count) => driver.wait_for_lines("result", None, *count, DEADLINE).map(drop),
        Condition::Lines(kind, subtype, count) => {
            driver.wait_for_lines(kind, Some(subtype), *count, DEADLINE).map(drop)
        }
        Condition::Deltas(count) => wait_for_count(driver, "pieces of text", *count, |line| {
            let kind = line.json.at(&["event", "delta", "type"]).and_then(Json::as_str);
            usize::from(kind == Some("text_delta"))
        }),
        Condition::ToolCalls(name, count) => {
            wait_for_count(driver, "tool calls", *count, |line| tool_calls(line, name))
        }
        Condition::PermissionRequests(count) => {
            wait_for_count(driver, "permission requests", *count, |line| {
                usize::from(is_permission_request(line))
            })
        }
        Condition::Response(id) => wait_for_response(driver, id),
        Condition::ResultsWithTasks(with, without) => {
            driver.wait_for("the results of the turns and of the tasks", DEADLINE, |lines| {
                let reported = lines.iter().any(|line| line.is("system", Some("background_tasks_changed")));
                let results = lines.iter().filter(|line| line.is("result", None)).count();
                (results >= if reported { *with } else { *without }).then_some(())
            })
        }
        Condition::File(name) => {
            let file = directory.join(name);
            driver.poll_for(&format!("the file {name}"), DEADLINE, || file.exists().then_some(()))
        }
        Condition::Exit => driver.wait_for_exit(DEADLINE).map(drop),
    }
}

pub(super) fn wait_for_response(driver: &Driver, id: &str) -> Result<(), DriverError> {
    driver.wait_for(&format!("the answer to request {id}"), DEADLINE, |lines| {
        let answers = |line: &&Received| {
            line.is("control_response", None)
                && line.json.at(&["response", "request_id"]).and_then(Json::as_str) == Some(id)
        };
        lines.iter().find(answers).map(drop)
    })
}

/// Whether the CLI asks for a permission or an answer with this line.
pub(super) fn is_permission_request(line: &Received) -> bool {
    line.is("control_request", None)
        && line.json.at(&["request", "subtype"]).and_then(Json::as_str) == Some("can_use_tool")
}

fn wait_for_count(
    driver: &Driver,
    what: &str,
    count: usize,
    in_line: impl Fn(&Received) -> usize,
) -> Result<(), DriverError> {
    driver.wait_for(&format!("{count} {what}"), DEADLINE, |lines| {
        (lines.iter().map(&in_line).sum::<usize>() >= count).then_some(())
    })
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
