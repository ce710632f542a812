//! Observers, which see changes at once, and viewers, at their own pace.

use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

use weir_session::{Observer, Session, SessionOptions, Update, Updates};
use weir_transcript::{Change, EntryBody, HostEvent, View};
use weir_wire::Line;

use crate::played::{asking, quiet, session, soon};

/// Remembers what it saw.
#[derive(Default, Clone)]
struct Seen {
    texts: Arc<Mutex<Vec<String>>>,
    lines: Arc<Mutex<usize>>,
    host: Arc<Mutex<Vec<HostEvent>>>,
}

impl Observer for Seen {
    fn line(&mut self, _line: &Line<'_>) {
        *self.lines.lock().unwrap() += 1;
    }

    fn host(&mut self, event: &HostEvent) {
        self.host.lock().unwrap().push(event.clone());
    }

    fn change(&mut self, _view: &View, change: &Change<'_>) {
        self.texts.lock().unwrap().extend(added_text(change));
    }
}

fn added_text(change: &Change<'_>) -> Option<String> {
    match change {
        Change::EntryAdded(entry) => match &entry.body {
            EntryBody::Text(text) => Some(text.text.clone()),
            _ => None,
        },
        _ => None,
    }
}

/// Follows until there is nothing new, and returns the resulting view.
async fn caught_up(updates: &mut Updates, session: &Session) -> (View, usize) {
    let (mut mine, mut snapshots) = (View::default(), 0);
    loop {
        match soon(updates.next()).await.expect("the session is alive") {
            Update::Snapshot(view) => {
                mine = *view;
                snapshots += 1;
            }
            Update::Changes(changes) => changes.iter().for_each(|change| mine.apply(change)),
            _ => {}
        }
        if mine == *session.view().await.unwrap() {
            return (mine, snapshots);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn three_thousand_quick_messages_reach_an_observer_and_a_viewer_in_order() {
    let seen = Seen::default();
    let mut options = SessionOptions::new().observer(seen.clone());
    options.fold.keep_entries = None;
    let (session, stage) = session(options);
    let mut updates = session.follow().await.unwrap();
    let follower = tokio::spawn(async move {
        let mut texts = Vec::new();
        while let Some(update) = updates.next().await {
            match update {
                Update::Changes(changes) => texts.extend(changes.iter().filter_map(added_text)),
                Update::Snapshot(view) => assert!(view.entries.is_empty(), "it never falls behind"),
                _ => {}
            }
        }
        texts
    });
    let asked = asking(&session, "count");
    let mut cli = stage.ready().await;
    let id = cli.begins("count").await;
    let expected: Vec<String> = (0..3000).map(|number| number.to_string()).collect();
    for text in &expected {
        cli.text(text).await;
    }
    cli.result("done", &[&id]).await;
    asked.await.unwrap().unwrap();
    session.stop().await;
    assert_eq!(*seen.texts.lock().unwrap(), expected);
    // The answer to the handshake, the init and the result are lines too.
    assert_eq!(*seen.lines.lock().unwrap(), 3003);
    assert_eq!(soon(follower).await.unwrap(), expected);
}

#[tokio::test(start_paused = true)]
async fn a_viewer_that_lags_gets_a_snapshot_and_then_matches_the_view() {
    let (session, stage) = session(SessionOptions::new());
    let mut updates = session.follow().await.unwrap();
    assert!(matches!(updates.next().await, Some(Update::Snapshot(view)) if view.entries.is_empty()));
    let asked = asking(&session, "count");
    let mut cli = stage.ready().await;
    let id = cli.begins("count").await;
    // More than a viewer's queue holds, and more than the view keeps.
    for number in 0..10_000 {
        cli.text(&number.to_string()).await;
    }
    cli.result("done", &[&id]).await;
    asked.await.unwrap().unwrap();
    let (mine, snapshots) = caught_up(&mut updates, &session).await;
    assert_eq!(snapshots, 1, "it is told that it fell behind");
    assert!(mine.dropped_entries > 0);
    // From there on it follows as before.
    let asked = asking(&session, "more");
    cli.turn("more", "and more").await;
    asked.await.unwrap().unwrap();
    let mut mine = mine;
    let view = session.view().await.unwrap();
    while mine != *view {
        match soon(updates.next()).await.expect("the session is alive") {
            Update::Changes(changes) => changes.iter().for_each(|change| mine.apply(change)),
            _ => panic!("it does not fall behind again"),
        }
    }
    session.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_later_viewer_gets_the_whole_view() {
    let (session, stage) = session(SessionOptions::new());
    let asked = asking(&session, "one");
    let mut cli = stage.ready().await;
    cli.begins("one").await;
    cli.text("half").await;
    cli.asks_for("r1", "Bash").await;
    cli.hears_answer("r1").await;
    let mut updates = session.follow().await.unwrap();
    let (mine, _) = caught_up(&mut updates, &session).await;
    assert_eq!(mine.requests.len(), 1);
    drop(asked);
    cli.interrupted().await;
    session.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_dropped_viewer_is_forgotten() {
    let (session, stage) = session(SessionOptions::new());
    drop(session.follow().await.unwrap());
    let asked = asking(&session, "one");
    stage.ready().await.turn("one", "1").await;
    assert_eq!(asked.await.unwrap().unwrap().text, "1");
    session.stop().await;
}

#[tokio::test(start_paused = true)]
async fn host_events_are_reported_before_they_take_effect() {
    let seen = Seen::default();
    let (session, stage) = session(SessionOptions::new().observer(seen.clone()));
    let sent = session.send("one").await.unwrap();
    // An accepted message is in the log before the caller is told.
    let queued =
        HostEvent::MessageQueued { message: sent.id.clone(), text: "one".into(), images: 0, documents: 0 };
    assert_eq!(seen.host.lock().unwrap().first(), Some(&queued));
    let mut cli = stage.ready().await;
    cli.hears_message("one").await;
    // A message that the CLI has read was reported as sent.
    let is_sent = |event: &HostEvent| *event == HostEvent::MessageSent { message: sent.id.clone() };
    assert!(seen.host.lock().unwrap().iter().any(is_sent));
    session.stop().await;
}

/// Takes no more output while its gate is closed.
#[derive(Clone)]
struct Gate {
    is_open: tokio::sync::watch::Sender<bool>,
    waker: Arc<Mutex<Option<Waker>>>,
    lines: Arc<Mutex<usize>>,
}

impl Gate {
    fn set(&self, is_open: bool) {
        self.is_open.send_replace(is_open);
        if let Some(waker) = self.waker.lock().unwrap().take() {
            waker.wake();
        }
    }
}

impl Observer for Gate {
    fn line(&mut self, _line: &Line<'_>) {
        *self.lines.lock().unwrap() += 1;
    }

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<()> {
        if *self.is_open.borrow() {
            return Poll::Ready(());
        }
        *self.waker.lock().unwrap() = Some(context.waker().clone());
        Poll::Pending
    }
}

#[tokio::test(start_paused = true)]
async fn an_observer_that_cannot_keep_up_makes_the_cli_wait_and_nothing_else() {
    let gate =
        Gate { is_open: tokio::sync::watch::Sender::new(true), waker: Arc::default(), lines: Arc::default() };
    let (session, stage) = session(SessionOptions::new().observer(gate.clone()));
    let asked = asking(&session, "count");
    let mut cli = stage.ready().await;
    let id = cli.begins("count").await;
    cli.text("first").await;
    quiet().await;
    gate.set(false);
    // The call also makes the driver look at the gate again: it may have begun to wait for output before.
    let shown = session.view().await.unwrap().entries.len();
    let before = *gate.lines.lock().unwrap();
    cli.text("second").await;
    cli.result("done", &[&id]).await;
    quiet().await;
    // Callers are served meanwhile.
    assert_eq!(session.view().await.unwrap().entries.len(), shown);
    assert_eq!(*gate.lines.lock().unwrap(), before);
    gate.set(true);
    assert_eq!(asked.await.unwrap().unwrap().text, "done");
    assert_eq!(*gate.lines.lock().unwrap(), before + 2);
    session.stop().await;
}
