//! A session begun by another host: the view continues from what is known of it.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use weir_session::{Observer, Origin, SessionError, SessionOptions};
use weir_transcript::{
    EntryBody, Fold, FoldOptions, HostEvent, MessageState, RequestState, Status, ToolState, TurnState, View,
};
use weir_wire::{CliSessionId, Decoder, MessageId};

use crate::played::{SESSION, asking, quiet, session, soon};

/// A record of the session's log.
#[derive(Clone)]
enum Logged {
    Line(Value),
    Host(HostEvent),
}

fn fold(log: &[Logged]) -> Fold {
    let (mut fold, mut decoder) = (Fold::new(FoldOptions::default()), Decoder::new());
    for logged in log {
        match logged {
            Logged::Line(line) => {
                fold.line_changes(&decoder.decode(line.to_string().as_bytes()));
            }
            Logged::Host(event) => {
                fold.host_changes(event);
            }
        }
    }
    fold
}

fn queued(id: &str, text: &str) -> Logged {
    Logged::Host(HostEvent::MessageQueued {
        message: MessageId::new(id),
        text: text.into(),
        images: 0,
        documents: 0,
    })
}

fn sent(id: &str) -> Logged {
    Logged::Host(HostEvent::MessageSent { message: MessageId::new(id) })
}

fn init() -> Logged {
    Logged::Line(
        json!({"type": "system", "subtype": "init", "session_id": SESSION, "model": "m", "tools": [],
        "mcp_servers": [], "cwd": "/workspace", "permissionMode": "default", "apiKeySource": "none"}),
    )
}

/// An answered turn, another in the middle of a tool that needs permission, and a waiting message.
fn interrupted_host() -> Vec<Logged> {
    let mut answer = crate::played::result("1");
    answer["user_message_uuids"] = json!(["m1"]);
    let call = json!({"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": "ls"}});
    let ask = json!({"subtype": "can_use_tool", "tool_name": "Bash", "input": {"command": "ls"},
        "tool_use_id": "toolu_1", "permission_suggestions": []});
    vec![
        queued("m1", "one"),
        Logged::Host(HostEvent::ProcessStarted { resumes: None }),
        sent("m1"),
        init(),
        Logged::Line(answer),
        queued("m2", "two"),
        sent("m2"),
        init(),
        Logged::Line(json!({"type": "assistant", "session_id": SESSION,
            "message": {"id": "a", "role": "assistant", "content": [call]}})),
        Logged::Line(json!({"type": "control_request", "request_id": "r1", "request": ask})),
        queued("m3", "three"),
    ]
}

/// Continues the log.
#[derive(Clone)]
struct Log(Arc<Mutex<Vec<Logged>>>);

impl Observer for Log {
    fn line(&mut self, line: &weir_wire::Line<'_>) {
        let line = serde_json::from_slice(line.raw).expect("a line is JSON");
        self.0.lock().unwrap().push(Logged::Line(line));
    }

    fn host(&mut self, event: &HostEvent) {
        self.0.lock().unwrap().push(Logged::Host(event.clone()));
    }
}

fn delivery(view: &View, id: &str) -> Option<MessageState> {
    view.entries.iter().find_map(|entry| match &entry.body {
        EntryBody::User(user) if user.message == Some(MessageId::new(id)) => Some(user.delivery),
        _ => None,
    })
}

#[tokio::test(start_paused = true)]
async fn open_requests_and_turns_end_and_queued_messages_wait() {
    let history = fold(&interrupted_host());
    assert_eq!(history.view().status, Status::WaitingForPerson);
    let (session, _stage) = session(SessionOptions::new().history(history));
    let view = soon(session.view()).await.unwrap();
    assert_eq!(view.status, Status::Ended);
    assert_eq!(
        view.turns.iter().map(|turn| turn.state).collect::<Vec<_>>(),
        [TurnState::Succeeded, TurnState::Lost]
    );
    assert_eq!(view.requests[0].state, RequestState::Cancelled);
    assert!(
        view.entries
            .iter()
            .any(|entry| matches!(&entry.body, EntryBody::Tool(tool) if tool.state == ToolState::Unknown))
    );
    assert_eq!(delivery(&view, "m1"), Some(MessageState::Answered));
    assert_eq!(delivery(&view, "m2"), Some(MessageState::Indeterminate));
    assert_eq!(delivery(&view, "m3"), Some(MessageState::Queued));
    assert!(soon(session.settled()).await.is_ok(), "nothing is running");
    session.stop().await;
}

