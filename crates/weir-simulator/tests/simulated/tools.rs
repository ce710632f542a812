//! Tools, really executed.

use crate::support::{Start, json};
use weir_testkit::real::Place;

#[test]
fn files_are_read_written_and_edited() {
    let place = Place::new().unwrap();
    place.write("app.py", "def add(a, b):\n    return a - b\n").unwrap();
    let folder = place.directory();
    let folder = folder.to_str().unwrap();
    let cli = Start::new(&["--permission-mode", "acceptEdits"]).start_in(place);
    cli.script(&format!(
        r#"[{{"tool":"Read","input":{{"file_path":"{folder}/app.py"}}}},
            {{"tool":"Edit","input":{{"file_path":"{folder}/app.py","old_string":"a - b","new_string":"a + b"}}}},
            {{"tool":"Write","input":{{"file_path":"{folder}/new/NOTES.md","content":"fixed\n"}}}},
            {{"tool":"Edit","input":{{"file_path":"{folder}/app.py","old_string":"nowhere","new_string":"x"}}}},
            {{"text":"done"}}]"#
    ))
    .result(1);
    assert_eq!(cli.file("app.py"), "def add(a, b):\n    return a + b\n");
    assert_eq!(cli.file("new/NOTES.md"), "fixed\n");
    let done = cli.end();
    assert_eq!(done.outputs()[0], "1\tdef add(a, b):\n2\t    return a - b\n3\t");
    let (_, edit) = done.tool_results()[1];
    assert_eq!(edit.unwrap().items_of("structuredPatch").len(), 1);
    assert!(done.outputs()[3].contains("String to replace not found"));
    assert_eq!(done.results()[0].integer_of("num_turns"), Some(5));
}

#[test]
fn commands_return_their_output_and_status_and_time_out() {
    let cli = Start::new(&["--allowedTools", "Bash"]).start();
    cli.script(
        r#"[{"tool":"Bash","input":{"command":"echo out; echo err >&2"}},{"tool":"Bash","input":{"command":"echo bad; exit 3"}},
            {"tool":"Bash","input":{"command":"true"}},{"tool":"Bash","input":{"command":"sleep 60","timeout":50}},
            {"tool":"Bash","input":{"command":"seq 1 200000"}},{"text":"done"}]"#,
    )
    .result(1);
    let done = cli.end();
    let outputs = done.outputs();
    assert_eq!(outputs[0], "out\nerr");
    assert_eq!(outputs[1], "Exit code 3\nbad");
    assert_eq!(outputs[2], "(Bash completed with no output)");
    assert_eq!(outputs[3], "Exit code 143\nCommand timed out after 0s");
    assert!(outputs[4].starts_with("<persisted-output>\nOutput too large (1.2MB)"));
    let saved = done.tool_results()[4].1.unwrap().str_of("persistedOutputPath").unwrap();
    assert_eq!(std::fs::read_to_string(saved).unwrap().lines().count(), 200_000);
}

#[test]
fn a_command_that_leaves_a_process_behind_does_not_hang() {
    let cli = Start::new(&["--allowedTools", "Bash"]).start();
    cli.script(r#"[{"tool":"Bash","input":{"command":"sleep 30 & echo $!"}},{"text":"done"}]"#).result(1);
    let done = cli.end();
    let pid = done.outputs()[0].to_owned();
    rustix::process::kill_process(
        rustix::process::Pid::from_raw(pid.parse().unwrap()).unwrap(),
        rustix::process::Signal::KILL,
    )
    .unwrap();
}

#[test]
fn each_of_several_calls_in_one_message_gets_a_result() {
    let cli = Start::new(&["--allowedTools", "Bash"]).start();
    cli.script(
        r#"[{"tools":[{"tool":"Bash","input":{"command":"echo a"}},{"tool":"Bash","input":{"command":"echo b"}}]},{"text":"done"}]"#,
    )
    .result(1);
    let done = cli.end();
    assert_eq!(done.tool_results().len(), 2);
    assert_eq!(done.results()[0].integer_of("num_turns"), Some(3));
}

#[test]
fn to_do_lists_are_kept() {
    let cli = Start::new(&[]).old().start();
    cli.script(r#"[{"tool":"TodoWrite","input":{"todos":[{"content":"x","status":"pending","activeForm":"y"}]}},{"text":"done"}]"#).result(1);
    let done = cli.end();
    assert_eq!(done.tool_results()[0].1.unwrap().items_of("newTodos").len(), 1);

    let script = r#"[{"tool":"TaskCreate","input":{"subject":"Fix","description":"it"}},{"tool":"TaskUpdate","input":{"taskId":"1","status":"completed"}},{"tool":"TaskList","input":{}},{"text":"done"}]"#;
    let cli = Start::new(&[]).env("CLAUDE_CODE_ENABLE_TODO_TOOLS", "1").start();
    cli.script(script).result(1);
    assert_eq!(
        cli.end().outputs(),
        ["Task #1 created successfully: Fix", "Updated task #1 status", "#1 [completed] Fix"]
    );
    let cli = Start::new(&[]).start();
    cli.script(script).result(1);
    assert!(cli.end().outputs()[0].contains("TaskCreate is disabled for this session"));
}

#[test]
fn files_are_found_by_the_older_version() {
    let place = Place::new().unwrap();
    place.write("src/a.rs", "needle\n").unwrap();
    let cli = Start::new(&[]).old().start_in(place);
    cli.script(r#"[{"tool":"Glob","input":{"pattern":"**/*.rs"}},{"tool":"Grep","input":{"pattern":"needle","output_mode":"content","-n":true}},{"text":"done"}]"#).result(1);
    let done = cli.end();
    assert!(done.outputs()[0].ends_with("src/a.rs"));
    assert_eq!(done.outputs()[1], "src/a.rs:1:needle");
}

#[test]
fn a_missing_tool_is_an_error_of_the_call() {
    let cli = Start::new(&["--disallowedTools", "Write"]).start();
    cli.script(r#"[{"tool":"NoSuch","input":{}},{"tool":"Write","input":{"file_path":"x","content":"y"}},{"tool":"Read","input":{}},{"text":"done"}]"#).result(1);
    let done = cli.end();
    let outputs = done.outputs();
    assert_eq!(outputs[0], "<tool_use_error>Error: No such tool available: NoSuch</tool_use_error>");
    assert!(outputs[1].contains("Write is disabled"));
    assert!(outputs[2].contains("The required parameter `file_path` is missing"));
    let init = done.of("system", Some("init"))[0];
    assert!(!init.items_of("tools").contains(&json("\"Write\"")));
}
