//! The normalised vocabularies, made from the same fold.

use serde_json::json;
use weir_transcript::{
    AgentEventKind, AgentVocabulary, ClassicVocabulary, Fold, FoldOptions, HostEvent, Outcome, RequestAnswer,
    SummaryBuilder, View,
};
use weir_wire::{Decoder, Framer};

use crate::support::{Conversation, captures};

/// Names of the events of a capture, runs of the same one counted.
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
    agent-message-start
    agent-text-delta ×2
    agent-tool-start
    agent-tool-end
    agent-text-delta ×3
    agent-message-end
    ");
    insta::assert_snapshot!(classic, @r"
    system
    text ×2
    tool_use
    tool_result
    text ×3
    result
    done
    ");
}

#[test]
fn a_sub_agent_in_the_background() {
    let (agent, _) = names("2.1.325", "subagent-background");
    insta::assert_snapshot!(agent, @r"
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
    ");
}

#[test]
fn a_question_and_a_permission() {
    let (agent, _) = names("2.1.325", "ask-user-question");
    insta::assert_snapshot!(agent, @r"
    agent-message-start
    agent-tool-start
    agent-question ×2
    agent-tool-end
    agent-text-delta
    agent-message-end
    ");
    let (agent, _) = names("2.1.325", "permission-denied-by-host");
    insta::assert_snapshot!(agent, @r"
    agent-message-start
    agent-tool-start
    agent-permission ×2
    agent-tool-end
    agent-text-delta
    agent-message-end
    ");
}

#[test]
fn errors_and_things_to_do() {
    let (agent, classic) = names("2.1.325", "api-error-529");
    insta::assert_snapshot!(agent, @r"
    agent-message-start
    agent-error ×2
    agent-text-delta
    agent-error
    agent-message-end
    ");
    insta::assert_snapshot!(classic, @r"
    system
    error ×2
    text
    error
    result
    done
    ");
    let (agent, _) = names("2.1.9", "todos");
    assert_eq!(agent.lines().filter(|line| *line == "agent-todos").count(), 2);
}

#[test]
fn a_cut_off_recording_ends_with_an_error_and_an_end() {
    let (agent, classic) = names("2.1.9", "big-tool-result");
    insta::assert_snapshot!(agent, @r"
    agent-message-start
    agent-tool-start
    agent-tool-end
    agent-error
    agent-message-end
    ");
    assert!(classic.ends_with("done"));
}

#[test]
fn the_summary_tells_the_answer_that_was_asked_for() {
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

/// The events of a conversation that a test writes, in a short form.
fn told(conversation: &Conversation) -> Vec<String> {
    let mut words = AgentVocabulary::default();
    let mut view = View::default();
    let mut out = Vec::new();
    for change in &conversation.changes {
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
fn a_result_before_its_call_is_told_with_the_call_and_in_order() {
    let mut talk = Conversation::new();
    talk.init().returns(None, "t", "early").calls(None, "t", "Bash", &json!({"command": "ls"})).result("x");
    assert_eq!(
        told(&talk),
        ["message-start", "tool-start Bash", "tool-end Bash Succeeded Some(\"early\")", "message-end",]
    );
}

#[test]
fn a_result_whose_call_never_comes_is_told_at_the_end_of_the_turn() {
    let mut talk = Conversation::new();
    talk.init().returns(None, "t", "early").result("x");
    assert_eq!(told(&talk), ["message-start", "tool-end  Succeeded Some(\"early\")", "message-end"]);
}

#[test]
fn a_denied_tool_ends_with_what_the_model_was_told() {
    let mut talk = Conversation::new();
    talk.init().calls(None, "t", "Bash", &json!({}));
    talk.line(r#"{"type":"control_request","request_id":"r","request":{"subtype":"can_use_tool","tool_name":"Bash","input":{},"tool_use_id":"t"}}"#);
    let answer = RequestAnswer::Deny { message: "no".into() };
    talk.host(&HostEvent::RequestAnswered { request: "r".into(), answer, by: None });
    assert!(!told(&talk).iter().any(|event| event.starts_with("tool-end")));
    talk.line(r#"{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t","content":"no","is_error":true}]}}"#);
    assert_eq!(told(&talk).last().unwrap(), "tool-end Bash Denied Some(\"no\")");
}

#[test]
fn when_the_cli_dies_tools_and_agents_end_before_the_turn() {
    let mut talk = Conversation::new();
    talk.init().calls(None, "a", "Task", &json!({"prompt": "go"})).calls(Some("a"), "t", "Bash", &json!({}));
    talk.exits(None, Some(9), "");
    let ends: Vec<String> = told(&talk).into_iter().filter(|event| event.contains("-end")).collect();
    assert_eq!(
        ends,
        ["tool-end Task Unknown None", "tool-end Bash Unknown None", "subagent-end Unknown", "message-end",]
    );
}

#[test]
fn text_that_was_wrong_is_told_again_as_a_replacement() {
    let mut talk = Conversation::new();
    talk.init().line(
        r#"{"type":"stream_event","event":{"type":"message_start","message":{"id":"m","content":[]}}}"#,
    );
    talk.line(r#"{"type":"stream_event","event":{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}}"#);
    talk.line(r#"{"type":"stream_event","event":{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hxl"}}}"#);
    talk.says("m", "Hello");
    assert_eq!(told(&talk), ["message-start", "text-delta \"Hxl\" false", "text-delta \"Hello\" true"]);
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
                if event.event == "result" {
                    totals.push(event.data["total_cost_usd"].as_f64().unwrap());
                }
            });
        });
    }
    assert_eq!(totals, [0.5, 0.75]);
}

#[test]
fn an_answer_that_was_cut_off_is_what_was_said_in_its_turn() {
    let mut talk = Conversation::new();
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
fn the_end_of_a_sub_agent_says_what_came_of_it() {
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
