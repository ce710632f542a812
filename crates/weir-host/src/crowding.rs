//! What happens when sessions wait for a process while others hold one and wait for a person.
//!
//! A session that waits for a person gives its place in the pool back, up to a number of them. Beyond that number the
//! one that has waited longest is denied what it asked for, once it has had its time: otherwise a few questions that no
//! one reads would stop every other session for ever.

use std::time::Duration;

use tokio::time::Instant;
use weir_session::Decision;
use weir_transcript::RequestState;
use weir_wire::RequestId;

use crate::core::{Core, Lease};

/// Who answers when the host itself denies a request.
const HOST: &str = "weir";

impl Core {
    /// Denies what the session asked that has waited longest for a person, if too many wait and it has had its time.
    pub(crate) async fn end_longest_wait(&self) {
        let Some(patience) = self.options.crowded_wait else { return };
        let mut waiting: Vec<(Instant, Lease)> = self.all_present().into_iter().filter_map(since).collect();
        if waiting.len() <= self.options.pool.max_awaiting {
            return;
        }
        waiting.sort_by_key(|(since, _)| *since);
        let longest = waiting.into_iter().next();
        if let Some((_, live)) = longest.filter(|(since, _)| since.elapsed() >= patience) {
            deny_all(&live, patience).await;
        }
    }
}

/// A session that has a process and waits for a person, and since when.
fn since(live: Lease) -> Option<(Instant, Lease)> {
    let since = {
        let state = live.lock();
        state.waiting_since.filter(|_| state.session.is_some())?
    };
    Some((since, live))
}

async fn deny_all(live: &Lease, patience: Duration) {
    let (session, open): (_, Vec<RequestId>) = {
        let state = live.lock();
        let requests = state.view.requests.iter();
        let open = requests.filter(|request| request.state == RequestState::Open);
        (state.session.clone(), open.map(|request| request.id.clone()).collect())
    };
    let Some(session) = session else { return };
    for request in open {
        let message = format!(
            "No one answered for {} s, and other sessions need the process, so this was denied and the turn ended.",
            patience.as_secs()
        );
        let decision = Decision::Deny { message, interrupt: true };
        // If the request was answered in the meantime, that answer counts.
        let _ = session.session().answer(&request, decision, Some(HOST.to_owned())).await;
    }
    crate::metrics::count(&live.core.counters.crowded_out, 1);
}
