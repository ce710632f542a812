//! Which tools a session has: no more than the owner allows, and fewer on request.

use serde_json::{Value, json};

use crate::common::eventually;
use crate::support::{Served, says};

/// The tools of a session, as its CLI names them.
fn tools(served: &Served, session: &str) -> Vec<String> {
    served.send(session, &says("hello"));
    // Every session has a tool to ask questions, so an empty list has not arrived yet.
    let list = eventually("the tools", || {
        let snapshot = served.follow(session, "view").wait("snapshot").json();
        snapshot["view"]["session"]["tools"].as_array().filter(|list| !list.is_empty()).cloned()
    });
    list.iter().filter_map(Value::as_str).map(str::to_owned).collect()
}

#[test]
fn a_session_never_has_more_tools_than_the_owner_gives() {
    let served = Served::with(&["--tools", "Read,Write,Edit", "--allow-tools", "Bash"]);
    let own = ["AskUserQuestion", "ExitPlanMode", "TodoWrite"];
    let cases = [
        (json!({}), vec!["Edit", "Read", "Write"]),
        (json!({"tools": ["Read", "Bash"]}), vec!["Read"]),
        (json!({"tools": []}), vec![]),
        // Allowing a tool does not make it available.
        (json!({"allowed_tools": ["Bash"]}), vec!["Edit", "Read", "Write"]),
    ];
    for (body, expected) in cases {
        let mut had = tools(&served, &served.session_with(&body));
        had.retain(|tool| !own.contains(&tool.as_str()));
        had.sort();
        assert_eq!(had, expected, "{body}");
    }
}

#[test]
fn without_a_list_a_session_has_all_and_can_have_fewer() {
    let served = Served::start();
    let all = tools(&served, &served.session());
    assert!(all.iter().any(|tool| tool == "Bash") && all.iter().any(|tool| tool == "Task"), "{all:?}");
    let fewer = tools(&served, &served.session_with(&json!({"tools": ["Read"]})));
    assert!(fewer.iter().any(|tool| tool == "Read") && !fewer.iter().any(|tool| tool == "Bash"), "{fewer:?}");
}

/// What the owner allows is what counts when a process is started, not when the session was created.
#[test]
fn a_session_keeps_no_more_than_the_owner_still_allows() {
    let mut served = Served::with(&["--allow-tools", "Bash"]);
    let session = served.session_with(&json!({"allowed_tools": ["Bash"]}));
    let makes = |name: &str| {
        let input = json!({"command": format!("mkdir {name}"), "description": "d"});
        format!("@@{}", json!([{"tool": "Bash", "input": input}, {"text": "done"}]))
    };
    served.send(&session, &makes("first"));
    eventually("a folder", || served.place.workspace().join("first").exists().then_some(()));
    served.wait_for_status(&session, "idle");
    served.stop();
    served.restart_with(&[]);
    served.send(&session, &makes("second_one"));
    served.wait_for_status(&session, "waiting");
    assert!(!served.place.workspace().join("second_one").exists());
    served.stop();
}
