//! The task that follows a session for an editor.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::task::AbortHandle;
use tokio::time::Instant;
use weir_host::{Frame, Host, HostError, SessionId, SnapshotEvent, Watch, WatchEvent, WatchQuery};
use weir_transcript::{Change, RequestState};
use weir_wire::{MessageId, RequestId};

use super::asking::Asking;
use super::attached::{Attached, Work};
use super::{Connection, Editor};
use crate::guard::Right;
use crate::outbox::Outbox;
use crate::translate::Features;
use crate::translate::children::{Updates, session_id};
use crate::translate::projection::Projection;

/// Entries that are read at a time where a gap is filled.
const PAGE: u64 = 200;

/// How long an editor that may watch is taken to still may.
const RECHECK: Duration = Duration::from_millis(500);

/// How often a session that says nothing is looked at: a token may have ended in the meantime.
const LOOK: Duration = Duration::from_secs(5);

/// Follows a session for an editor.
pub(crate) struct Pump {
    connection: Weak<Connection>,
    attached: Weak<Attached>,
    pub(super) id: SessionId,
    pub(super) host: Host,
    pub(super) outbox: Outbox,
    pub(super) editor: Editor,
    features: Features,
    pub(super) projection: Projection,
    /// What the editor knows of what the session is doing.
    #[cfg(feature = "draft-v2")]
    pub(super) known: super::state::Known,
    /// Requests that the editor shows.
    asked: HashMap<RequestId, AbortHandle>,
    /// When it was last asked whether the editor may watch.
    checked: Option<Instant>,
}

/// Why following ends.
enum Over {
    /// The session, the host, the editor or its access is gone.
    Gone,
    /// This editor was too slow, or the log failed for a moment: it can begin again.
    Again,
}

impl Pump {
    pub(crate) fn new(
        connection: &Arc<Connection>,
        attached: &Arc<Attached>,
        editor: Editor,
        features: Features,
        projection: Projection,
    ) -> Self {
        Self {
            // The connection has the task, not the other way round.
            connection: Arc::downgrade(connection),
            attached: Arc::downgrade(attached),
            id: attached.id.clone(),
            host: connection.host.clone(),
            outbox: connection.outbox.of_session(attached.id.as_str()),
            editor,
            features,
            projection,
            #[cfg(feature = "draft-v2")]
            known: super::state::Known::default(),
            asked: HashMap::new(),
            checked: None,
        }
    }

    /// Whether the editor may still watch. Asked once in a while: there may be thousands of frames a second.
    fn may_watch(&mut self, connection: &Connection) -> bool {
        if self.checked.is_some_and(|checked| checked.elapsed() < RECHECK) {
            return true;
        }
        self.checked = Some(Instant::now());
        connection.may(Right::Watch).is_ok()
    }

    /// Follows the session to its end, once it may begin.
    pub(crate) async fn run(mut self, mut work: Work) {
        let Some(attached) = self.attached.upgrade() else { return };
        attached.begun().await;
        drop(attached);
        loop {
            let query = WatchQuery { heartbeat: Some(LOOK), ..WatchQuery::default() };
            let Ok(mut watch) = self.host.watch(&self.id, query).await else { return };
            match self.follow(&mut watch, &mut work).await {
                Over::Gone => return,
                Over::Again => {}
            }
        }
    }

    async fn follow(&mut self, watch: &mut Watch, work: &mut Work) -> Over {
        loop {
            self.outbox.room().await;
            let frame = tokio::select! {
                biased;
                () = self.editor.incoming_closed() => return Over::Gone,
                frame = watch.next() => frame,
                flush = work.flushes.recv() => {
                    // Everything that has happened was published before it was asked for.
                    while let Some(frame) = watch.next_ready().await {
                        if let Err(over) = self.take(&frame).await {
                            return over;
                        }
                    }
                    match flush {
                        Some(flush) => drop(flush.send(())),
                        None => return Over::Gone,
                    }
                    continue;
                }
            };
            let Some(frame) = frame else { return Over::Gone };
            let is_snapshot = matches!(frame.event(), WatchEvent::Snapshot(_));
            if let Err(over) = self.take(&frame).await {
                return over;
            }
            if is_snapshot {
                work.told.send_replace(true);
            }
        }
    }

