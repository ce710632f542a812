//! Follows a session of the host as a viewer does: keeps its view and what the run needs of it, reports what the
//! session is doing, and announces when a request no longer waits.

use std::pin::pin;
use std::sync::Arc;

use weir_host::{Bye, Frame, Host, HostError, SessionId, Watch, WatchEvent, WatchQuery};
use weir_transcript::{Change, EntryBody, Status, View};

use super::approvals::Approvals;
use super::hooks::Rules;
use super::record::SessionRecord;
use super::run::AgentRun;

/// Follows a session.
pub(super) struct Follower {
    host: Host,
    id: SessionId,
    /// `None` once the host has ended it.
    watch: Option<Watch>,
    view: View,
    record: SessionRecord,
    activity: Arc<dyn Fn(&str) + Send + Sync>,
    approvals: Approvals,
}

impl Follower {
    pub(super) async fn new(
        host: Host,
        id: SessionId,
        activity: Arc<dyn Fn(&str) + Send + Sync>,
        approvals: Approvals,
    ) -> Result<Self, HostError> {
        let watch = Some(host.watch(&id, WatchQuery::default()).await?);
        let (view, record) = (View::default(), SessionRecord::default());
        Ok(Self { host, id, watch, view, record, activity, approvals })
    }

    /// Follows the session while something else is awaited.
    pub(super) async fn during<T>(&mut self, work: impl Future<Output = T>) -> T {
        let mut work = pin!(work);
        loop {
            let frame = tokio::select! {
                frame = next(&mut self.watch) => frame,
                done = &mut work => return done,
            };
            self.take(&frame).await;
        }
    }

    /// Takes what has happened so far.
    pub(super) async fn catch_up(&mut self) {
        while let Some(watch) = &mut self.watch
            && let Some(frame) = watch.next_ready().await
        {
            self.take(&frame).await;
        }
    }

    /// How the session went, as far as the transcript says it.
    pub(super) fn run(&self, rules: &Rules) -> AgentRun {
        self.record.run(&self.view, rules)
    }

    async fn take(&mut self, frame: &Frame) {
        match frame.event() {
            WatchEvent::Snapshot(snapshot) => self.replace(snapshot.view.clone()),
            WatchEvent::Changes(changes) => {
                for change in &changes.changes {
                    self.view.apply(change);
                    self.change(change);
                }
            }
            // What was missed is in the next snapshot.
            WatchEvent::Bye(Bye::Lag) => {
                self.watch = self.host.watch(&self.id, WatchQuery::default()).await.ok();
            }
            WatchEvent::Bye(_) => self.watch = None,
            _ => {}
        }
    }

    /// Takes a whole view. Entries and turns that are new in it count as added.
    fn replace(&mut self, view: View) {
        let last = self.view.entries.last().map(|entry| entry.id);
        self.view = view;
        let entries: Vec<_> =
            self.view.entries.iter().filter(|entry| Some(entry.id) > last).cloned().collect();
        let requests = self.view.requests.clone();
        let turns = self.view.turns.clone();
        for change in entries
            .into_iter()
            .map(Change::EntryAdded)
            .chain(requests.into_iter().map(|request| Change::Request(Box::new(request))))
            .chain(turns.into_iter().map(|turn| Change::TurnReplaced(Box::new(turn))))
        {
            self.change(&change);
        }
    }

    fn change(&mut self, change: &Change<'_>) {
        self.record.observe(&self.view, change);
        if let Change::Request(request) = change {
            self.approvals.settled(request);
        }
        if let Some(text) = activity(&self.view, change) {
            (self.activity)(&text);
        }
    }
}

async fn next(watch: &mut Option<Watch>) -> Frame {
    match watch {
        Some(watch) => match watch.next().await {
            Some(frame) => frame,
            // After the last frame there is nothing to wait for.
            None => std::future::pending().await,
        },
        None => std::future::pending().await,
    }
}

/// What the session is doing after a change, in one line.
fn activity(view: &View, change: &Change<'_>) -> Option<String> {
    let id = match change {
        Change::EntryAdded(entry) | Change::EntryReplaced(entry) => match &entry.body {
            EntryBody::Tool(_) => entry.id,
            EntryBody::Thinking(_) => return Some("thinking".to_owned()),
            EntryBody::Text(_) if entry.parent.is_none() => return Some("writing".to_owned()),
            _ => return None,
        },
        Change::ToolState { entry, .. } => *entry,
        Change::Status { status } => {
            let text = match status {
                Status::Running => "waiting for the model",
                Status::Compacting => "compacting the session",
                Status::WaitingForPerson => "waiting for a person",
                Status::Background => "waiting for background tasks",
                _ => return None,
            };
            return Some(text.to_owned());
        }
        _ => return None,
    };
    let (_, tool) = view.tool(id)?;
    (!tool.state.is_settled() && !tool.name.is_empty())
        .then(|| format!("{} {}", tool.name, tool.title).trim_end().to_owned())
}
