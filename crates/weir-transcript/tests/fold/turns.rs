//! Turns: which messages they answer, and how they end.

use serde_json::json;
use weir_transcript::{EntryBody, HostEvent, MessageState, Notice, Status, ToolState, TurnCause, TurnState};

use crate::support::TestSession;

fn deliveries(talk: &TestSession) -> Vec<(String, MessageState)> {
    let messages = talk.view().entries.iter().filter_map(|entry| match &entry.body {
        EntryBody::User(user) => Some((user.text.clone(), user.delivery)),
        _ => None,
    });
    messages.collect()
}

#[test]
fn without_ids_messages_are_answered_in_order() {
    let mut talk = TestSession::new();
    talk.sends("a", "A").sends("b", "B");
    assert_eq!(deliveries(&talk), [("A".into(), MessageState::Sent), ("B".into(), MessageState::Sent)]);
    talk.init();
    assert_eq!(deliveries(&talk)[0].1, MessageState::Started);
    talk.says("m", "to A").result("to A");
    assert_eq!(deliveries(&talk), [("A".into(), MessageState::Answered), ("B".into(), MessageState::Sent)]);
    talk.init().says("n", "to B").result("to B");
    assert_eq!(deliveries(&talk)[1].1, MessageState::Answered);
    assert!(
        talk.view().turns.iter().all(|turn| turn.cause == TurnCause::Message && turn.messages.len() == 1)
    );
    assert_eq!(talk.view().status, Status::Idle);
}

#[test]
fn a_result_says_by_ids_which_messages_it_answers() {
    let mut talk = TestSession::new();
    talk.sends("a", "A").sends("b", "B").sends("c", "C").init();
    talk.json(&json!({"type": "result", "subtype": "success", "result": "x", "num_turns": 1, "user_message_uuids": ["a", "c"]}));
    let states: Vec<_> = deliveries(&talk).into_iter().map(|(_, state)| state).collect();
    assert_eq!(states, [MessageState::Answered, MessageState::Sent, MessageState::Answered]);
    assert_eq!(talk.view().turns[0].messages.len(), 2);
}

#[test]
fn an_unasked_turn_answers_no_message() {
    let mut talk = TestSession::new();
    talk.sends("a", "A").init().says("m", "to A").result("to A");
    talk.init().says("n", "the task has ended").result("the task has ended");
    assert_eq!(talk.view().turns[1].cause, TurnCause::Unasked { origin: None });
    // A message is sent while the CLI continues on its own: by order the turn would be its answer.
    talk.sends("b", "B").init().says("o", "woke up");
    talk.json(&json!({"type": "result", "subtype": "success", "result": "woke up", "num_turns": 1, "origin": {"kind": "task-notification"}}));
    assert_eq!(talk.view().turns[2].cause, TurnCause::Unasked { origin: Some("task-notification".into()) });
    assert_eq!(deliveries(&talk)[1].1, MessageState::Sent);
    talk.init().says("p", "to B").result("to B");
    assert_eq!(deliveries(&talk)[1].1, MessageState::Answered);
}