    /// Tells the editor of a frame.
    async fn take(&mut self, frame: &Frame) -> Result<(), Over> {
        let connection = self.connection.upgrade().ok_or(Over::Gone)?;
        if !self.may_watch(&connection) {
            return Err(Over::Gone);
        }
        match frame.event() {
            WatchEvent::Snapshot(snapshot) => {
                self.snapshot(snapshot).await?;
                #[cfg(feature = "draft-v2")]
                {
                    self.known.status(snapshot.session.status);
                    self.tell_state(true).await;
                }
            }
            WatchEvent::Changes(event) => {
                let attached = self.attached.upgrade().ok_or(Over::Gone)?;
                let own = attached.own.lock().await;
                for change in &event.changes {
                    let updates = self.projection.change(change, &own);
                    self.tell(updates);
                }
                drop(own);
                if event
                    .changes
                    .iter()
                    .any(|change| matches!(change, Change::Request(_) | Change::Dropped { .. }))
                {
                    self.ask(&connection);
                }
                #[cfg(feature = "draft-v2")]
                self.tell_state(false).await;
            }
            WatchEvent::Session(info) => {
                let updates = self.projection.info(info);
                self.tell(updates);
                #[cfg(feature = "draft-v2")]
                {
                    self.known.status(info.status);
                    self.tell_state(false).await;
                }
            }
            WatchEvent::Bye(weir_host::Bye::Lag | weir_host::Bye::Failed) => return Err(Over::Again),
            WatchEvent::Bye(_) => return Err(Over::Gone),
            _ => {}
        }
        Ok(())
    }

    async fn snapshot(&mut self, snapshot: &SnapshotEvent) -> Result<(), Over> {
        let connection = self.connection.upgrade().ok_or(Over::Gone)?;
        if let Some((from, to)) = self.projection.gap(&snapshot.view) {
            self.projection.expect(&snapshot.view.agents);
            self.fill(from, to).await.map_err(|_| Over::Gone)?;
        }
        let attached = self.attached.upgrade().ok_or(Over::Gone)?;
        let own = attached.own.lock().await;
        let updates = self.projection.snapshot(snapshot.view.clone(), &snapshot.session, &own);
        drop(own);
        self.tell(updates);
        self.ask(&connection);
        Ok(())
    }

    /// Tells of entries that are no longer in the view, the oldest first, a page at a time.
    async fn fill(&mut self, from: u64, to: u64) -> Result<(), HostError> {
        let mut next = from;
        while next < to {
            let before = (next + PAGE).min(to);
            let limit = usize::try_from(before - next).unwrap_or(usize::MAX);
            let page = self.host.transcript(&self.id, Some(before), limit).await?;
            let mut entries = page.entries;
            entries.reverse();
            let own = match self.attached.upgrade() {
                Some(attached) => attached.own.lock().await.clone(),
                None => HashSet::<MessageId>::new(),
            };
            let updates = self.projection.older(&entries, &own);
            self.tell(updates);
            self.outbox.room().await;
            next = before;
        }
        Ok(())
    }

    fn tell(&self, updates: Updates) {
        for (agent, update) in updates {
            self.editor.tell(session_id(&self.id, agent.as_ref()), update, &self.outbox);
        }
    }

    /// Asks the editor what waits for a person, and withdraws what no longer does.
    fn ask(&mut self, connection: &Arc<Connection>) {
        let view = self.projection.view();
        let is_open =
            |id: &RequestId| view.request(id).is_some_and(|request| request.state == RequestState::Open);
        self.asked.retain(|id, task| {
            let stays = is_open(id);
            if !stays {
                // Dropping what was sent tells the editor that it is withdrawn.
                task.abort();
            }
            stays
        });
        if connection.may(Right::Answer).is_err() {
            return;
        }
        for request in view.requests.iter().filter(|request| request.state == RequestState::Open) {
            if !request.kind.is_for_a_person() || self.asked.contains_key(&request.id) {
                continue;
            }
            let asking = Asking::new(
                connection,
                (&self.id, self.projection.session_of(request.parent.as_ref())),
                request.clone(),
                self.editor.clone(),
                self.features,
            );
            self.asked.insert(request.id.clone(), tokio::spawn(asking.run()).abort_handle());
        }
    }
}

impl Drop for Pump {
    fn drop(&mut self) {
        for task in self.asked.values() {
            task.abort();
        }
    }
}
