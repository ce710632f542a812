//! What the cases have in common.

use std::time::Duration;

use weir_store::{
    Append, Appended, Event, EventPage, Log, NewEvent, NewStoredSession, ReadQuery, SessionId, StoreError,
};

/// Longer than any step takes, even on a busy machine. It passes only if something hangs.
pub(crate) const DEADLINE: Duration = Duration::from_secs(60);

/// A new session.
pub(crate) fn create(log: &dyn Log) -> Result<SessionId, StoreError> {
    let id = SessionId::random();
    log.create(NewStoredSession::new(id.clone(), 1)).wait()?;
    Ok(id)
}

pub(crate) fn event(payload: &str) -> NewEvent {
    NewEvent::new(2, "line", payload.as_bytes().to_vec())
}

pub(crate) fn named(client_id: &str, payload: &str) -> NewEvent {
    NewEvent { client_id: Some(client_id.to_owned()), ..event(payload) }
}

pub(crate) fn append(log: &dyn Log, session: &SessionId, payloads: &[&str]) -> Result<Appended, StoreError> {
    let events = payloads.iter().map(|payload| event(payload)).collect();
    log.append(Append::new(session.clone(), events)).wait()
}

/// An append with a generation.
pub(crate) fn append_as(
    log: &dyn Log,
    session: &SessionId,
    generation: u64,
    payloads: &[&str],
) -> Result<Appended, StoreError> {
    let events = payloads.iter().map(|payload| event(payload)).collect();
    log.append(Append { generation, ..Append::new(session.clone(), events) }).wait()
}

pub(crate) fn texts(page: &EventPage) -> Vec<String> {
    page.events.iter().map(text).collect()
}

fn text(event: &Event) -> String {
    String::from_utf8_lossy(&event.payload).into_owned()
}

/// The whole log, page by page. Also checks that its numbers have no gaps.
pub(crate) fn whole_log(log: &dyn Log, session: &SessionId) -> Result<Vec<String>, StoreError> {
    let mut found = Vec::new();
    loop {
        let seen = found.len() as u64;
        let page = log.read(ReadQuery::after(session.clone(), seen)).wait()?;
        for event in &page.events {
            assert_eq!(event.seq, found.len() as u64 + 1);
            found.push(text(event));
        }
        if !page.more {
            assert_eq!(page.newest, found.len() as u64);
            return Ok(found);
        }
        assert!(!page.events.is_empty(), "a page that is not the last has events");
    }
}
