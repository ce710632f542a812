//! Turns: one process, many messages.

use crate::support::{Start, json};

#[test]
fn each_message_gets_an_init_an_answer_and_a_result() {
    let cli = Start::new(&[]).start();
    cli.script(r#"[{"text":"first"}]"#).result(1);
    cli.script(r#"[{"text":"second","usage":{"input_tokens":1000,"output_tokens":200}}]"#).result(2);
    let done = cli.end();
    assert_eq!(done.exit.code, Some(0));
    assert_eq!(done.answers(), ["first", "second"]);
    assert_eq!(done.of("system", Some("init")).len(), 2);
    let results = done.results();
    assert_eq!(results[0].number_of("total_cost_usd"), Some(0.0014));
    assert_eq!(results[1].number_of("total_cost_usd"), Some(0.0094), "the total continues");
    assert_eq!(results[1].at(&["usage", "input_tokens"]), Some(&json("1000")), "the usage is the turn's");
    assert_eq!(results[1].integer_of("result_index"), Some(1));
    let first_keys: Vec<_> = results[0].members().iter().map(|(key, _)| key.as_str()).take(2).collect();
    assert_eq!(
        first_keys,
        ["duration_api_ms", "stop_reason"],
        "a result of this version does not begin with its type"
    );
}

#[test]
fn waiting_messages_are_answered_together_and_named() {
    let cli = Start::new(&["--replay-user-messages"]).start();
    cli.say_as(r#"@@[{"text":"answer to A","sleep":0.2}]"#, "aaaaaaaa-0000-4000-8000-000000000001");
    cli.wait("command_lifecycle", None, 2);
    cli.say_as(r#"B @@[{"text":"answer to B and C"}]"#, "bbbbbbbb-0000-4000-8000-000000000002");
    cli.say_as("C", "cccccccc-0000-4000-8000-000000000003");
    cli.result(2);
    let done = cli.end();
    assert_eq!(done.answers(), ["answer to A", "answer to B and C"]);
    assert_eq!(done.results()[1].items_of("user_message_uuids").len(), 2);
    let states: Vec<_> =
        done.of("command_lifecycle", None).iter().map(|line| line.str_of("state").unwrap()).collect();
    assert_eq!(states.iter().filter(|state| **state == "completed").count(), 3);
    assert!(done.of("user", None).iter().any(|line| line.is_true("isReplay")));
}

#[test]
fn the_older_version_answers_each_message_separately() {
    let cli = Start::new(&[]).old().start();
    cli.script(r#"[{"text":"A","sleep":0.2}]"#);
    cli.script(r#"[{"text":"B"}]"#);
    cli.script(r#"[{"text":"C"}]"#);
    cli.result(3);
    let done = cli.end();
    assert_eq!(done.answers(), ["A", "B", "C"]);
    assert!(done.of("command_lifecycle", None).is_empty());
    assert_eq!(done.results()[0].get("user_message_uuids"), None);
}

#[test]
fn a_message_during_a_tool_is_taken_into_the_turn() {
    let cli = Start::new(&["--allowedTools", "Bash"]).start();
    let folder = cli.place.directory();
    cli.say_as(r#"A @@[{"tool":"Bash","input":{"command":"while [ ! -e go ]; do sleep 0.01; done"}},{"text":"both"}]"#, "aaaaaaaa-0000-4000-8000-000000000001");
    cli.wait("assistant", None, 1);
    cli.say_as("B: please also this", "bbbbbbbb-0000-4000-8000-000000000002");
    cli.wait("command_lifecycle", None, 3);
    std::fs::write(folder.join("go"), "").unwrap();
    let result = cli.result(1);
    assert_eq!(result.items_of("user_message_uuids").len(), 2);
    assert_eq!(cli.end().answers(), ["both"]);
}

#[test]
fn limits_on_rounds_and_money_end_the_turn() {
    let script = r#"@@[{"tool":"Bash","input":{"command":"echo 1"}},{"tool":"Bash","input":{"command":"echo 2"}},{"text":"end"}]"#;
    let cli = Start::new(&["--max-turns", "1"]).start();
    cli.say(script);
    let result = cli.result(1);
    assert_eq!(result.str_of("subtype"), Some("error_max_turns"));
    assert_eq!(cli.end().exit.code, Some(1));

    let cli = Start::new(&["--max-budget-usd", "0.001"]).start();
    cli.say(script);
    let result = cli.result(1);
    assert_eq!(
        (result.str_of("subtype"), result.str_of("terminal_reason")),
        (Some("error_max_budget_usd"), Some("budget_exhausted"))
    );
    let done = cli.end();
    assert!(done.tool_results().is_empty(), "the tool is no longer run");

    let cli = Start::new(&["--max-turns", "1"]).old().start();
    cli.say(script);
    assert!(!cli.result(1).is_true("is_error"));
    assert_eq!(cli.end().exit.code, Some(0));
}

#[test]
fn slash_commands_reset_and_compact() {
    let cli = Start::new(&[]).start();
    cli.script(r#"[{"text":"before"}]"#).result(1);
    cli.say("/clear").result(2);
    cli.say("/compact").result(3);
    cli.script(r#"[{"text":"after"}]"#).result(4);
    let done = cli.end();
    assert_eq!(done.of("conversation_reset", None).len(), 1);
    let sessions: Vec<_> =
        done.of("system", Some("init")).iter().map(|line| line.str_of("session_id").unwrap()).collect();
    assert_ne!(sessions[0], sessions[1]);
    let results = done.results();
    assert_eq!(
        (results[1].integer_of("num_turns"), results[1].number_of("total_cost_usd")),
        (Some(0), Some(0.0))
    );
    assert_eq!(done.of("system", Some("compact_boundary")).len(), 1);
    assert_eq!(results[3].str_of("result"), Some("after"));
}

#[test]
fn a_script_file_serves_messages_without_a_script() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("script.json");
    std::fs::write(
        &path,
        r#"[[{"text":"one"}],[{"tool":"Bash","input":{"command":"echo 2"}},{"text":"two"}]]"#,
    )
    .unwrap();
    let cli = Start::new(&[]).env("SIMULATED_CLAUDE_SCRIPT", path.to_str().unwrap()).start();
    cli.say("hello").result(1);
    cli.say("and again").result(2);
    cli.say("the last script serves the rest").result(3);
    let done = cli.end();
    assert_eq!(done.answers(), ["one", "two", "two"]);
    assert_eq!(done.outputs(), ["2", "2"]);
}

#[test]
fn the_same_seed_gives_the_same_lines() {
    let run = || {
        let cli = Start::new(&["--include-partial-messages"]).start();
        cli.script(r#"[{"tool":"Bash","input":{"command":"echo x"}},{"text":"done"}]"#).result(1);
        let lines = cli.end().lines;
        lines.iter().filter_map(|line| line.str_of("uuid").map(str::to_owned)).collect::<Vec<_>>()
    };
    let first = run();
    assert!(first.len() > 10);
    assert_eq!(first, run());
}

#[test]
fn it_starts_in_a_few_milliseconds() {
    // The fastest of ten starts counts: other tests run at the same time.
    let fastest = (0..10).map(|_| {
        let started = std::time::Instant::now();
        assert_eq!(Start::plain(&["--version"]).start().exited().exit.code, Some(0));
        started.elapsed()
    });
    let fastest = fastest.min().unwrap();
    assert!(fastest.as_millis() < 100, "{fastest:?}");
}
