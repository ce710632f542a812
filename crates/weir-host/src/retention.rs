//! Removes old sessions if the host is configured to: by age, by size, or both.
//!
//! A session that is live, waiting or pinned is never removed. A session is checked again, and kept out of memory, at
//! the moment it is removed.

use std::collections::HashSet;
use std::sync::{Arc, Weak};
use std::time::Duration;

use weir_store::{Archived, ListOrder, ListQuery, Lookup, SessionId, Store, StoredSession};

use crate::core::Core;
use crate::error::HostError;
use crate::host::FORKING;
use crate::info::{SessionStatus, kept};

/// Pause between two sweeps.
const EVERY: Duration = Duration::from_secs(600);
/// Pause while deleted sessions are still being removed from the file.
const SOON: Duration = Duration::from_secs(15);
/// Sessions that changed more recently than this are never removed to save space.
const RECENT: Duration = Duration::from_secs(3600);

/// Which sessions are removed automatically. By default none are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Retention {
    /// Removes sessions in which nothing has happened for this long.
    pub keep_for: Option<Duration>,
    /// Removes the oldest sessions, archived ones first, while the log takes more bytes than this. Sessions that changed
    /// within the last hour stay.
    pub keep_bytes: Option<u64>,
}

impl Retention {
    fn is_any(self) -> bool {
        self.keep_for.is_some() || self.keep_bytes.is_some()
    }

    /// The sessions to remove. `excess` is how many bytes the log takes beyond the limit.
    fn chosen(self, rows: &[StoredSession], now: i64, excess: u64) -> Vec<&StoredSession> {
        let age = |row: &StoredSession| {
            u64::try_from(now - row.updated_at).map_or(Duration::ZERO, Duration::from_millis)
        };
        let mut candidates: Vec<&StoredSession> = rows.iter().filter(|row| is_at_rest(row)).collect();
        candidates.sort_by_key(|row| (!row.archived, row.updated_at));
        let is_old = |row: &StoredSession| self.keep_for.is_some_and(|max| age(row) > max);
        let mut freed: u64 = candidates.iter().filter(|row| is_old(row)).map(|row| row.bytes).sum();
        candidates.retain(|row| {
            if is_old(row) {
                return true;
            }
            let is_too_much = freed < excess && age(row) > RECENT;
            freed += if is_too_much { row.bytes } else { 0 };
            is_too_much
        });
        candidates
    }
}

/// Whether removing it loses only history: nothing runs, nothing waits, and it is not pinned.
fn is_at_rest(row: &StoredSession) -> bool {
    let kept = kept(row);
    let is_waiting = kept.queued > 0 || kept.permissions > 0 || kept.questions > 0;
    !kept.pinned && !is_waiting && row.status != FORKING && !SessionStatus::parse(&row.status).is_busy()
}

/// Sweeps periodically, until the host is gone.
pub(crate) fn start(core: &Arc<Core>) {
    if !core.options.retention.is_any() {
        return;
    }
    let core = Arc::downgrade(core);
    tokio::spawn(async move {
        while let Some(pause) = look(&core).await {
            tokio::time::sleep(pause).await;
        }
    });
}

/// Sweeps once. Returns when to sweep again; none when the host is gone.
async fn look(core: &Weak<Core>) -> Option<Duration> {
    let core = core.upgrade().filter(|core| !core.is_shutting_down())?;
    Some(match sweep(&core, core.options.retention).await {
        Ok(true) => SOON,
        Ok(false) => EVERY,
        Err(error) => {
            tracing::warn!(%error, "old sessions cannot be removed");
            EVERY
        }
    })
}

/// Removes sessions that are too old or take too much space. Returns whether to sweep again soon.
pub(crate) async fn sweep(core: &Arc<Core>, retention: Retention) -> Result<bool, HostError> {
    let store = &core.options.store;
    let usage = store.usage().await?;
    if usage.is_deleting {
        // How much is left will be known when that is done.
        return Ok(true);
    }
    let excess = retention.keep_bytes.map_or(0, |max| usage.used.saturating_sub(max));
    let rows = all(&**store).await?;
    let mut removed = (0_u64, 0_u64);
    for row in retention.chosen(&rows, core.clock.now(), excess) {
        if remove(core, row).await? {
            tracing::info!(session = %row.id, bytes = row.bytes, "removed an old session");
            removed = (removed.0 + 1, removed.1 + row.bytes);
        }
    }
    if removed.0 > 0 {
        tracing::warn!(sessions = removed.0, bytes = removed.1, ?retention, "removed old sessions");
    } else if excess > 0 {
        tracing::warn!(
            excess,
            "the log is larger than it should be, and no session in it is at rest and old enough"
        );
    }
    Ok(removed.0 > 0)
}

