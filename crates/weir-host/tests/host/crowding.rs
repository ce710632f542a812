//! Sessions that wait for a person, for a process or for money, and what that means for the others.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::json;
use weir_host::{
    Actor, Billing, Decision, FailureKind, Host, MessageState, NewMessage, NewSession, Payment, SessionId,
    SessionInfo, SessionStatus, WaitingFor, WatchQuery,
};
use weir_transcript::{RequestState, Status, TurnState};

use crate::place::{Place, ask, id_of, me, says, script, send, soon, status, until};

/// A prompt whose turn waits for a permission.
fn asks(place: &Place, name: &str) -> String {
    let file = place.path("work").join(name);
    script(&json!([{"tool": "Write", "input": {"file_path": file, "content": "x"}}, {"text": "went on"}]))
}

async fn crowded(
    place: &Place,
    max_processes: usize,
    max_awaiting: usize,
    patience: Option<Duration>,
) -> Host {
    let mut options = place.options();
    (options.pool.max_processes, options.pool.max_awaiting) = (max_processes, max_awaiting);
    options.crowded_wait = patience;
    Host::open(options).await.unwrap()
}

async fn allow(host: &Host, id: &SessionId) {
    let request = host.open_requests(id).await.unwrap()[0].id.clone();
    soon(host.answer(id, &request, Decision::allow(), &me())).await.unwrap();
}

/// Follows a session until it waits for this.
async fn waiting_for(host: &Host, id: &SessionId, wanted: fn(&WaitingFor) -> bool) -> SessionInfo {
    let mut watch = host.watch_all();
    loop {
        let info = host.info(id).await.unwrap();
        if wanted(&info.waiting_for) {
            return info;
        }
        soon(watch.next()).await.unwrap();
    }
}

#[tokio::test]
async fn a_session_that_waits_for_a_person_blocks_no_other_session() {
    let place = Place::new();
    let host = crowded(&place, 1, 2, None).await;
    let mut waiting = Vec::new();
    for name in ["a", "b"] {
        let id = place.session(&host).await;
        let sent = send(&host, &id, asks(&place, name)).await;
        status(&host, &id, SessionStatus::Waiting).await;
        waiting.push((id, sent.message_id));
    }
    let other = place.session(&host).await;
    assert_eq!(ask(&host, &other, says("served")).await, "served");
    let numbers = host.metrics();
    assert_eq!((numbers.awaiting_person, numbers.max_awaiting_person), (2, 2));
    // Their processes are still running, and continue at once.
    for (id, message) in &waiting {
        allow(&host, id).await;
        assert_eq!(soon(host.finished(id, message)).await.unwrap().text, "went on");
    }
    soon(host.shut_down(Duration::ZERO)).await;
}

#[tokio::test]
async fn who_waits_for_a_process_says_so() {
    let place = Place::new();
    let host = crowded(&place, 1, 0, None).await;
    let (first, second) = (place.session(&host).await, place.session(&host).await);
    send(&host, &first, asks(&place, "a")).await;
    status(&host, &first, SessionStatus::Waiting).await;
    let sent = send(&host, &second, says("at last")).await;
    let info = waiting_for(&host, &second, |waiting| waiting.process).await;
    assert_eq!(info.status, SessionStatus::Starting);
    let numbers = host.metrics();
    assert_eq!((numbers.waiting_for_process, numbers.awaiting_person), (1, 1));
    allow(&host, &first).await;
    assert_eq!(soon(host.finished(&second, &sent.message_id)).await.unwrap().text, "at last");
    assert!(!host.info(&second).await.unwrap().waiting_for.process);
    assert_eq!(host.metrics().waiting_for_process, 0);
    soon(host.shut_down(Duration::ZERO)).await;
}

#[tokio::test]
async fn a_question_that_no_one_reads_does_not_stop_the_others_for_ever() {
    let place = Place::new();
    let host = crowded(&place, 1, 0, Some(Duration::ZERO)).await;
    let (first, second) = (place.session(&host).await, place.session(&host).await);
    let asked = send(&host, &first, asks(&place, "a")).await;
    status(&host, &first, SessionStatus::Waiting).await;
    assert_eq!(ask(&host, &second, says("served")).await, "served");
    soon(host.finished(&first, &asked.message_id)).await.unwrap();
    let view = host.view(&first).await.unwrap();
    let RequestState::Denied { by, message } = &view.requests[0].state else { panic!("{:?}", view.requests) };
    assert_eq!(by.as_deref(), Some("weir"));
    assert!(
        message.as_deref().unwrap_or_default().contains("other sessions need the process"),
        "{message:?}"
    );
    assert_eq!(host.metrics().crowded_out, 1);
    assert!(!place.path("work").join("a").exists(), "nothing was allowed");
    soon(host.shut_down(Duration::ZERO)).await;
}