/// As 2.1.9 writes it.
#[test]
fn a_result_without_a_reason_has_the_one_with_which_the_models_message_was_cut_off() {
    let mut talk = TestSession::new();
    let delta = |reason: &str| {
        let event = json!({"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {"output_tokens": 20}});
        json!({"type": "stream_event", "event": event})
    };
    let start = json!({"type": "stream_event", "event": {"type": "message_start", "message": {"id": "m", "content": []}}});
    let failed = json!({"type": "assistant", "message": {"id": "s", "model": "<synthetic>", "content": [{"type": "text", "text": "API Error"}]}});
    let result = json!({"type": "result", "subtype": "success", "is_error": true, "result": "API Error", "num_turns": 1});
    let cases = [
        (vec![start.clone(), failed.clone(), delta("max_tokens")], Some("max_tokens")),
        (vec![start.clone(), failed.clone(), delta("refusal")], Some("refusal")),
        (vec![start.clone(), delta("end_turn")], None),
        // What came afterwards is why it failed.
        (vec![start.clone(), delta("max_tokens"), failed], None),
        (vec![start.clone(), delta("max_tokens"), start, delta("tool_use")], None),
    ];
    for (lines, expected) in cases {
        talk.sends("a", "A").init();
        for line in &lines {
            talk.json(line);
        }
        talk.json(&result);
        let turn = talk.view().turns.last().unwrap();
        assert_eq!(turn.result.as_ref().unwrap().stop_reason.as_deref(), expected, "{lines:?}");
    }
}

#[test]
fn an_empty_result_after_a_resume_answers_no_message() {
    let mut talk = TestSession::new();
    talk.sends("a", "A").init();
    talk.json(
        &json!({"type": "result", "subtype": "success", "result": "No response requested.", "num_turns": 0}),
    );
    assert_eq!(talk.view().turns[0].state, TurnState::Empty);
    assert_eq!(deliveries(&talk)[0].1, MessageState::Sent);
    talk.init().says("m", "to A").result("to A");
    assert_eq!(deliveries(&talk)[0].1, MessageState::Answered);
}

#[test]
fn an_empty_result_after_a_compaction_ends_its_message() {
    // 2.1.197 to `/compact`; its results name no message.
    let empty = json!({"type": "result", "subtype": "success", "result": "", "num_turns": 0});
    let boundary = json!({"type": "system", "subtype": "compact_boundary",
        "compact_metadata": {"trigger": "manual", "pre_tokens": 150, "post_tokens": 580}});
    let mut talk = TestSession::new();
    talk.sends("a", "/compact").init().json(&boundary).json(&empty);
    assert_eq!(talk.view().turns[0].state, TurnState::Empty);
    assert_eq!(deliveries(&talk)[0].1, MessageState::Answered);
}

#[test]
fn an_empty_result_after_text_is_the_answer() {
    // 2.1.197 to `/compact` with nothing to compact; its results name no message.
    let empty = json!({"type": "result", "subtype": "success", "result": "", "num_turns": 0});
    let mut talk = TestSession::new();
    talk.sends("a", "/compact").init().says("m", "Error: No messages to compact").json(&empty);
    assert_eq!(talk.view().turns[0].state, TurnState::Succeeded);
    let result = talk.view().turns[0].result.clone().unwrap();
    assert_eq!((result.text.as_deref(), result.degraded), (Some("Error: No messages to compact"), true));
    assert_eq!(deliveries(&talk)[0].1, MessageState::Answered);
    // The CLI's empty answer after a resume is not an answer, even if it comes as text.
    let mut talk = TestSession::new();
    talk.sends("a", "A").init().says("m", "No response requested.").json(&empty);
    assert_eq!(deliveries(&talk)[0].1, MessageState::Sent);
}

#[test]
fn a_result_that_is_held_back_belongs_to_the_older_turn() {
    let mut talk = TestSession::new();
    talk.init().says("m", "first").init().says("n", "second").result("first").result("second");
    let texts: Vec<_> =
        talk.view().turns.iter().map(|turn| turn.result.clone().unwrap().text.unwrap()).collect();
    assert_eq!(texts, ["first", "second"]);
    let turns: Vec<_> = talk.view().entries.iter().map(|entry| entry.turn.unwrap().0).collect();
    assert_eq!(turns, [1, 2]);
}

#[test]
fn is_error_counts_whatever_the_subtype_says() {
    let mut talk = TestSession::new();
    talk.init()
        .json(&json!({"type": "result", "subtype": "success", "is_error": true, "result": "API Error"}));
    talk.init().json(&json!({"type": "result", "subtype": "error_max_turns", "is_error": false}));
    assert!(talk.view().turns.iter().all(|turn| turn.state == TurnState::Failed));
}

#[test]
fn an_interrupt_ends_the_turn_and_its_tools() {
    let mut talk = TestSession::new();
    talk.init().calls(None, "t", "Bash", &json!({"command": "sleep 60"})).host(&HostEvent::Interrupted);
    talk.json(
        &json!({"type": "result", "subtype": "error_during_execution", "is_error": false, "num_turns": 1}),
    );
    assert_eq!(talk.view().turns[0].state, TurnState::Interrupted);
    assert_eq!(talk.tool("t").state, ToolState::Interrupted);
}

#[test]
fn when_the_cli_dies_everything_that_was_open_ends() {
    let mut talk = TestSession::new();
    talk.sends("a", "A").init().says("m", "working").calls(None, "t", "Task", &json!({"prompt": "go"}));
    talk.line(r#"{"type":"control_request","request_id":"r","request":{"subtype":"can_use_tool","tool_name":"Task","input":{},"tool_use_id":"t"}}"#);
    assert_eq!(talk.view().status, Status::WaitingForPerson);
    talk.sends("b", "B");
    talk.host(&HostEvent::MessageQueued { message: "c".into(), text: "C".into(), images: 0, documents: 0 });
    talk.exits(None, Some(9), "out of memory");
    let view = talk.view();
    assert_eq!(view.status, Status::Ended);
    assert_eq!(view.turns[0].state, TurnState::Degraded);
    assert_eq!(talk.tool("t").state, ToolState::Unknown);
    assert_eq!(view.agents[0].state, weir_transcript::AgentState::Unknown);
    assert_eq!(view.requests[0].state, weir_transcript::RequestState::Cancelled);
    let states: Vec<_> = deliveries(&talk).into_iter().map(|(_, state)| state).collect();
    assert_eq!(states, [MessageState::Indeterminate, MessageState::Indeterminate, MessageState::Queued]);
    let last = &view.entries.last().unwrap().body;
    assert!(
        matches!(last, EntryBody::Notice { notice: Notice::ProcessEnded { signal: Some(9), stderr, .. } } if stderr == "out of memory")
    );
}

#[test]
fn a_session_continues_in_a_new_process() {
    let mut talk = TestSession::new();
    talk.sends("a", "A").init().exits(Some(1), None, "");
    talk.host(&HostEvent::ProcessStarted { resumes: None });
    assert_eq!(talk.view().turns[0].state, TurnState::Lost);
    talk.sends("b", "B").init().says("m", "to B").result("to B");
    assert_eq!(talk.view().status, Status::Idle);
    assert_eq!(deliveries(&talk)[1].1, MessageState::Answered);
}

#[test]
fn lifecycle_lines_report_the_state_of_a_message() {
    let mut talk = TestSession::new();
    talk.sends("a", "A").sends("b", "B").init();
    let lifecycle =
        |id: &str, state: &str| json!({"type": "command_lifecycle", "command_uuid": id, "state": state});
    talk.json(&lifecycle("a", "queued")).json(&lifecycle("a", "started")).json(&lifecycle("b", "cancelled"));
    let states =
        |talk: &TestSession| deliveries(talk).into_iter().map(|(_, state)| state).collect::<Vec<_>>();
    assert_eq!(states(&talk), [MessageState::Started, MessageState::Cancelled]);
    talk.json(&lifecycle("a", "completed"));
    assert_eq!(states(&talk), [MessageState::Answered, MessageState::Cancelled]);
}

#[test]
fn while_something_runs_in_the_background_the_session_is_not_idle() {
    let mut talk = TestSession::new();
    talk.init().line(r#"{"type":"system","subtype":"background_tasks_changed","tasks":[{"task_id":"x","task_type":"local_bash","description":"serve"}]}"#);
    talk.result("started");
    assert_eq!(talk.view().status, Status::Background);
    talk.line(r#"{"type":"system","subtype":"background_tasks_changed","tasks":[]}"#);
    assert_eq!(talk.view().status, Status::Idle);
}

#[test]
fn another_session_id_is_marked() {
    let mut talk = TestSession::new();
    talk.init().result("x");
    assert!(!talk.view().session.forked);
    talk.line(r#"{"type":"system","subtype":"init","session_id":"s2"}"#);
    assert!(talk.view().session.forked);
    assert_eq!(talk.view().session.id.as_ref().unwrap().as_str(), "s2");
}

#[test]
fn a_message_that_was_taken_by_order_and_not_answered_waits_again() {
    let mut talk = TestSession::new();
    talk.sends("a", "A").sends("b", "B").init();
    talk.json(&json!({"type": "result", "subtype": "success", "result": "x", "num_turns": 1, "user_message_uuids": ["b"]}));
    let states =
        |talk: &TestSession| deliveries(talk).into_iter().map(|(_, state)| state).collect::<Vec<_>>();
    assert_eq!(states(&talk), [MessageState::Sent, MessageState::Answered]);
    assert_eq!(talk.view().entries[1].turn.unwrap().0, 1);
    talk.init().result("y");
    assert_eq!(states(&talk), [MessageState::Answered, MessageState::Answered]);
}

#[test]
fn an_unasked_result_does_not_end_a_turn_that_was_asked_for() {
    let mut talk = TestSession::new();
    talk.sends("a", "A").init().says("m", "to A").init().says("n", "woke up");
    talk.json(&json!({"type": "result", "subtype": "success", "result": "woke up", "num_turns": 1, "origin": {"kind": "task-notification"}}));
    talk.json(&json!({"type": "result", "subtype": "success", "result": "to A", "num_turns": 1, "user_message_uuids": ["a"]}));
    let texts: Vec<_> =
        talk.view().turns.iter().map(|turn| turn.result.clone().unwrap().text.unwrap()).collect();
    assert_eq!(texts, ["to A", "woke up"]);
}

#[test]
fn a_repeated_init_is_one_turn() {
    let mut talk = TestSession::new();
    talk.init().init().says("m", "hi").result("hi");
    assert_eq!(talk.view().turns.len(), 1);
    assert_eq!(talk.view().status, Status::Idle);
}

#[test]
fn a_process_that_starts_ends_what_the_one_before_left_open() {
    let mut talk = TestSession::new();
    talk.sends("a", "A").init().says("m", "half").host(&HostEvent::ProcessStarted { resumes: None });
    talk.sends("b", "B").init().says("n", "to B").result("to B");
    let states: Vec<_> = deliveries(&talk).into_iter().map(|(_, state)| state).collect();
    assert_eq!(states, [MessageState::Indeterminate, MessageState::Answered]);
    assert_eq!(talk.view().turns[0].state, TurnState::Degraded);
}

#[test]
fn an_echo_in_a_recording_belongs_to_the_turn() {
    let mut talk = TestSession::new();
    talk.init()
        .line(r#"{"type":"user","message":{"content":"hello"},"uuid":"a","isReplay":true}"#)
        .says("m", "hi")
        .result("hi");
    assert_eq!(deliveries(&talk), [("hello".into(), MessageState::Answered)]);
}

#[test]
fn a_reset_is_not_a_fork() {
    let mut talk = TestSession::new();
    talk.init().result("x").line(r#"{"type":"conversation_reset","trigger":"clear","session_id":"s1"}"#);
    talk.line(r#"{"type":"system","subtype":"init","session_id":"s2"}"#);
    assert!(!talk.view().session.forked);
}

#[test]
fn a_message_that_is_sent_twice_is_one_message() {
    let mut talk = TestSession::new();
    talk.sends("a", "A")
        .host(&HostEvent::MessageSent { message: "a".into() })
        .init()
        .result("x")
        .init()
        .result("y");
    assert_eq!(talk.view().turns[1].cause, TurnCause::Unasked { origin: None });
}

/// As in 2.1.61: the agent in the background ends after the last text of the turn that started it, and the CLI
/// begins another turn before it has written the result. There is one result, with the text of the second turn.
#[test]
fn one_result_for_a_turn_and_for_the_one_that_the_cli_began_meanwhile() {
    for is_known in [true, false] {
        let mut talk = TestSession::new();
        if is_known {
            talk.sends("a", "A");
        }
        talk.init().calls(None, "toolu_1", "Task", &json!({"description": "bg", "prompt": "go"}));
        talk.json(
            &json!({"type": "system", "subtype": "task_started", "task_id": "t", "tool_use_id": "toolu_1",
            "description": "bg", "task_type": "local_agent"}),
        );
        talk.returns(None, "toolu_1", "Async agent launched successfully.").says("m", "outer done");
        talk.json(&json!({"type": "system", "subtype": "task_notification", "task_id": "t",
            "tool_use_id": "toolu_1", "status": "completed", "summary": "inner done"}));
        talk.init().says("n", "it has ended");
        assert_eq!(talk.view().status, Status::Running);
        talk.json(&json!({"type": "result", "subtype": "success", "is_error": false, "num_turns": 1,
            "result": "it has ended", "stop_reason": null, "total_cost_usd": 0.01}));
        assert_eq!(talk.view().status, Status::Idle);
        let states: Vec<_> = talk.view().turns.iter().map(|turn| turn.state).collect();
        assert_eq!(states, [TurnState::Succeeded, TurnState::Succeeded]);
        if is_known {
            assert_eq!(deliveries(&talk)[0].1, MessageState::Answered);
            assert_eq!(talk.view().turns[0].messages.len(), 1);
        }
        let spent: f64 = talk.view().turns.iter().filter_map(|turn| turn.cost_usd).sum();
        assert!((spent - 0.01).abs() < 1e-9, "counted once: {spent}");
    }
}

/// 2.1.325 delays results, says for each why its turn ended, and writes both.
#[test]
fn a_result_that_was_held_back_ends_its_own_turn_alone() {
    let mut talk = TestSession::new();
    talk.sends("a", "A").init().says("m", "to A").init().says("n", "woke up");
    talk.json(&json!({"type": "result", "subtype": "success", "result": "to A", "num_turns": 1,
        "terminal_reason": "completed"}));
    assert_eq!(talk.view().status, Status::Running);
    talk.json(&json!({"type": "result", "subtype": "success", "result": "woke up", "num_turns": 1,
        "terminal_reason": "completed", "origin": {"kind": "task-notification"}}));
    assert_eq!(talk.view().status, Status::Idle);
}

#[test]
fn discarded_and_refused_messages_end_with_a_reason() {
    for (state, reason) in [("discarded", "discarded"), ("refused", "refused")] {
        let mut talk = TestSession::new();
        talk.sends("a", "A");
        talk.json(&json!({"type": "command_lifecycle", "command_uuid": "a", "state": state}));
        assert_eq!(deliveries(&talk)[0].1, MessageState::Failed);
        let EntryBody::User(user) = &talk.view().entries[0].body else { panic!("a message") };
        assert!(user.error.as_deref().unwrap().contains(reason));
        // It does not take the turn of another message.
        talk.sends("b", "B").init().says("m", "to B").result("to B");
        assert_eq!(deliveries(&talk)[1].1, MessageState::Answered);
    }
}

#[test]
fn an_empty_result_keeps_the_streamed_text() {
    let mut talk = TestSession::new();
    talk.sends("a", "A").init().says("m", "words").calls(
        None,
        "toolu_1",
        "Bash",
        &json!({"command": "true"}),
    );
    talk.returns(None, "toolu_1", "").says("n", "and more").result("");
    let turn = &talk.view().turns[0];
    let result = turn.result.as_ref().unwrap();
    assert_eq!((turn.state, result.degraded), (TurnState::Succeeded, true));
    assert_eq!(result.text.as_deref(), Some("words\n\nand more"));
    // Something was done, so a result without text is an answer too.
    talk.sends("b", "B").init().calls(None, "toolu_2", "Bash", &json!({"command": "true"}));
    talk.returns(None, "toolu_2", "").result("");
    let turn = &talk.view().turns[1];
    assert_eq!((turn.state, turn.result.as_ref().unwrap().degraded), (TurnState::Succeeded, false));
}

#[test]
fn a_completely_empty_result_is_an_error() {
    let mut talk = TestSession::new();
    talk.sends("a", "A").init().result("");
    let turn = &talk.view().turns[0];
    assert_eq!(turn.state, TurnState::Failed);
    assert!(turn.result.as_ref().unwrap().error().contains("without an answer"));
    assert_eq!(deliveries(&talk)[0].1, MessageState::Failed);
}

#[test]
fn an_interrupted_turn_does_not_cancel_its_message() {
    // As in 2.1.325: the result, and then the message is reported as cancelled, although a tool may have run.
    let mut talk = TestSession::new();
    talk.sends("a", "A").init();
    talk.json(&json!({"type": "command_lifecycle", "command_uuid": "a", "state": "started"}));
    talk.host(&HostEvent::Interrupted);
    talk.json(
        &json!({"type": "result", "subtype": "error_during_execution", "is_error": true, "num_turns": 1,
        "user_message_uuids": ["a"]}),
    );
    talk.json(&json!({"type": "command_lifecycle", "command_uuid": "a", "state": "cancelled"}));
    assert_eq!(talk.view().turns[0].state, TurnState::Interrupted);
    assert_eq!(deliveries(&talk)[0].1, MessageState::Answered);
}

#[test]
fn a_compaction_that_was_interrupted_is_not_a_failure() {
    // As in 2.1.9: a success without text.
    let mut talk = TestSession::new();
    talk.sends("a", "/compact").host(&HostEvent::Interrupted).init();
    talk.json(
        &json!({"type": "result", "subtype": "success", "is_error": false, "num_turns": 1, "result": ""}),
    );
    let turn = &talk.view().turns[0];
    assert_eq!(turn.state, TurnState::Interrupted);
    assert!(turn.result.as_ref().unwrap().errors.is_empty());
    assert_eq!(deliveries(&talk)[0].1, MessageState::Answered);
}

#[test]
fn old_versions_report_the_api_status_only_in_text() {
    let status = |is_error: bool, text: &str| {
        let mut talk = TestSession::new();
        talk.sends("a", "A").init();
        talk.json(&json!({"type": "result", "subtype": "success", "is_error": is_error, "num_turns": 1,
            "result": text}));
        talk.view().turns[0].result.as_ref().unwrap().api_error_status
    };
    let words = "API Error: 429 {\"type\":\"error\",\"error\":{\"type\":\"rate_limit_error\"}}";
    assert_eq!(status(true, words), Some(429));
    // The model may write the same text.
    assert_eq!(status(false, words), None);
    assert_eq!(status(true, "API Error: 12 monkeys"), None);
    assert_eq!(status(true, "API Error: Request rejected (429)"), None);
}

#[test]
fn an_interrupt_that_cancelled_a_message_does_not_hit_the_next_turn() {
    let mut talk = TestSession::new();
    talk.sends("a", "A").host(&HostEvent::Interrupted);
    talk.json(&json!({"type": "command_lifecycle", "command_uuid": "a", "state": "cancelled"}));
    talk.sends("b", "B").init();
    talk.json(
        &json!({"type": "result", "subtype": "error_during_execution", "is_error": true, "num_turns": 1}),
    );
    assert_eq!(talk.view().turns[0].state, TurnState::Failed);
}
