//! Any order of coming, going and coming back gives each viewer the same view as the fold of the log.

use std::time::Duration;

use proptest::prelude::{Strategy, prop};
use proptest::test_runner::{Config, TestRunner};
use serde_json::json;
use weir_host::{Cursor, Host, NewMessage, SessionId};
use weir_transcript::View;

use crate::place::{Onlooker, Place, me, script, send, soon};

/// Longer than a frame that is there takes to be taken.
const QUIET: Duration = Duration::from_millis(200);

/// What a viewer does next.
#[derive(Debug, Clone, Copy)]
enum Step {
    /// A new viewer joins.
    Come,
    /// One goes and comes back with its cursor.
    ComeBack(usize),
    /// One goes for good.
    Go(usize),
    /// A viewer reads this many frames.
    Look(usize, usize),
    /// A message is sent.
    Send,
    /// The process is ended.
    Stop,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = proptest::prop_oneof![
        3 => proptest::strategy::Just(Step::Come),
        3 => (0..8usize).prop_map(Step::ComeBack),
        1 => (0..8usize).prop_map(Step::Go),
        6 => (0..8usize, 1..12usize).prop_map(|(who, count)| Step::Look(who, count)),
        4 => proptest::strategy::Just(Step::Send),
        1 => proptest::strategy::Just(Step::Stop),
    ];
    prop::collection::vec(step, 5..25)
}

/// What two viewers must agree on: entries began at other times for those who saw them grow.
fn shown(view: &View) -> serde_json::Value {
    let mut view = serde_json::to_value(view).unwrap();
    for entry in view["entries"].as_array_mut().unwrap() {
        let entry = entry.as_object_mut().unwrap();
        entry.remove("at");
        let body = entry["body"].as_object_mut().unwrap();
        body.remove("index");
        for name in ["input_text", "started_at", "duration_ms"] {
            body.remove(name);
        }
    }
    view
}

async fn play(place: &Place, host: &Host, id: &SessionId, steps: Vec<Step>) {
    let mut viewers: Vec<Onlooker> = vec![Onlooker::new(host, id, None).await];
    let mut last = None;
    for (number, step) in steps.into_iter().enumerate() {
        match step {
            Step::Come => viewers.push(Onlooker::new(host, id, None).await),
            Step::ComeBack(who) if !viewers.is_empty() => {
                let who = who % viewers.len();
                let cursor: Option<Cursor> = viewers[who].cursor.clone();
                let expected = if cursor.is_some() { "ok" } else { "fresh" };
                viewers[who] = Onlooker::new(host, id, cursor).await;
                assert_eq!(viewers[who].hello["resume"], expected);
            }
            Step::Go(who) if viewers.len() > 1 => {
                let who = who % viewers.len();
                viewers.swap_remove(who);
            }
            Step::Look(who, count) if !viewers.is_empty() => {
                let who = who % viewers.len();
                for _ in 0..count {
                    let next = tokio::time::timeout(Duration::from_millis(3), viewers[who].watch.next());
                    match next.await {
                        Ok(Some(frame)) => viewers[who].take(&frame),
                        _ => break,
                    }
                }
            }
            Step::Send => {
                let command = format!("echo {number}");
                let script = script(&json!([
                    {"thinking": "let me think", "tools": [
                        {"tool": "Bash", "input": {"command": command}},
                        {"tool": "Bash", "input": {"command": "true"}},
                    ]},
                    {"wdelay": 0.001, "text": format!("message number {number} has a few words")},
                ]));
                last = Some(send(host, id, script).await.message_id);
            }
            Step::Stop => soon(host.stop(id, &me())).await.unwrap(),
            _ => {}
        }
    }
    if let Some(last) = last {
        soon(host.finished(id, &last)).await.unwrap();
    }
    soon(host.stop(id, &me())).await.unwrap();
    let end = Onlooker::new(host, id, None).await;
    for viewer in &mut viewers {
        // Whatever is left for it waits in its queue: everything that happened was shown before the stop returned.
        while let Ok(Some(frame)) = tokio::time::timeout(QUIET, viewer.watch.next()).await {
            viewer.take(&frame);
        }
        assert_eq!(shown(&viewer.view), shown(&end.view));
        assert_eq!(viewer.session["status"], "idle");
    }
    drop((viewers, end));
    // From the log alone, by another host.
    soon(host.shut_down(Duration::ZERO)).await;
    let again = place.host().await;
    let fresh = Onlooker::new(&again, id, None).await;
    let before = Onlooker::new(&again, id, None).await;
    assert_eq!(shown(&fresh.view), shown(&before.view));
    soon(again.send(id, NewMessage::text(script(&json!([{"text": "still there"}]))), &me())).await.unwrap();
    soon(again.shut_down(Duration::from_secs(20))).await;
}

#[test]
fn every_viewer_sees_what_the_log_says() {
    let mut runner = TestRunner::new(Config { cases: 12, ..Config::default() });
    let outcome = runner.run(&steps(), |steps| {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        runtime.block_on(async {
            let place = Place::new();
            let host = place.host().await;
            let id = place.session(&host).await;
            play(&place, &host, &id, steps).await;
        });
        Ok(())
    });
    outcome.unwrap();
}