#[tokio::test(start_paused = true)]
async fn numbers_and_costs_continue_and_the_log_gives_the_same_view_again() {
    let log = interrupted_host();
    let before = fold(&log).into_view();
    let written = Log(Arc::new(Mutex::new(log.clone())));
    let options = SessionOptions::new().history(fold(&log)).observer(written.clone());
    let (session, stage) = session(options);
    // The waiting message is sent again with its id.
    let again =
        weir_session::Message { id: Some(MessageId::new("m3")), ..weir_session::Message::from("three") };
    let mut waiting = session.send(again).await.unwrap();
    let mut cli = stage.ready().await;
    let id = cli.begins("three").await;
    assert_eq!(id, "m3");
    let mut result = crate::played::result("3");
    result["user_message_uuids"] = json!([id]);
    result["total_cost_usd"] = json!(0.4);
    result["model_usage_since_last_result"] =
        json!({"m": {"inputTokens": 1, "outputTokens": 1, "costUSD": 0.15}});
    cli.says(&result).await;
    let end = soon(waiting.answer()).await.unwrap();
    assert_eq!(end.turn.id.0, 3);
    assert_eq!(end.total_cost_usd, Some(0.4), "counted once");
    let view = soon(session.view()).await.unwrap();
    assert_eq!(delivery(&view, "m3"), Some(MessageState::Answered));
    assert!(!view.session.forked);
    assert!(view.entries.len() >= before.entries.len());
    for (place, entry) in view.entries.iter().enumerate() {
        assert_eq!(entry.id.0, place as u64 + 1, "numbers are without gaps");
    }
    session.stop().await;
    let log = written.0.lock().unwrap().clone();
    let resumes = log.iter().rev().find_map(|logged| match logged {
        Logged::Host(HostEvent::ProcessStarted { resumes }) => Some(resumes.clone()),
        _ => None,
    });
    assert_eq!(resumes, Some(Some(CliSessionId::new(SESSION))), "it resumes the session of the history");
    // Folding the log from its beginning gives the same view, except for the end of the process.
    let end = log.iter().position(|logged| matches!(logged, Logged::Host(HostEvent::ProcessExited { .. })));
    let again = fold(&log[..end.unwrap()]).into_view();
    assert_eq!(without_times(again), without_times(*view));
}

/// A view without the times at which it was folded.
fn without_times(mut view: View) -> View {
    for entry in &mut view.entries {
        Arc::make_mut(entry).at = None;
    }
    for turn in &mut view.turns {
        turn.started_at = None;
    }
    view
}

#[tokio::test(start_paused = true)]
async fn another_session_can_be_named_and_a_copy_can_be_made() {
    for (conversation, forked) in [
        (Origin::Resume(CliSessionId::new("other")), false),
        (Origin::Fork(CliSessionId::new(SESSION)), true),
    ] {
        let written = Log(Arc::new(Mutex::new(Vec::new())));
        let options = SessionOptions::new().origin(conversation).history(fold(&interrupted_host()));
        let (session, stage) = session(options.observer(written.clone()));
        let asked = asking(&session, "four");
        let mut cli = stage.ready().await;
        let id = cli.hears_message("four").await;
        cli.init_as("copy").await;
        cli.result("4", &[&id]).await;
        soon(asked).await.unwrap().unwrap();
        quiet().await;
        let resumes = written.0.lock().unwrap().iter().find_map(|logged| match logged {
            Logged::Host(HostEvent::ProcessStarted { resumes }) => Some(resumes.clone()),
            _ => None,
        });
        let expected = if forked { None } else { Some(CliSessionId::new("other")) };
        assert_eq!(resumes, Some(expected));
        assert!(session.view().await.unwrap().session.forked);
        session.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn earlier_costs_count() {
    let mut options = SessionOptions::new().history(fold(&interrupted_host()));
    options.spec.max_cost_usd = Some(0.2);
    let (session, _stage) = session(options);
    let error = soon(session.ask("four")).await.unwrap_err();
    assert!(matches!(error, SessionError::BudgetExhausted { .. }), "{error}");
    session.stop().await;
}

#[tokio::test(start_paused = true)]
async fn an_empty_history_is_none() {
    let written = Log(Arc::new(Mutex::new(Vec::new())));
    let options = SessionOptions::new().history(Fold::new(FoldOptions::default())).observer(written.clone());
    let (session, _stage) = session(options);
    assert_eq!(session.view().await.unwrap().status, Status::Starting);
    assert!(written.0.lock().unwrap().is_empty());
    session.stop().await;
}