#[tokio::test]
async fn a_session_may_have_a_shorter_time_for_answers() {
    let place = Place::new();
    let mut options = place.options();
    options.ask_timeout = Some(Duration::from_secs(3600));
    let host = Host::open(options).await.unwrap();
    let new = NewSession { ask_timeout_s: Some(1), ..NewSession::new(place.work()) };
    let id = id_of(&host.create(new, &me()).await.unwrap().session);
    let sent = send(&host, &id, asks(&place, "a")).await;
    assert_eq!(soon(host.finished(&id, &sent.message_id)).await.unwrap().text, "went on");
    let view = host.view(&id).await.unwrap();
    assert_eq!(view.requests[0].state, RequestState::Expired);
    let page = host.log(&id, 0).await.unwrap();
    let told =
        page.events.iter().any(|event| event.payload.to_string().contains("No one answered within 1 s"));
    assert!(told, "the agent is told the truth");
    assert!(!place.path("work").join("a").exists());
    soon(host.shut_down(Duration::ZERO)).await;
}

/// Counts dollars, and lets one turn run at a time.
#[derive(Debug, Default)]
struct OneAtATime {
    state: Mutex<(bool, Vec<Option<f64>>)>,
    max: usize,
    charged: Mutex<Vec<Option<f64>>>,
}

impl Billing for OneAtATime {
    fn reserve(&self, account: &str) -> Payment {
        assert_eq!(account, "ann");
        let mut state = self.state.lock().unwrap();
        if state.1.len() >= self.max {
            return Payment::Refused("ann has spent enough".to_owned());
        }
        if std::mem::replace(&mut state.0, true) { Payment::Wait } else { Payment::Reserved(7) }
    }

    fn charge(&self, account: &str, cost_usd: Option<f64>) {
        assert_eq!(account, "ann");
        self.charged.lock().unwrap().push(cost_usd);
    }

    fn settle(&self, account: &str, ticket: u64, cost_usd: Option<f64>) {
        assert_eq!((account, ticket), ("ann", 7));
        let mut state = self.state.lock().unwrap();
        state.0 = false;
        state.1.push(cost_usd);
    }
}

#[tokio::test]
async fn money_is_asked_for_when_a_message_is_handed_over() {
    let place = Place::new();
    let billing = Arc::new(OneAtATime { max: 2, ..OneAtATime::default() });
    let host = place.host().await;
    let ann = Actor::new("Ann").paying("ann");
    let early = place.session(&host).await;
    let sent = soon(host.send(&early, NewMessage::text(says("never")), &ann)).await.unwrap();
    let finished = soon(host.finished(&early, &sent.message_id)).await.unwrap();
    assert_eq!(finished.state, MessageState::Failed, "without a billing, a message with an account fails");
    assert!(host.set_billing(billing.clone()));
    let (first, second) = (place.session(&host).await, place.session(&host).await);
    let sent = soon(host.send(&first, NewMessage::text(asks(&place, "a")), &ann)).await.unwrap();
    status(&host, &first, SessionStatus::Waiting).await;
    let waits = soon(host.send(&second, NewMessage::text(says("paid")), &ann)).await.unwrap();
    let more: Vec<_> = {
        let mut more = Vec::new();
        for _ in 0..3 {
            more.push(soon(host.send(&second, NewMessage::text(says("unpaid")), &ann)).await.unwrap());
        }
        more
    };
    let info = waiting_for(&host, &second, |waiting| waiting.budget).await;
    assert!(!info.has_process && !info.waiting_for.process);
    allow(&host, &first).await;
    assert_eq!(soon(host.finished(&first, &sent.message_id)).await.unwrap().text, "went on");
    assert_eq!(soon(host.finished(&second, &waits.message_id)).await.unwrap().text, "paid");
    for refused in more {
        let finished = soon(host.finished(&second, &refused.message_id)).await.unwrap();
        assert_eq!(finished.state, MessageState::Failed);
        let failure = finished.error.unwrap();
        assert_eq!(
            (failure.kind, failure.message.as_str()),
            (FailureKind::BudgetExhausted, "ann has spent enough")
        );
    }
    let costs = billing.state.lock().unwrap().1.clone();
    assert_eq!(costs.len(), 2, "each turn is settled once");
    assert!(costs.iter().all(|cost| cost.is_some_and(|cost| cost > 0.0)), "{costs:?}");
    // Who has no account is not asked.
    assert_eq!(ask(&host, &second, says("free")).await, "free");
    soon(host.shut_down(Duration::ZERO)).await;
}

