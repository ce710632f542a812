//! A log that cannot be written: nothing continues unrecorded, and all callers are told.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use weir_host::{Host, HostError, NewMessage, SessionStatus};
use weir_store::StoreError;

use crate::faulty::Faulty;
use crate::place::{Onlooker, Place, ask, me, says, script, send, soon, status, until};

#[tokio::test]
async fn a_full_disk_ends_the_process_and_is_told() {
    let place = Place::new();
    let mut options = place.options();
    let store = Arc::new(Faulty::new(Arc::clone(&options.store)));
    options.store = store.clone();
    let host = Host::open(options).await.unwrap();
    let id = place.session(&host).await;
    ask(&host, &id, says("before")).await;
    let steps =
        json!([{"tool": "Bash", "input": {"command": "sleep 0.3; echo x"}}, {"sleep": 60, "text": "never"}]);
    let running = send(&host, &id, script(&steps)).await;
    status(&host, &id, SessionStatus::Running).await;
    let mut onlooker = Onlooker::new(&host, &id, None).await;
    store.fill(true);
    let ended = soon(host.finished(&id, &running.message_id)).await;
    assert!(matches!(ended, Err(HostError::Store(StoreError::Full(_)))), "{ended:?}");
    while onlooker.step().await {}
    until("the process is ended", || place.living().is_empty()).await;
    let refused = soon(host.send(&id, NewMessage::text("x"), &me())).await;
    assert!(matches!(refused, Err(HostError::Store(StoreError::Full(_)))), "{refused:?}");
    store.fill(false);
    let again = Onlooker::new(&host, &id, onlooker.cursor.clone()).await;
    assert_eq!(again.hello["resume"], "ok", "no number was lost");
    assert_eq!(host.info(&id).await.unwrap().status, SessionStatus::Interrupted);
    assert_eq!(ask(&host, &id, says("after")).await, "after");
    soon(host.shut_down(Duration::ZERO)).await;
}
