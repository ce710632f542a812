//! The normalised vocabularies, derived from the same fold.

use serde_json::json;
use weir_transcript::{
    AgentEventKind, AgentVocabulary, ClassicData, ClassicEvent, ClassicSystem, ClassicVocabulary, Fold,
    FoldOptions, HostEvent, Outcome, RequestAnswer, RequestState, SummaryBuilder, ToolState, View,
};
use weir_wire::{Decoder, Framer};

use crate::support::{TestSession, captures};

/// Names of the events of a capture, with repeated names counted.
fn names(version: &str, name: &str) -> (String, String) {
    let (mut agent, mut classic) = (Vec::new(), Vec::new());
    let (_, _, path) = captures().into_iter().find(|(v, n, _)| v == version && n == name).unwrap();
    let mut agent_words = AgentVocabulary::default();
    let mut classic_words = ClassicVocabulary::default();
    let (mut framer, mut decoder) = (Framer::new(), Decoder::new());
    let mut fold = Fold::new(FoldOptions::default());
    framer.push(&std::fs::read(path).unwrap());
    while let Some(frame) = framer.next_frame() {
        fold.line(&decoder.decode_frame(frame), &mut |view, change| {
            agent_words.translate(view, change, &mut |event| agent.push(event.name()));
            classic_words.translate(view, change, &mut |event| classic.push(event.event));
        });
    }
    fold.host(&HostEvent::RecordingEnded, &mut |view, change| {
        agent_words.translate(view, change, &mut |event| agent.push(event.name()));
        classic_words.translate(view, change, &mut |event| classic.push(event.event));
    });
    (counted(&agent), counted(&classic))
}

fn counted(names: &[&str]) -> String {
    let mut out: Vec<(String, usize)> = Vec::new();
    for name in names {
        match out.last_mut() {
            Some((last, count)) if last == name => *count += 1,
            _ => out.push(((*name).to_owned(), 1)),
        }
    }
    let words = out.into_iter().map(|(name, count)| match count {
        1 => name,
        _ => format!("{name} ×{count}"),
    });
    words.collect::<Vec<_>>().join("\n")
}