#[tokio::test]
async fn what_a_turn_cost_that_was_cut_off_is_not_known() {
    let place = Place::new();
    let billing = Arc::new(OneAtATime { max: 9, ..OneAtATime::default() });
    let host = place.host().await;
    assert!(host.set_billing(billing.clone()));
    let ann = Actor::new("Ann").paying("ann");
    let id = place.session(&host).await;
    let slow = script(&json!([{"text": "one two three", "wdelay": 60}]));
    let sent = soon(host.send(&id, NewMessage::text(slow.clone()), &ann)).await.unwrap();
    status(&host, &id, SessionStatus::Running).await;
    assert!(soon(host.interrupt(&id, &me())).await.unwrap());
    soon(host.finished(&id, &sent.message_id)).await.unwrap();
    soon(host.send(&id, NewMessage::text(slow), &ann)).await.unwrap();
    status(&host, &id, SessionStatus::Running).await;
    soon(host.stop(&id, &me())).await.unwrap();
    assert_eq!(billing.state.lock().unwrap().1, [None, None]);
    soon(host.shut_down(Duration::ZERO)).await;
}

/// A command in the background, whose end makes the agent continue with this step.
fn continues_with(step: &serde_json::Value) -> String {
    let command =
        json!({"command": "sleep 0.3; echo done", "description": "slow", "run_in_background": true});
    script(&json!([{"tool": "Bash", "input": command}, {"text": "It runs."}, step]))
}

#[tokio::test]
async fn an_unasked_turn_is_paid_by_the_last_sender() {
    let place = Place::new();
    let billing = Arc::new(OneAtATime { max: 9, ..OneAtATime::default() });
    let host = place.host().await;
    assert!(host.set_billing(billing.clone()));
    let ann = Actor::new("Ann").paying("ann");
    let id = place.session(&host).await;
    let text = continues_with(&json!({"text": "It has ended."}));
    let sent = soon(host.send(&id, NewMessage::text(text), &ann)).await.unwrap();
    soon(host.finished(&id, &sent.message_id)).await.unwrap();
    let settled = || billing.state.lock().unwrap().1.clone();
    until("the second turn is paid", || settled().len() == 2).await;
    let view = host.view(&id).await.unwrap();
    assert!(view.turns.iter().any(|turn| turn.messages.is_empty()), "{:?}", view.turns);
    let paid: f64 = settled().iter().flatten().sum();
    let all = host.info(&id).await.unwrap().cost_usd.unwrap();
    assert!((paid - all).abs() < 1e-9, "{paid} of {all}");
    assert!(billing.charged.lock().unwrap().is_empty());
    soon(host.shut_down(Duration::ZERO)).await;
}

#[tokio::test]
async fn an_unasked_turn_that_nobody_pays_for_is_ended_with_its_process() {
    let place = Place::new();
    let billing = Arc::new(OneAtATime { max: 1, ..OneAtATime::default() });
    let host = place.host().await;
    assert!(host.set_billing(billing.clone()));
    let ann = Actor::new("Ann").paying("ann");
    let id = place.session(&host).await;
    let text = continues_with(&json!({"text": "I simply go on and on and on", "wdelay": 2000}));
    let sent = soon(host.send(&id, NewMessage::text(text), &ann)).await.unwrap();
    soon(host.finished(&id, &sent.message_id)).await.unwrap();
    until("the turn is charged", || !billing.charged.lock().unwrap().is_empty()).await;
    let info = status(&host, &id, SessionStatus::Failed).await;
    assert!(!info.has_process, "what is in the background would begin the next turn");
    let why = info.last_error.unwrap();
    assert!(why.contains("continued by itself") && why.contains("ann has spent enough"), "{why}");
    let view = host.view(&id).await.unwrap();
    let turn = view.turns.last().unwrap();
    assert!(turn.messages.is_empty() && turn.state == TurnState::Interrupted, "{turn:?}");
    assert_eq!(*billing.charged.lock().unwrap(), [None], "what it cost is not known");
    // Who has no account may continue.
    assert_eq!(ask(&host, &id, says("free")).await, "free");
    soon(host.shut_down(Duration::ZERO)).await;
}

#[tokio::test]
async fn agents_in_the_background_that_are_cut_off_are_charged() {
    let place = Place::new();
    let billing = Arc::new(OneAtATime { max: 9, ..OneAtATime::default() });
    let host = place.host().await;
    assert!(host.set_billing(billing.clone()));
    let ann = Actor::new("Ann").paying("ann");
    let id = place.session(&host).await;
    let prompt = script(&json!([{"text": "one two three four five six", "wdelay": 2000}]));
    let input = json!({"description": "d", "prompt": prompt, "subagent_type": "general-purpose", "run_in_background": true});
    let text = script(&json!([{"tool": "Task", "input": input}, {"text": "It works."}]));
    soon(host.send(&id, NewMessage::text(text), &ann)).await.unwrap();
    soon(async {
        loop {
            let view = host.view(&id).await.unwrap();
            if view.status == Status::Background && !view.agents.is_empty() {
                break;
            }
            tokio::task::yield_now().await;
        }
    })
    .await;
    soon(host.stop(&id, &me())).await.unwrap();
    until("the agent is charged", || {
        let of_message = billing.state.lock().unwrap().1.clone();
        *billing.charged.lock().unwrap() == [None] || of_message == [None]
    })
    .await;
    soon(host.shut_down(Duration::ZERO)).await;
}

