//! The normalised vocabularies, made from the same fold.

use weir_transcript::{AgentVocabulary, ClassicVocabulary, Fold, FoldOptions, HostEvent, SummaryBuilder};
use weir_wire::{Decoder, Framer};

use crate::support::captures;

/// Names of the events of a capture, runs of the same one counted.
fn names(version: &str, name: &str) -> (String, String) {
    let (mut agent, mut classic) = (Vec::new(), Vec::new());
    let (_, _, path) = captures()
        .into_iter()
        .find(|(v, n, _)| v == version && n == name)
        .unwrap();
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
    agent-error ×2
    agent-message-end
    ");
    insta::assert_snapshot!(classic, @r"
    system
    error ×2
    text
    error ×2
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
    let (_, _, path) = captures()
        .into_iter()
        .find(|(v, n, _)| v == "2.1.325" && n == "background-bash")
        .unwrap();
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
