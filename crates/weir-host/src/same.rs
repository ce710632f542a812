//! Compares the live view of a session, which saw previews, with the durable one, which saw only complete lines.

use weir_transcript::{Entry, EntryBody, View};

/// Whether two views show the same, but for when an entry began and where in its message it stands, which only
/// previews tell.
pub(crate) fn is_same(live: &View, durable: &View) -> bool {
    let View {
        session,
        status,
        entries,
        turns,
        agents,
        tasks,
        requests,
        todos,
        files,
        cost,
        rate_limit,
        oddities: _,
        // Pieces tell more of them than whole lines.
        usages: _,
        dropped_entries,
    } = live;
    let of_turns = turns.len() == durable.turns.len()
        && turns.iter().zip(&durable.turns).all(|(a, b)| {
            a.id == b.id && a.state == b.state && a.messages == b.messages && a.result == b.result
        });
    *session == durable.session
        && *status == durable.status
        && *dropped_entries == durable.dropped_entries
        && of_turns
        && *tasks == durable.tasks
        && *requests == durable.requests
        && *todos == durable.todos
        && *files == durable.files
        && *cost == durable.cost
        && *rate_limit == durable.rate_limit
        && agents.len() == durable.agents.len()
        && agents.iter().zip(&durable.agents).all(|(a, b)| a.id == b.id && a.state == b.state)
        && entries.len() == durable.entries.len()
        && entries.iter().zip(&durable.entries).all(|(a, b)| is_same_entry(a, b))
}

fn is_same_entry(live: &Entry, durable: &Entry) -> bool {
    if std::ptr::eq(live, durable) {
        return true;
    }
    if (live.id, live.turn, &live.parent) != (durable.id, durable.turn, &durable.parent) {
        return false;
    }
    match (&live.body, &durable.body) {
        (EntryBody::Text(a), EntryBody::Text(b)) => {
            (&a.message, &a.text, a.state, &a.error) == (&b.message, &b.text, b.state, &b.error)
        }
        (EntryBody::Thinking(a), EntryBody::Thinking(b)) => {
            (&a.message, &a.text, a.state, a.redacted) == (&b.message, &b.text, b.state, b.redacted)
        }
        (EntryBody::Tool(a), EntryBody::Tool(b)) => {
            (&a.id, &a.name, a.state, &a.output) == (&b.id, &b.name, b.state, &b.output)
        }
        (a, b) => a == b,
    }
}