#[tokio::test]
async fn a_message_that_waits_can_be_taken_back() {
    let place = Place::new();
    let host = crowded(&place, 1, 0, None).await;
    let (first, second) = (place.session(&host).await, place.session(&host).await);
    send(&host, &first, asks(&place, "a")).await;
    status(&host, &first, SessionStatus::Waiting).await;
    // For a process.
    let sent = send(&host, &second, says("never")).await;
    waiting_for(&host, &second, |waiting| waiting.process).await;
    soon(host.cancel_message(&second, &sent.message_id, &me())).await.unwrap();
    assert_eq!(soon(host.finished(&second, &sent.message_id)).await.unwrap().state, MessageState::Cancelled);
    // For money.
    let billing = Arc::new(OneAtATime { max: 1, ..OneAtATime::default() });
    billing.state.lock().unwrap().0 = true;
    assert!(host.set_billing(billing));
    let ann = Actor::new("Ann").paying("ann");
    let sent = soon(host.send(&second, NewMessage::text(says("never")), &ann)).await.unwrap();
    waiting_for(&host, &second, |waiting| waiting.budget).await;
    soon(host.cancel_message(&second, &sent.message_id, &me())).await.unwrap();
    assert_eq!(soon(host.finished(&second, &sent.message_id)).await.unwrap().state, MessageState::Cancelled);
    let info = status(&host, &second, SessionStatus::Idle).await;
    assert!(!info.waiting_for.process && !info.waiting_for.budget);
    soon(host.shut_down(Duration::ZERO)).await;
}

#[tokio::test]
async fn a_stop_ends_the_wait_for_money() {
    let place = Place::new();
    let billing = Arc::new(OneAtATime { max: 2, ..OneAtATime::default() });
    billing.state.lock().unwrap().0 = true;
    let host = place.host().await;
    assert!(host.set_billing(billing));
    let id = place.session(&host).await;
    let ann = Actor::new("Ann").paying("ann");
    let sent = soon(host.send(&id, NewMessage::text(says("never")), &ann)).await.unwrap();
    waiting_for(&host, &id, |waiting| waiting.budget).await;
    soon(host.stop(&id, &me())).await.unwrap();
    assert_eq!(soon(host.finished(&id, &sent.message_id)).await.unwrap().state, MessageState::Cancelled);
    soon(host.shut_down(Duration::ZERO)).await;
}

/// A message that was cancelled while it waited for a process leaves nothing that could disturb the next one.
#[tokio::test]
async fn after_a_cancelled_wait_the_live_view_is_that_of_the_log() {
    let place = Place::new();
    let host = crowded(&place, 1, 0, None).await;
    let (first, second) = (place.session(&host).await, place.session(&host).await);
    let asked = send(&host, &first, asks(&place, "a")).await;
    status(&host, &first, SessionStatus::Waiting).await;
    // With a viewer the session stays in memory, without one it is loaded again.
    for is_watched in [false, true] {
        let watch = soon(host.watch(&second, WatchQuery::default())).await.unwrap();
        let watch = Some(watch).filter(|_| is_watched);
        let sent = send(&host, &second, says("never said")).await;
        waiting_for(&host, &second, |waiting| waiting.process).await;
        soon(host.cancel_message(&second, &sent.message_id, &me())).await.unwrap();
        let ended = soon(host.finished(&second, &sent.message_id)).await.unwrap();
        assert_eq!(ended.state, MessageState::Cancelled);
        drop(watch);
    }
    allow(&host, &first).await;
    soon(host.finished(&first, &asked.message_id)).await.unwrap();
    let watch = soon(host.watch(&second, WatchQuery::default())).await.unwrap();
    assert_eq!(ask(&host, &second, says("said")).await, "said");
    let live = soon(host.view(&second)).await.unwrap();
    let ids: Vec<u64> = live.entries.iter().map(|entry| entry.id.0).collect();
    assert_eq!(ids, (1..=ids.len() as u64).collect::<Vec<_>>());
    soon(host.stop(&second, &me())).await.unwrap();
    let live = soon(host.view(&second)).await.unwrap();
    drop(watch);
    soon(host.shut_down(Duration::ZERO)).await;
    let host = crowded(&place, 1, 0, None).await;
    assert_eq!(*soon(host.view(&second)).await.unwrap(), *live);
    soon(host.shut_down(Duration::ZERO)).await;
}
