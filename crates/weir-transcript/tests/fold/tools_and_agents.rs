//! Tool calls and sub-agents, in any order of their lines.

use serde_json::json;
use weir_transcript::{AgentState, FileChangeKind, ToolDetail, ToolState};

use crate::support::TestSession;

#[test]
fn results_are_matched_by_id_in_any_order() {
    let mut talk = TestSession::new();
    talk.init().calls(None, "t1", "Bash", &json!({"command": "a"})).calls(
        None,
        "t2",
        "Bash",
        &json!({"command": "b"}),
    );
    talk.returns(None, "t2", "two");
    assert_eq!((talk.tool("t1").state, talk.tool("t2").state), (ToolState::Running, ToolState::Succeeded));
    talk.returns(None, "t1", "one");
    assert_eq!(talk.tool("t1").output.as_ref().unwrap().text.to_str(), "one");
}

#[test]
fn a_result_before_its_call_waits_for_the_name() {
    let mut talk = TestSession::new();
    talk.init().returns(None, "t1", "early");
    assert_eq!((talk.tool("t1").name.as_str(), talk.tool("t1").state), ("", ToolState::Succeeded));
    talk.calls(None, "t1", "Bash", &json!({"command": "ls"}));
    let tool = talk.tool("t1");
    assert_eq!((tool.name.as_str(), tool.state), ("Bash", ToolState::Succeeded));
    assert_eq!(tool.output.as_ref().unwrap().text.to_str(), "early");
    assert_eq!(talk.view().entries.len(), 1);
}

#[test]
fn a_call_that_never_got_a_result_is_unknown_at_the_end_of_the_turn() {
    let mut talk = TestSession::new();
    talk.init().calls(None, "t1", "Bash", &json!({"command": "a"})).result("done");
    assert_eq!(talk.tool("t1").state, ToolState::Unknown);
}

