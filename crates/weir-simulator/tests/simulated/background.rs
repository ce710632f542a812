//! Background tasks, and the turns they start.

use crate::agents::task;
use crate::support::{Start, is_alive, until};
use weir_simulator::object;

const SCRIPT: &str = r#"[{"tool":"Bash","input":{"command":"while [ ! -e go ]; do sleep 0.01; done; echo finished","description":"slow thing","run_in_background":true}},{"text":"It runs."},{"text":"It has finished."}]"#;

#[test]
fn the_end_of_a_command_starts_a_turn_without_a_message() {
    let cli = Start::new(&["--allowedTools", "Bash"]).start();
    cli.script(SCRIPT).result(1);
    std::fs::write(cli.place.directory().join("go"), "").unwrap();
    let result = cli.result(2);
    assert_eq!(result.at(&["origin", "kind"]).unwrap().as_str(), Some("task-notification"));
    let done = cli.end();
    assert_eq!(done.answers(), ["It runs.", "It has finished."]);
    assert_eq!(done.of("system", Some("init")).len(), 2);
    let tasks: Vec<_> = done
        .of("system", Some("background_tasks_changed"))
        .iter()
        .map(|line| line.items_of("tasks").len())
        .collect();
    assert_eq!(tasks, [1, 0]);
    let file = done.of("system", Some("task_notification"))[0].str_of("output_file").unwrap();
    assert_eq!(std::fs::read_to_string(file).unwrap(), "finished\n");
}

#[test]
fn the_process_waits_for_its_tasks_after_the_end_of_the_input() {
    let cli = Start::new(&["--allowedTools", "Bash"]).start();
    cli.script(SCRIPT).result(1);
    cli.driver.close_input();
    std::fs::write(cli.place.directory().join("go"), "").unwrap();
    assert_eq!(cli.exited().answers(), ["It runs.", "It has finished."]);

    let cli = Start::new(&["--allowedTools", "Bash"]).old().start();
    cli.script(SCRIPT).result(1);
    assert_eq!(cli.end().answers(), ["It runs."], "the older version does not wait");
}

#[test]
fn a_task_is_stopped_by_the_host() {
    let cli = Start::new(&["--allowedTools", "Bash"]).start();
    cli.script(r#"[{"tool":"Bash","input":{"command":"echo $$ > pid; sleep 600","description":"very slow","run_in_background":true}},{"text":"It runs."},{"text":"never"}]"#).result(1);
    let folder = cli.place.directory();
    let mut pid = 0;
    until("the command starts", || {
        pid = std::fs::read_to_string(folder.join("pid"))
            .ok()
            .and_then(|text| text.trim().parse().ok())
            .unwrap_or(0);
        pid != 0
    });
    let task = cli.wait("system", Some("task_started"), 1);
    let id = task.str_of("task_id").unwrap();
    cli.request("stop", object! { "subtype" => "stop_task", "task_id" => id });
    until("the command ends", || !is_alive(pid));
    let done = cli.end();
    assert_eq!(done.of("system", Some("task_notification"))[0].str_of("status"), Some("stopped"));
    assert_eq!(done.results().len(), 1);
}

#[test]
fn a_sub_agent_in_the_background_reports_between_the_lines_of_its_parent() {
    let call = task(
        "look",
        r#"[{"text":"looking","tool":"Bash","input":{"command":"while [ ! -e go ]; do sleep 0.01; done"}},{"text":"the report"}]"#,
        None,
    );
    let cli = Start::new(&["--allowedTools", "Bash"]).start();
    cli.script(&format!(r#"[{call},{{"text":"Parent continues."}},{{"text":"Third."}}]"#)).result(1);
    std::fs::write(cli.place.directory().join("go"), "").unwrap();
    cli.result(2);
    let done = cli.end();
    assert_eq!(done.answers(), ["Parent continues.", "Third."]);
    assert!(
        done.of("system", Some("task_started"))[0].is_true("is_backgrounded"),
        "that is the default of this version"
    );
    assert!(done.texts().contains(&"looking") && done.texts().contains(&"the report"));
    let results = done.results();
    assert_eq!(results[0].number_of("total_cost_usd"), Some(0.0042));
    assert_eq!(results[1].number_of("total_cost_usd"), Some(0.007));
}

#[test]
fn results_are_held_back_while_sub_agents_work_after_the_end_of_the_input() {
    let call = task(
        "look",
        r#"[{"tool":"Bash","input":{"command":"while [ ! -e go ]; do sleep 0.01; done"}},{"text":"the report"}]"#,
        Some(true),
    );
    let cli = Start::new(&["--allowedTools", "Bash"]).start();
    let folder = cli.place.directory();
    cli.script(&format!(r#"[{call},{{"text":"Parent continues."}},{{"text":"Third."}}]"#));
    cli.driver.close_input();
    let said = |line: &weir_testkit::real::Received| {
        line.json.to_string().contains("Parent continues.") && line.is("assistant", None)
    };
    cli.driver
        .wait_for("the parent", crate::support::DEADLINE, |lines| {
            lines.iter().find(|line| said(line)).map(drop)
        })
        .unwrap();
    std::fs::write(folder.join("go"), "").unwrap();
    let done = cli.exited();
    let kinds: Vec<_> = done.lines.iter().map(|line| line.str_of("type").unwrap()).collect();
    assert_eq!(kinds[kinds.len() - 2..], ["result", "result"]);
    assert_eq!(done.answers(), ["Parent continues.", "Third."]);
}

#[test]
fn nothing_is_left_when_the_process_ends() {
    let script = r#"[{"tool":"Bash","input":{"command":"echo $$ > pid; sleep 600","run_in_background":true}},{"text":"It runs."}]"#;
    let pid_of = |folder: &std::path::Path| {
        let mut pid = 0;
        until("the command starts", || {
            pid = std::fs::read_to_string(folder.join("pid"))
                .ok()
                .and_then(|text| text.trim().parse().ok())
                .unwrap_or(0);
            pid != 0
        });
        pid
    };
    let cli = Start::new(&["--allowedTools", "Bash"]).old().start();
    cli.script(script).result(1);
    let pid = pid_of(&cli.place.directory());
    assert_eq!(cli.end().exit.code, Some(0));
    until("the command ends", || !is_alive(pid));

    let cli = Start::new(&["--allowedTools", "Bash"]).start();
    cli.script(script).result(1);
    let pid = pid_of(&cli.place.directory());
    cli.driver.signal(rustix::process::Signal::TERM);
    assert_eq!(cli.exited().exit.code, Some(143));
    until("the command ends", || !is_alive(pid));
}
