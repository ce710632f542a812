use std::collections::BTreeMap;

use weir_host::SessionStatus;
use weir_testkit::Capture;
use weir_transcript::{Fold, FoldOptions};
use weir_wire::Decoder;

use super::*;

fn info() -> SessionInfo {
    SessionInfo {
        id: "s".into(),
        key: None,
        name: None,
        title: None,
        cwd: "/srv".into(),
        model: None,
        permission_mode: None,
        effort: None,
        status: SessionStatus::Idle,
        background: false,
        waiting_for: weir_host::WaitingFor::default(),
        has_process: false,
        queued: 0,
        cost_usd: None,
        max_cost_usd: None,
        created_at: 0,
        updated_at: 0,
        archived: false,
        pinned: false,
        no_session_persistence: false,
        parent: None,
        cli_session_id: None,
        origin: String::new(),
        max_turns: None,
        ask_timeout_s: None,
        task_budget_tokens: None,
        newest_seq: 0,
        last_error: None,
    }
}

fn session() -> SessionId {
    "s".parse().unwrap()
}

fn start() -> Projection {
    Projection::from_the_beginning(session(), Features::default(), Offer::default())
}

/// What an editor shows after these updates: the texts, and each call as it looks last.
#[derive(Debug, Default, PartialEq)]
struct Shown {
    said: String,
    thought: String,
    calls: BTreeMap<String, Value>,
    plan: Option<Value>,
}

impl Shown {
    fn take(&mut self, updates: Updates) {
        for (agent, update) in updates {
            assert_eq!(agent, None, "nobody asked for sessions of sub-agents");
            match &update {
                SessionUpdate::AgentMessageChunk(chunk) | SessionUpdate::AgentThoughtChunk(chunk) => {
                    let ContentBlock::Text(text) = &chunk.content else { panic!("no text") };
                    let is_thought = matches!(update, SessionUpdate::AgentThoughtChunk(_));
                    if is_thought { &mut self.thought } else { &mut self.said }.push_str(&text.text);
                }
                SessionUpdate::ToolCall(call) => {
                    let call = ToolCallUpdate::from(call.clone());
                    self.call(&call);
                }
                SessionUpdate::ToolCallUpdate(call) => {
                    assert!(
                        self.calls.contains_key(&*call.tool_call_id.0),
                        "an update before its call: {call:?}"
                    );
                    self.call(call);
                }
                SessionUpdate::Plan(plan) => self.plan = Some(json!(plan)),
                _ => {}
            }
        }
    }

    fn call(&mut self, call: &ToolCallUpdate) {
        let place = self.calls.entry(call.tool_call_id.0.to_string()).or_insert_with(|| json!({}));
        let Value::Object(fields) = json!(call.fields) else { panic!("no fields") };
        place.as_object_mut().unwrap().extend(fields);
    }
}

/// Plays a recording. `again` says before which lines the editor gets the whole view anew, as after a gap.
fn live(capture: &Capture, again: impl Fn(usize) -> bool) -> (Shown, View) {
    let (mut fold, mut decoder) = (Fold::new(FoldOptions::default()), Decoder::new());
    let (mut projection, mut shown, own) = (start(), Shown::default(), HashSet::new());
    shown.take(projection.snapshot(View::default(), &info(), &own));
    for (at, line) in capture.read().unwrap().split(|byte| *byte == b'\n').enumerate() {
        if line.is_empty() {
            continue;
        }
        let changes = fold.line_changes(&decoder.decode(line));
        if again(at) {
            shown.take(projection.snapshot(fold.view().clone(), &info(), &own));
            continue;
        }
        for change in changes {
            shown.take(projection.change(&change, &own));
        }
    }
    (shown, fold.into_view())
}

#[test]
fn a_replay_shows_what_was_shown_live() {
    let mut calls = 0;
    for capture in Capture::all().unwrap() {
        let (mut live, view) = live(&capture, |_| false);
        let mut replayed = Shown::default();
        replayed.take(start().snapshot(view, &info(), &HashSet::new()));
        assert_eq!(live.said, replayed.said, "{capture:?}");
        assert_eq!(live.thought, replayed.thought, "{capture:?}");
        assert_eq!(live.plan, replayed.plan, "{capture:?}");
        // The words of sub-agents are shown with a call only as long as it runs.
        for call in live.calls.values_mut().chain(replayed.calls.values_mut()) {
            if call["status"] == "pending" || call["status"] == "in_progress" {
                call.as_object_mut().unwrap().remove("content");
            }
        }
        assert_eq!(live.calls, replayed.calls, "{capture:?}");
        calls += live.calls.len();
    }
    assert!(calls > 20, "{calls} calls");
}

#[test]
fn a_gap_loses_and_repeats_nothing() {
    for capture in Capture::all().unwrap() {
        let (whole, _) = live(&capture, |_| false);
        for every in [1, 2, 7] {
            let (with_gaps, _) = live(&capture, |at| at % every == 0);
            assert_eq!(with_gaps.said, whole.said, "{capture:?}, every {every}");
            assert_eq!(with_gaps.calls.keys().collect::<Vec<_>>(), whole.calls.keys().collect::<Vec<_>>());
        }
    }
}

#[test]
fn an_editor_that_joins_hears_only_what_comes() {
    let capture = Capture::new("2.1.325", "interrupt-text");
    let capture = if capture.path.exists() { capture } else { Capture::all().unwrap().remove(0) };
    let (_, view) = live(&capture, |_| false);
    let mut projection = Projection::from_now(session(), Features::default(), Offer::default());
    let mut shown = Shown::default();
    shown.take(projection.snapshot(view.clone(), &info(), &HashSet::new()));
    assert_eq!(shown.said, "");
    assert_eq!(projection.gap(&view), None);
}