/// Removes a session, unless something has happened to it since it was listed.
async fn remove(core: &Arc<Core>, row: &StoredSession) -> Result<bool, HostError> {
    let (store, id) = (&core.options.store, row.id.clone());
    let removed = core.while_absent(&id, async {
        let found = store.find(Lookup::Id(id.clone())).await?;
        let is_same = found.is_some_and(|found| found.updated_at == row.updated_at && is_at_rest(&found));
        if is_same { store.delete(id.clone()).await.map_err(HostError::from) } else { Ok(false) }
    });
    let is_removed = removed.await.transpose()?.unwrap_or(false);
    if is_removed {
        core.hub.removed(row.id.as_str());
    }
    Ok(is_removed)
}

/// All sessions. Each once: one that changes while they are listed comes to the front.
async fn all(store: &dyn Store) -> Result<Vec<StoredSession>, HostError> {
    let (mut rows, mut seen): (Vec<StoredSession>, HashSet<SessionId>) = Default::default();
    let mut order = ListOrder::Newest;
    loop {
        let page = store.list(ListQuery { archived: Archived::With, order, ..ListQuery::default() }).await?;
        let next = page.sessions.last().filter(|_| page.more).map(|last| last.revision);
        rows.extend(page.sessions.into_iter().filter(|row| seen.insert(row.id.clone())));
        match next {
            Some(revision) => order = ListOrder::NewestBefore(revision),
            None => return Ok(rows),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use weir_store::{Append, Log, MemoryStore, NewEvent, NewStoredSession, SessionUpdate};

    use super::*;

    const DAY: i64 = 86_400_000;
    const NOW: i64 = 1_000 * DAY;

    /// A session that is `days` days old.
    async fn row(store: &MemoryStore, id: &str, days: i64, change: impl FnOnce(&mut SessionUpdate)) {
        let id: SessionId = id.parse().unwrap();
        let at = NOW - days * DAY;
        let mut new = NewStoredSession::new(id.clone(), at);
        new.facts.status = Some("idle".to_owned());
        change(&mut new.facts);
        store.create(new).await.unwrap();
        let event = NewEvent::new(at, "line", vec![b'x'; 100]);
        store.append(Append::new(id, vec![event])).await.unwrap();
    }

    async fn chosen(retention: Retention, excess: u64) -> Vec<String> {
        let store = MemoryStore::new();
        row(&store, "new", 0, |_| {}).await;
        row(&store, "young", 10, |_| {}).await;
        row(&store, "old", 100, |_| {}).await;
        row(&store, "older", 200, |_| {}).await;
        row(&store, "put-away", 50, |facts| facts.archived = Some(true)).await;
        row(&store, "running", 300, |facts| facts.status = Some("running".to_owned())).await;
        row(&store, "forking", 300, |facts| facts.status = Some(FORKING.to_owned())).await;
        row(&store, "pinned", 300, |facts| facts.settings = Some(json!({"pinned": true}))).await;
        row(&store, "queued", 300, |facts| facts.settings = Some(json!({"queued": 1}))).await;
        row(&store, "asking", 300, |facts| facts.settings = Some(json!({"questions": 1}))).await;
        let rows = all(&store).await.unwrap();
        assert_eq!(rows.len(), 10);
        retention.chosen(&rows, NOW, excess).iter().map(|row| row.id.to_string()).collect()
    }

    #[tokio::test]
    async fn what_is_live_pinned_or_waiting_stays_whatever_its_age() {
        let by_age =
            |days: u64| Retention { keep_for: Some(Duration::from_secs(days * 86_400)), keep_bytes: None };
        assert_eq!(chosen(by_age(90), 0).await, ["older", "old"]);
        assert_eq!(chosen(by_age(5), 0).await, ["put-away", "older", "old", "young"]);
        assert_eq!(chosen(by_age(400), 0).await, Vec::<String>::new());
    }

    #[tokio::test]
    async fn to_save_space_the_archive_goes_first_and_then_the_oldest() {
        let by_size = Retention { keep_for: None, keep_bytes: Some(0) };
        assert_eq!(chosen(by_size, 0).await, Vec::<String>::new());
        assert_eq!(chosen(by_size, 1).await, ["put-away"]);
        assert_eq!(chosen(by_size, 101).await, ["put-away", "older"]);
        assert_eq!(chosen(by_size, u64::MAX).await, ["put-away", "older", "old", "young"], "never a new one");
        // What goes because of its age counts.
        let both = Retention { keep_for: Some(Duration::from_secs(90 * 86_400)), keep_bytes: Some(0) };
        assert_eq!(chosen(both, 150).await, ["older", "old"]);
        assert_eq!(chosen(both, 250).await, ["put-away", "older", "old"]);
    }
}
