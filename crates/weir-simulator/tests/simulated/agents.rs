//! Sub-agents in the foreground.

use crate::support::Start;
use weir_simulator::json::Json;

/// A call of a sub-agent with its own script.
pub(crate) fn task(description: &str, script: &str, background: Option<bool>) -> String {
    let prompt = Json::String(format!("go @@{script}"));
    let wish = background.map(|wish| format!(r#","run_in_background":{wish}"#)).unwrap_or_default();
    format!(
        r#"{{"tool":"Task","input":{{"description":"{description}","prompt":{prompt},"subagent_type":"general-purpose"{wish}}}}}"#
    )
}

#[test]
fn a_sub_agent_works_and_hands_its_report_back() {
    let call = task(
        "look",
        r#"[{"text":"looking","tool":"Bash","input":{"command":"echo sub","description":"step"}},{"text":"the report"}]"#,
        Some(false),
    );
    let cli = Start::new(&[]).start();
    cli.script(&format!(r#"[{call},{{"text":"done"}}]"#)).result(1);
    let done = cli.end();
    let started = done.of("system", Some("task_started"))[0];
    let parent = started.str_of("tool_use_id").unwrap();
    let children: Vec<_> =
        done.lines.iter().filter(|line| line.str_of("parent_tool_use_id") == Some(parent)).collect();
    assert_eq!(children.len(), 3, "its prompt, its call and the result; its text is omitted");
    assert_eq!(done.of("system", Some("task_progress")).len(), 1);
    let ended = done.of("system", Some("task_notification"))[0];
    assert_eq!((ended.str_of("status"), ended.str_of("summary")), (Some("completed"), Some("the report")));
    let (result, _) = *done.tool_results().last().unwrap();
    assert!(result.items_of("content")[0].str_of("text").unwrap().contains("\n  the report\n"));
    let result = done.results()[0];
    assert_eq!(result.number_of("total_cost_usd"), Some(0.0056), "the sub-agent is in the total");
    assert_eq!(result.at(&["usage", "input_tokens"]).unwrap().as_i64(), Some(200), "and not in the usage");
    assert_eq!(result.at(&["subagent_stats", "completed"]).unwrap().as_i64(), Some(1));
}

#[test]
fn two_sub_agents_work_at_the_same_time() {
    // Each waits for a file written by the other.
    let one = task(
        "one",
        r#"[{"tool":"Bash","input":{"command":"touch a; while [ ! -e b ]; do sleep 0.01; done"}},{"text":"report of one"}]"#,
        Some(false),
    );
    let two = task(
        "two",
        r#"[{"tool":"Bash","input":{"command":"touch b; while [ ! -e a ]; do sleep 0.01; done"}},{"text":"report of two"}]"#,
        Some(false),
    );
    let cli = Start::new(&["--allowedTools", "Bash"]).start();
    cli.script(&format!(r#"[{{"tools":[{one},{two}]}},{{"text":"both"}}]"#)).result(1);
    let done = cli.end();
    let reports: Vec<_> = done
        .of("system", Some("task_notification"))
        .iter()
        .map(|line| line.str_of("summary").unwrap())
        .collect();
    assert_eq!(reports.len(), 2);
    assert_eq!(done.answers(), ["both"]);
}

#[test]
fn sub_agents_start_sub_agents_and_their_text_is_forwarded_on_request() {
    let inner = task(
        "inner",
        r#"[{"thinking":"hm","text":"inner text","tool":"Bash","input":{"command":"echo x"}},{"text":"inner report"}]"#,
        Some(false),
    );
    let outer = task("outer", &format!(r#"[{inner},{{"text":"outer report"}}]"#), Some(false));
    for (flags, shown) in [(["--verbose"], false), (["--forward-subagent-text"], true)] {
        let cli = Start::new(&flags).start();
        cli.script(&format!(r#"[{outer},{{"text":"done"}}]"#)).result(1);
        let done = cli.end();
        assert_eq!(done.texts().contains(&"inner text"), shown);
        let depths: Vec<_> = done
            .of("system", Some("task_started"))
            .iter()
            .map(|line| line.integer_of("spawn_depth").unwrap())
            .collect();
        assert_eq!(depths, [1, 2]);
        assert_eq!(done.results()[0].at(&["subagent_stats", "max_depth"]).unwrap().as_i64(), Some(2));
    }
    let cli = Start::new(&[]).old().start();
    cli.script(&format!(r#"[{outer},{{"text":"done"}}]"#)).result(1);
    assert!(cli.end().outputs().iter().any(|output| output.contains("No such tool available: Task")));
}

#[test]
fn an_interrupt_stops_sub_agents_too() {
    let call = task(
        "slow",
        r#"[{"tool":"Bash","input":{"command":"touch started; sleep 600"}},{"text":"never"}]"#,
        Some(false),
    );
    let cli = Start::new(&["--allowedTools", "Bash"]).start();
    cli.script(&format!(r#"[{call},{{"text":"never"}}]"#));
    let started = cli.place.directory().join("started");
    crate::support::until("the tool starts", || started.exists());
    cli.interrupt();
    let result = cli.result(1);
    assert_eq!(result.str_of("terminal_reason"), Some("aborted_tools"));
    assert_eq!(cli.end().results().len(), 1);
}