#[test]
fn the_duration_comes_from_the_lines_own_times() {
    let mut talk = TestSession::new();
    talk.init();
    talk.line(r#"{"type":"assistant","timestamp":"2026-11-15T07:03:04.000Z","message":{"content":[{"type":"tool_use","id":"t","name":"Bash","input":{}}]}}"#);
    talk.line(r#"{"type":"user","timestamp":"2026-11-15T07:03:05.250Z","message":{"content":[{"type":"tool_result","tool_use_id":"t","content":"x"}]}}"#);
    assert_eq!(talk.tool("t").duration_ms, Some(1250));
}

#[test]
fn the_duration_comes_from_the_hosts_clock_if_the_lines_have_no_times() {
    let mut talk = TestSession::new();
    talk.init();
    talk.fold.set_time(1_000);
    talk.calls(None, "t", "Bash", &json!({}));
    talk.fold.set_time(1_700);
    talk.returns(None, "t", "x");
    assert_eq!(talk.tool("t").duration_ms, Some(700));
}

#[test]
fn long_output_is_cut_in_the_middle_and_says_where_the_full_output_is() {
    let mut talk = TestSession::new();
    let long = format!("first line\n{}\nlast line", "é\n".repeat(20_000));
    talk.init().calls(None, "t", "Bash", &json!({})).returns(None, "t", &long);
    let output = talk.tool("t").output.clone().unwrap();
    assert!(output.text.to_str().starts_with("first line\né\n"));
    assert!(output.tail.as_ref().unwrap().to_str().ends_with("é\n\nlast line"));
    assert!(output.text.to_str().len() < 8 << 10);
    assert_eq!((output.line, output.bytes > 60_000), (3, true));
}

#[test]
fn files_are_derived_from_structured_patches_or_from_arguments() {
    let mut talk = TestSession::new();
    talk.init().calls(
        None,
        "t1",
        "Edit",
        &json!({"file_path": "/a", "old_string": "x\ny\n", "new_string": "x\nz\n"}),
    );
    talk.returns(None, "t1", "ok");
    talk.calls(None, "t2", "Write", &json!({"file_path": "/b", "content": "1\n2"})).returns(None, "t2", "ok");
    let edits = json!([{"old_string": "a", "new_string": "b"}, {"old_string": "c", "new_string": ""}]);
    talk.calls(None, "t3", "MultiEdit", &json!({"file_path": "/c", "edits": edits}))
        .returns(None, "t3", "ok");
    let files = &talk.view().files;
    assert_eq!(
        files.iter().map(|f| (f.path.as_str(), f.kind, f.exact)).collect::<Vec<_>>(),
        [
            ("/a", FileChangeKind::Edited, false),
            ("/b", FileChangeKind::Written, false),
            ("/c", FileChangeKind::Edited, false),
        ]
    );
    insta::assert_snapshot!(files.iter().map(|file| file.diff.as_str()).collect::<String>(), @r"
    --- /a
    +++ /a
    @@ -1,2 +1,2 @@
     x
    -y
    +z
    --- /b
    +++ /b
    @@ -0,0 +1,2 @@
    +1
    +2
    \ No newline at end of file
    --- /c
    +++ /c
    @@ -1 +1 @@
    -a
    \ No newline at end of file
    +b
    \ No newline at end of file
    @@ -1 +0,0 @@
    -c
    \ No newline at end of file
    ");
    assert!(matches!(&talk.tool("t1").detail, ToolDetail::FileChanged { added: 1, removed: 1, .. }));
}

#[test]
fn a_failed_edit_changes_no_file() {
    let mut talk = TestSession::new();
    talk.init().calls(None, "t", "Write", &json!({"file_path": "/b", "content": "1"}));
    talk.line(r#"{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t","content":"no","is_error":true}]}}"#);
    assert_eq!(talk.tool("t").state, ToolState::Failed);
    assert!(talk.view().files.is_empty());
}

#[test]
fn children_of_a_parent_that_was_not_seen_yet_find_their_place() {
    let mut talk = TestSession::new();
    talk.init().calls(Some("outer"), "inner", "Bash", &json!({"command": "ls"}));
    assert_eq!(talk.view().agents.len(), 1);
    talk.calls(
        None,
        "outer",
        "Task",
        &json!({"description": "look", "prompt": "go", "subagent_type": "Explore"}),
    );
    let agent = &talk.view().agents[0];
    assert_eq!((agent.description.as_str(), agent.agent_type.as_deref()), ("look", Some("Explore")));
    assert_eq!(talk.view().agents.len(), 1);
}

#[test]
fn agents_form_a_tree_by_the_calls_that_started_them() {
    let mut talk = TestSession::new();
    let task = |name: &str| json!({"description": name, "prompt": "go"});
    talk.init().calls(None, "a", "Task", &task("a")).calls(None, "b", "Agent", &task("b"));
    talk.calls(Some("a"), "c", "Task", &task("c")).calls(Some("c"), "d", "Bash", &json!({}));
    let parents: Vec<_> = talk
        .view()
        .agents
        .iter()
        .map(|agent| agent.parent.as_ref().map(weir_wire::ToolUseId::as_str))
        .collect();
    assert_eq!(parents, [None, None, Some("a")]);
    talk.returns(Some("a"), "c", "done").returns(None, "a", "done");
    let states: Vec<_> = talk.view().agents.iter().map(|agent| agent.state).collect();
    assert_eq!(states, [AgentState::Completed, AgentState::Running, AgentState::Completed]);
}

#[test]
fn an_agent_in_the_background_outlives_its_result_and_its_turn() {
    let mut talk = TestSession::new();
    talk.init().calls(
        None,
        "a",
        "Task",
        &json!({"description": "a", "prompt": "go", "run_in_background": true}),
    );
    talk.returns(None, "a", "launched").result("continues");
    assert_eq!(talk.view().agents[0].state, AgentState::Running);
    talk.calls(Some("a"), "t", "Bash", &json!({})).says("m", "meanwhile").result("again");
    assert_eq!(talk.tool("t").state, ToolState::Running, "its tools are not settled by another turn");
    talk.line(r#"{"type":"system","subtype":"task_notification","task_id":"x","tool_use_id":"a","status":"failed","summary":"gave up"}"#);
    assert_eq!(talk.view().agents[0].state, AgentState::Failed);
    assert_eq!(talk.view().agents[0].summary.as_deref(), Some("gave up"));
}

#[test]
fn todos_are_kept_for_each_agent() {
    let mut talk = TestSession::new();
    let todo = |text: &str| json!({"todos": [{"content": text, "status": "pending", "activeForm": "…"}]});
    talk.init().calls(None, "t1", "TodoWrite", &todo("main")).returns(None, "t1", "ok");
    talk.calls(Some("a"), "t2", "TodoWrite", &todo("sub")).returns(Some("a"), "t2", "ok");
    let lists: Vec<_> = talk.view().todos.iter().map(|list| list.items[0].text.as_str()).collect();
    assert_eq!(lists, ["main", "sub"]);
}

#[test]
fn the_same_result_twice_has_its_effect_once() {
    let mut talk = TestSession::new();
    talk.init().calls(None, "t", "Write", &json!({"file_path": "/a", "content": "x"}));
    talk.returns(None, "t", "ok").returns(None, "t", "ok");
    assert_eq!(talk.view().files.len(), 1);
}

#[test]
fn a_structured_result_counts_only_if_its_call_is_clear() {
    let mut talk = TestSession::new();
    talk.init().calls(None, "t1", "Bash", &json!({})).calls(
        None,
        "t2",
        "Write",
        &json!({"file_path": "/a", "content": "x"}),
    );
    let block = |tool: &str| json!({"type": "tool_result", "tool_use_id": tool, "content": "ok"});
    let structured = json!({"type": "create", "filePath": "/a", "content": "x", "structuredPatch": []});
    talk.json(&json!({"type": "user", "message": {"content": [block("t1"), block("t2")]}, "tool_use_result": structured}));
    assert_eq!(talk.view().files.len(), 1);
    assert!(!talk.view().files[0].exact, "derived from the arguments");
}

#[test]
fn a_structured_result_in_a_new_shape_is_counted_and_the_arguments_are_used() {
    let mut talk = TestSession::new();
    talk.init().calls(None, "t", "Edit", &json!({"file_path": "/a", "old_string": "x", "new_string": "y"}));
    let hunk = json!({"oldStart": "1", "oldLines": 1, "newStart": 1, "newLines": 1, "lines": []});
    let structured = json!({"filePath": "/a", "structuredPatch": [hunk]});
    let block = json!({"type": "tool_result", "tool_use_id": "t", "content": "ok"});
    talk.json(&json!({"type": "user", "message": {"content": [block]}, "tool_use_result": structured}));
    assert_eq!(talk.view().oddities.blocks, 1);
    assert_eq!((talk.view().files.len(), talk.view().files[0].exact), (1, false));
}

#[test]
fn an_unknown_structured_result_is_kept() {
    let mut talk = TestSession::new();
    talk.init().calls(None, "t", "mcp__db__query", &json!({}));
    let block = json!({"type": "tool_result", "tool_use_id": "t", "content": "ok"});
    talk.json(&json!({"type": "user", "message": {"content": [block]}, "tool_use_result": {"rows": [1, 2]}}));
    assert_eq!(talk.tool("t").structured.as_ref().unwrap().to_value()["rows"][1], 2);
}

#[test]
fn an_interrupt_ends_the_agents_of_the_turn() {
    let mut talk = TestSession::new();
    talk.init().calls(None, "a", "Task", &json!({"prompt": "go"})).calls(Some("a"), "t", "Bash", &json!({}));
    talk.json(
        &json!({"type": "result", "subtype": "error_during_execution", "terminal_reason": "aborted_tools"}),
    );
    assert_eq!(talk.view().agents[0].state, AgentState::Stopped);
    assert_eq!(talk.tool("t").state, ToolState::Interrupted);
}

#[test]
fn an_agent_whose_result_came_before_its_call_has_ended() {
    let mut talk = TestSession::new();
    talk.init().returns(None, "a", "done").calls(None, "a", "Task", &json!({"prompt": "go"}));
    assert_eq!(talk.view().agents[0].state, AgentState::Completed);
}

#[test]
fn tools_below_a_background_agent_are_not_settled_by_the_main_turn() {
    let mut talk = TestSession::new();
    talk.init()
        .calls(None, "a", "Task", &json!({"prompt": "go", "run_in_background": true}))
        .returns(None, "a", "launched");
    talk.calls(Some("a"), "b", "Task", &json!({"prompt": "go"})).calls(Some("b"), "t", "Bash", &json!({}));
    talk.result("continues");
    assert_eq!(talk.tool("t").state, ToolState::Running);
}

#[test]
fn a_tool_says_how_long_it_has_been_running() {
    let mut talk = TestSession::new();
    talk.init().calls(None, "t", "Bash", &json!({}));
    talk.line(r#"{"type":"tool_progress","tool_use_id":"t","tool_name":"Bash","elapsed_time_seconds":2.5}"#);
    assert_eq!(talk.tool("t").duration_ms, Some(2500));
}
