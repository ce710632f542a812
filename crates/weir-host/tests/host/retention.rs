//! Old sessions are removed on request, and never one that is in use.

use std::time::Duration;

use serde_json::json;
use weir_host::{Host, HostError, Retention, SessionStatus};

use crate::place::{Onlooker, Place, ask, me, says, script, send, soon, status, until};

/// Everything is older than this a moment later.
const AT_ONCE: Retention = Retention { keep_for: Some(Duration::from_millis(1)), keep_bytes: None };

#[tokio::test]
async fn what_is_watched_runs_waits_or_is_pinned_stays() {
    let place = Place::new();
    let host = place.host().await;
    let (old, watched, running, pinned) = (
        place.session(&host).await,
        place.session(&host).await,
        place.session(&host).await,
        place.session(&host).await,
    );
    ask(&host, &old, says("done")).await;
    let mut onlooker = Onlooker::new(&host, &watched, None).await;
    let step = json!([{"sleep": 60, "text": "never"}]);
    send(&host, &running, script(&step)).await;
    status(&host, &running, SessionStatus::Running).await;
    assert!(soon(host.pin(&pinned, true)).await.unwrap().pinned);
    // Its process may stay for a while, and with it the session.
    soon(host.stop(&old, &me())).await.unwrap();
    let mut all = host.watch_all();
    let gone = async {
        loop {
            host.remove_old_sessions(AT_ONCE).await.unwrap();
            if matches!(host.info(&old).await, Err(HostError::NotFound(_))) {
                return;
            }
            tokio::task::yield_now().await;
        }
    };
    soon(gone).await;
    // Viewers of the list are told.
    loop {
        if let Some(weir_host::AllEvent::Removed { id }) = soon(all.next()).await {
            assert_eq!(id, old.to_string());
            break;
        }
    }
    for id in [&watched, &running, &pinned] {
        assert!(host.info(id).await.is_ok());
    }
    // Once it has no viewer, it is removed as well.
    drop(onlooker.watch);
    onlooker.cursor = None;
    soon(host.pin(&pinned, false)).await.unwrap();
    soon(host.stop(&running, &me())).await.unwrap();
    soon(host.remove_old_sessions(AT_ONCE)).await.unwrap();
    soon(host.shut_down(Duration::ZERO)).await;
    until("nothing is left", || place.living().is_empty()).await;
}

#[tokio::test]
async fn a_message_that_is_held_keeps_its_session() {
    let place = Place::new();
    let host = place.host().await;
    let id = place.session(&host).await;
    send(&host, &id, script(&json!([{"sleep": 60, "text": "never"}]))).await;
    status(&host, &id, SessionStatus::Running).await;
    send(&host, &id, says("later")).await;
    soon(host.shut_down(Duration::ZERO)).await;
    drop(host);
    let mut options = place.options();
    options.retention = AT_ONCE;
    let host = Host::open(options).await.unwrap();
    for _ in 0..20 {
        soon(host.remove_old_sessions(AT_ONCE)).await.unwrap();
    }
    assert_eq!(host.info(&id).await.unwrap().queued, 1);
    soon(host.shut_down(Duration::ZERO)).await;
}