#[test]
fn a_message_in_pieces_with_a_tool() {
    let (agent, classic) = names("2.1.325", "partial-tool");
    insta::assert_snapshot!(agent, @r"
    agent-process-start
    agent-message-start
    agent-text-delta ×2
    agent-tool-start
    agent-tool-end
    agent-text-delta ×3
    agent-message-end
    agent-process-end
    ");
    insta::assert_snapshot!(classic, @r"
    system ×2
    text ×2
    tool_use
    tool_result
    text ×3
    result
    done
    system
    ");
}

#[test]
fn a_sub_agent_in_the_background() {
    let (agent, _) = names("2.1.325", "subagent-background");
    insta::assert_snapshot!(agent, @r"
    agent-process-start
    agent-message-start
    agent-text-delta
    agent-tool-start
    agent-subagent-start
    agent-tool-end
    agent-text-delta
    agent-tool-start
    agent-text-delta
    agent-tool-end
    agent-text-delta
    agent-subagent-end
    agent-message-start
    agent-text-delta
    agent-message-end ×2
    agent-process-end
    ");
}

#[test]
fn a_question_and_a_permission() {
    let (agent, _) = names("2.1.325", "ask-user-question");
    insta::assert_snapshot!(agent, @r"
    agent-process-start
    agent-message-start
    agent-tool-start
    agent-question ×3
    agent-tool-end
    agent-text-delta
    agent-message-end
    agent-process-end
    ");
    let (agent, _) = names("2.1.325", "permission-denied-by-host");
    insta::assert_snapshot!(agent, @r"
    agent-process-start
    agent-message-start
    agent-tool-start
    agent-permission ×2
    agent-tool-end
    agent-text-delta
    agent-message-end
    agent-process-end
    ");
}

#[test]
fn errors_and_todos() {
    let (agent, classic) = names("2.1.325", "api-error-529");
    insta::assert_snapshot!(agent, @r"
    agent-process-start
    agent-message-start
    agent-error ×2
    agent-text-delta
    agent-error
    agent-message-end
    agent-process-end
    ");
    insta::assert_snapshot!(classic, @r"
    system ×2
    error ×2
    text
    error
    result
    done
    system
    ");
    let (agent, _) = names("2.1.9", "todos");
    assert_eq!(agent.lines().filter(|line| *line == "agent-todos").count(), 2);
}

#[test]
fn a_cut_off_recording_ends_with_an_error_and_an_end() {
    let (agent, classic) = names("2.1.9", "big-tool-result");
    insta::assert_snapshot!(agent, @r"
    agent-process-start
    agent-message-start
    agent-tool-start
    agent-tool-end
    agent-error
    agent-message-end
    agent-process-end
    ");
    assert!(classic.ends_with("result\ndone\nsystem"), "{classic}");
}

#[test]
fn the_summary_has_the_answer_that_was_asked_for() {
    let (_, _, path) =
        captures().into_iter().find(|(v, n, _)| v == "2.1.325" && n == "background-bash").unwrap();
    let mut summary = SummaryBuilder::default();
    let (mut framer, mut decoder) = (Framer::new(), Decoder::new());
    let mut fold = Fold::new(FoldOptions::default());
    framer.push(&std::fs::read(path).unwrap());
    while let Some(frame) = framer.next_frame() {
        fold.line(&decoder.decode_frame(frame), &mut |view, change| {
            summary.observe(view, change);
        });
    }
    let run = summary.summary(fold.view());
    assert_eq!(run.final_text.as_deref(), Some("It runs in the background."));
    assert_eq!(run.stream_text, "It runs in the background.\n\nIt has finished.");
    assert_eq!(run.cost_usd, Some(0.0042));
    assert!(!run.is_error && !run.degraded);
}

/// The events of a test session, in a short form.
fn short_events(session: &TestSession) -> Vec<String> {
    let mut words = AgentVocabulary::default();
    let mut view = View::default();
    let mut out = Vec::new();
    for change in &session.changes {
        view.apply(change);
        words.translate(&view, change, &mut |event| {
            let detail = match &event.kind {
                AgentEventKind::ToolStart { name, .. } => format!(" {name}"),
                AgentEventKind::ToolEnd { name, state, output, .. } => {
                    let output = output.as_ref().map(|output| output.text.to_str().into_owned());
                    format!(" {name} {state:?} {output:?}")
                }
                AgentEventKind::TextDelta { text, replaces, .. } => format!(" {text:?} {replaces}"),
                AgentEventKind::SubagentEnd { state, .. } => format!(" {state:?}"),
                _ => String::new(),
            };
            out.push(format!("{}{detail}", event.name().trim_start_matches("agent-")));
        });
    }
    out
}

#[test]
fn a_result_before_its_call_is_reported_with_the_call_and_in_order() {
    let mut talk = TestSession::new();
    talk.init().returns(None, "t", "early").calls(None, "t", "Bash", &json!({"command": "ls"})).result("x");
    assert_eq!(
        short_events(&talk),
        [
            "process-start",
            "message-start",
            "tool-start Bash",
            "tool-end Bash Succeeded Some(\"early\")",
            "message-end",
        ]
    );
}

#[test]
fn a_result_whose_call_never_comes_is_reported_at_the_end_of_the_turn() {
    let mut talk = TestSession::new();
    talk.init().returns(None, "t", "early").result("x");
    assert_eq!(
        short_events(&talk),
        ["process-start", "message-start", "tool-end  Succeeded Some(\"early\")", "message-end"]
    );
}

#[test]
fn a_denied_tool_ends_with_what_the_model_was_told() {
    let mut talk = TestSession::new();
    talk.init().calls(None, "t", "Bash", &json!({}));
    talk.line(r#"{"type":"control_request","request_id":"r","request":{"subtype":"can_use_tool","tool_name":"Bash","input":{},"tool_use_id":"t"}}"#);
    let answer = RequestAnswer::Deny { message: "no".into() };
    talk.host(&HostEvent::RequestAnswered { request: "r".into(), answer, by: None });
    assert!(!short_events(&talk).iter().any(|event| event.starts_with("tool-end")));
    talk.line(r#"{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t","content":"no","is_error":true}]}}"#);
    assert_eq!(short_events(&talk).last().unwrap(), "tool-end Bash Denied Some(\"no\")");
}

#[test]
fn when_the_cli_dies_tools_and_agents_end_before_the_turn() {
    let mut talk = TestSession::new();
    talk.init().calls(None, "a", "Task", &json!({"prompt": "go"})).calls(Some("a"), "t", "Bash", &json!({}));
    talk.exits(None, Some(9), "");
    let ends: Vec<String> = short_events(&talk).into_iter().filter(|event| event.contains("-end")).collect();
    assert_eq!(
        ends,
        [
            "tool-end Task Unknown None",
            "tool-end Bash Unknown None",
            "subagent-end Unknown",
            "message-end",
            "process-end",
        ]
    );
}

#[test]
fn wrong_text_is_sent_again_as_a_replacement() {
    let mut talk = TestSession::new();
    talk.init().line(
        r#"{"type":"stream_event","event":{"type":"message_start","message":{"id":"m","content":[]}}}"#,
    );
    talk.line(r#"{"type":"stream_event","event":{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}}"#);
    talk.line(r#"{"type":"stream_event","event":{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hxl"}}}"#);
    talk.says("m", "Hello");
    assert_eq!(
        short_events(&talk),
        ["process-start", "message-start", "text-delta \"Hxl\" false", "text-delta \"Hello\" true"]
    );
}

#[test]
fn a_classic_result_has_the_total_of_its_own_turn() {
    let (mut decoder, mut fold) = (Decoder::new(), Fold::new(FoldOptions::default()));
    let mut words = ClassicVocabulary::default();
    let mut totals = Vec::new();
    for total in [0.5, 0.75] {
        let line = json!({"type": "result", "subtype": "success", "result": "x", "total_cost_usd": total})
            .to_string();
        fold.line(&decoder.decode(line.as_bytes()), &mut |view, change| {
            words.translate(view, change, &mut |event| {
                if let ClassicData::Result(result) = event.data {
                    totals.push(result.total_cost_usd.unwrap());
                }
            });
        });
    }
    assert_eq!(totals, [0.5, 0.75]);
}

#[test]
fn a_cut_off_answer_is_the_text_of_its_turn() {
    let mut talk = TestSession::new();
    talk.init().says("m", "first").result("first").init().says("n", "sec").exits(Some(1), None, "");
    let mut summary = SummaryBuilder::new();
    let mut view = View::default();
    for change in &talk.changes {
        view.apply(change);
        summary.observe(&view, change);
    }
    let run = summary.summary(&view);
    assert_eq!((run.degraded, run.final_text.as_deref()), (true, Some("sec")));
    assert_eq!(summary.outcome(&view), Outcome::NoResult);
}

#[test]
fn the_end_of_a_sub_agent_has_its_outcome() {
    let (_, _, path) = captures().into_iter().find(|(v, n, _)| v == "2.1.325" && n == "subagent").unwrap();
    let mut words = AgentVocabulary::default();
    let (mut decoder, mut fold) = (Decoder::new(), Fold::new(FoldOptions::default()));
    let mut ends = Vec::new();
    for line in std::fs::read(path).unwrap().split(|&byte| byte == b'\n') {
        fold.line(&decoder.decode(line), &mut |view, change| {
            words.translate(view, change, &mut |event| {
                if let AgentEventKind::SubagentEnd { summary, progress, .. } = event.kind {
                    ends.push((summary, progress.total_tokens));
                }
            });
        });
    }
    assert_eq!(ends, [(Some("report of one".into()), Some(150))]);
}

/// The `classic` events of a test session.
fn classic(session: &TestSession) -> Vec<ClassicEvent> {
    let mut words = ClassicVocabulary::default();
    let mut view = View::default();
    let mut out = Vec::new();
    for change in &session.changes {
        view.apply(change);
        words.translate(&view, change, &mut |event| out.push(event));
    }
    out
}

/// The `agent` events of a test session.
fn agent(session: &TestSession) -> Vec<AgentEventKind> {
    let mut words = AgentVocabulary::default();
    let mut view = View::default();
    let mut out = Vec::new();
    for change in &session.changes {
        view.apply(change);
        words.translate(&view, change, &mut |event| out.push(event.kind));
    }
    out
}

#[test]
fn done_is_sent_after_each_answer_and_not_again_when_the_process_ends() {
    let mut talk = TestSession::new();
    talk.init().says("m", "one").result("one").init().says("n", "two").result("two");
    talk.exits(Some(0), None, "");
    let names: Vec<&str> = classic(&talk).iter().map(|event| event.event).collect();
    assert_eq!(counted(&names), "system ×2\ntext\nresult\ndone\ntext\nresult\ndone\nsystem");
    let turns = classic(&talk).into_iter().filter_map(|event| match event.data {
        ClassicData::Done(done) => Some(done.turn_id.map(|turn| turn.0)),
        _ => None,
    });
    assert_eq!(turns.collect::<Vec<_>>(), [Some(1), Some(2)]);
}

#[test]
fn a_process_that_ends_without_an_answer_is_done_as_well() {
    let mut talk = TestSession::new();
    talk.exits(Some(1), None, "no such session");
    let events = classic(&talk);
    let names: Vec<&str> = events.iter().map(|event| event.event).collect();
    assert_eq!(names, ["error", "system", "system", "done"]);
    assert!(matches!(&events[3].data, ClassicData::Done(done) if done.turn_id.is_none()));
}

/// A format from before the CLI had ids everywhere: a call without one, and its result in the same line.
#[test]
fn calls_without_an_id_are_shown_with_their_results() {
    let mut talk = TestSession::new();
    let content = json!([
        {"type": "text", "text": "Hello!"},
        {"type": "tool_use", "name": "Bash", "input": {"command": "ls"}},
        {"type": "tool_result", "content": "file1.txt\nfile2.txt"},
    ]);
    talk.init().json(&json!({"type": "assistant", "message": {"content": content}})).result("Hello!");
    assert_eq!(
        short_events(&talk),
        [
            "process-start",
            "message-start",
            "text-delta \"Hello!\" false",
            "tool-start Bash",
            "tool-end Bash Succeeded Some(\"file1.txt\\nfile2.txt\")",
            "message-end",
        ]
    );
    assert_eq!(talk.view().oddities.blocks, 0);
    let ids = classic(&talk).into_iter().filter_map(|event| match event.data {
        ClassicData::ToolUse(call) => Some(call.id),
        ClassicData::ToolResult(result) => Some(result.tool_use_id),
        _ => None,
    });
    let ids: Vec<_> = ids.collect();
    assert!(ids.len() == 2 && ids[0] == ids[1], "{ids:?}");
}

#[test]
fn two_calls_without_an_id_get_their_results_in_order() {
    let mut talk = TestSession::new();
    let call = |command: &str| json!({"type": "tool_use", "name": "Bash", "input": {"command": command}});
    let result = |text: &str| json!({"type": "tool_result", "content": text});
    talk.init().json(&json!({"type": "assistant", "message": {"content": [call("a"), call("b")]}}));
    talk.json(&json!({"type": "user", "message": {"content": [result("of a"), result("of b")]}})).result("x");
    let ends: Vec<_> = talk
        .view()
        .tools()
        .map(|(_, tool)| (tool.title.clone(), tool.output.as_ref().unwrap().text.to_str().into_owned()))
        .collect();
    assert_eq!(ends, [("a".into(), "of a".into()), ("b".into(), "of b".into())]);
}

#[test]
fn a_call_without_a_result_is_not_reported_as_failed() {
    let mut talk = TestSession::new();
    talk.init().json(&json!({"type": "assistant", "message": {"content": [
        {"type": "tool_use", "name": "Bash", "input": {}}]}}));
    talk.result("x");
    let end = classic(&talk).into_iter().find_map(|event| match event.data {
        ClassicData::ToolResult(result) => Some((result.state, result.is_error)),
        _ => None,
    });
    assert_eq!(end, Some((ToolState::Unknown, false)));
    let end = agent(&talk).into_iter().find_map(|event| match event {
        AgentEventKind::ToolEnd { state, is_error, .. } => Some((state, is_error)),
        _ => None,
    });
    assert_eq!(end, Some((ToolState::Unknown, false)));
}

#[test]
fn a_turn_reports_its_folder_its_tools_and_the_total_cost() {
    let mut talk = TestSession::new();
    talk.line(r#"{"type":"system","subtype":"init","session_id":"s","cwd":"/p","tools":["Bash","Read"]}"#);
    talk.json(&json!({"type": "result", "subtype": "success", "result": "x", "total_cost_usd": 0.5}));
    let events = agent(&talk);
    assert!(
        events.iter().any(|event| matches!(event, AgentEventKind::MessageStart { cwd: Some(cwd), tools, .. }
        if cwd == "/p" && tools.len() == 2))
    );
    assert!(events.iter().any(|event| matches!(event, AgentEventKind::MessageEnd { total_cost_usd, .. }
        if *total_cost_usd == Some(0.5))));
}

#[test]
fn a_host_reports_the_start_and_the_end_of_each_process() {
    let mut words = AgentVocabulary::default();
    let mut fold = Fold::new(FoldOptions::default());
    let mut out = Vec::new();
    let events = [
        HostEvent::ProcessStarted { resumes: None },
        HostEvent::ProcessExited { code: Some(0), signal: None, stderr: String::new(), wanted: false },
        HostEvent::ProcessStarted { resumes: Some("s".into()) },
        HostEvent::ProcessExited { code: None, signal: Some(9), stderr: "oops".into(), wanted: false },
    ];
    for event in events {
        fold.host(&event, &mut |view, change| {
            words.translate(view, change, &mut |event| out.push(event.kind));
        });
        words.host(fold.view(), &event, &mut |event| out.push(event.kind));
    }
    let out: Vec<String> = out
        .into_iter()
        .filter_map(|event| match event {
            AgentEventKind::ProcessStart { resumes } => Some(format!("start {resumes:?}")),
            AgentEventKind::ProcessEnd { code, signal, stderr, .. } => {
                Some(format!("end {code:?} {signal:?} {stderr}"))
            }
            _ => None,
        })
        .collect();
    assert_eq!(
        out,
        ["start None", "end Some(0) None ", "start Some(CliSessionId(s))", "end None Some(9) oops"]
    );
}

#[test]
fn a_recording_without_requests_derives_its_questions_from_the_calls() {
    let mut talk = TestSession::new();
    let question = json!({"questions": [{"question": "Which?", "header": "h", "multiSelect": false,
        "options": [{"label": "A", "description": "a"}, {"label": "B", "description": "b"}]}]});
    talk.init().calls(None, "q", "AskUserQuestion", &question);
    let states = |talk: &TestSession| -> Vec<RequestState> {
        let states = agent(talk).into_iter().filter_map(|event| match event {
            AgentEventKind::Question { request_id: None, state, .. } => Some(state),
            _ => None,
        });
        states.collect()
    };
    assert_eq!(states(&talk), [RequestState::Open], "at the call");
    talk.returns(None, "q", "A").result("x");
    assert_eq!(states(&talk), [RequestState::Open, RequestState::Settled]);
    let asked = classic(&talk).into_iter().any(|event| {
        matches!(event.data, ClassicData::System(ClassicSystem::Request { request_id: None, .. }))
    });
    assert!(asked);
}

#[test]
fn todos_are_reported_with_the_call_and_reverted_if_it_fails() {
    let mut talk = TestSession::new();
    let list =
        |status: &str| json!({"todos": [{"content": "build", "status": status, "activeForm": "building"}]});
    let statuses = |talk: &TestSession| -> Vec<Vec<String>> {
        let lists = agent(talk).into_iter().filter_map(|event| match event {
            AgentEventKind::Todos { items } => Some(items.into_iter().map(|item| item.status).collect()),
            _ => None,
        });
        lists.collect()
    };
    talk.init().calls(None, "t", "TodoWrite", &list("pending"));
    assert_eq!(statuses(&talk), [["pending"]]);
    talk.returns(None, "t", "ok");
    assert_eq!(statuses(&talk), [["pending"]], "the result has the same list");
    talk.calls(None, "u", "TodoWrite", &list("completed"));
    talk.line(r#"{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"u","content":"no","is_error":true}]}}"#);
    assert_eq!(statuses(&talk), [["pending"], ["completed"], ["pending"]]);
}

#[test]
fn a_sub_agent_has_a_description_and_is_corrected() {
    let mut talk = TestSession::new();
    // Its first line comes before the call that started it.
    talk.init().json(&json!({"type": "assistant", "parent_tool_use_id": "a",
        "message": {"content": [{"type": "text", "text": "looking"}]}}));
    talk.calls(None, "a", "Task", &json!({"prompt": "look around\nplease", "run_in_background": true}));
    let result = json!({"type": "tool_result", "tool_use_id": "a", "content": "seen"});
    talk.json(&json!({"type": "user", "message": {"content": [result]},
        "tool_use_result": {"agentId": "x", "status": "completed", "content": []}}));
    talk.result("x");
    let events: Vec<String> = agent(&talk)
        .into_iter()
        .filter_map(|event| match event {
            AgentEventKind::SubagentStart { description, background, .. } => {
                Some(format!("start {description} {background}"))
            }
            AgentEventKind::SubagentUpdate { description, background, .. } => {
                Some(format!("update {description} {background}"))
            }
            AgentEventKind::SubagentEnd { state, .. } => Some(format!("end {state:?}")),
            _ => None,
        })
        .collect();
    assert_eq!(
        events,
        ["start sub-agent false", "update look around true", "update look around false", "end Completed"]
    );
}
