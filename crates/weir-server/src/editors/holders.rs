//! The holders of tokens that have editors, each with connections of its own. A connection that nothing has used for a
//! while is closed: its client has gone without saying so.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use tokio::time::Instant;
use weir_acp::{AcpAgent, Remote};

use super::TokenGuard;
use crate::auth::Principal;
use crate::state::{App, WeakApp};

/// Connections that a token may have.
const MAX_CONNECTIONS: usize = 32;
/// How long a connection may be without a request and without a stream.
const UNUSED: Duration = Duration::from_secs(90);
/// How often unused connections are looked for.
const LOOK: Duration = Duration::from_secs(15);

/// All holders.
#[derive(Debug, Default)]
pub(crate) struct Holders {
    by_token: Mutex<HashMap<String, Arc<EditorHolder>>>,
}

/// A holder of a token with its connections.
#[derive(Debug)]
pub(crate) struct EditorHolder {
    remote: Remote,
    guard: Arc<TokenGuard>,
    connections: Mutex<HashMap<String, Use>>,
    /// One for each connection that is being opened, in addition to this.
    opening: Arc<()>,
}

/// Room for a connection that is being opened.
pub(crate) struct Room {
    _kept: Arc<()>,
}

/// How a connection is used.
#[derive(Debug, Clone)]
struct Use {
    last: Instant,
    /// Streams that are open.
    streams: Arc<()>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // No statement under these locks can panic halfway through.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Holders {
    /// The holder of this token.
    pub(crate) fn holder(&self, app: &App, who: &Principal) -> Arc<EditorHolder> {
        let mut all = locked(&self.by_token);
        if let Some(holder) = all.get(&who.token_id) {
            holder.guard.is_now(who);
            return Arc::clone(holder);
        }
        let guard = Arc::new(TokenGuard::new(app, who));
        let remote = Remote::new(AcpAgent::new(app.host().clone(), Arc::clone(&guard) as _));
        let holder =
            Arc::new(EditorHolder { remote, guard, connections: Mutex::default(), opening: Arc::default() });
        all.insert(who.token_id.clone(), Arc::clone(&holder));
        tokio::spawn(watch(app.downgrade(), who.token_id.clone(), Arc::downgrade(&holder)));
        holder
    }

    /// Forgets a holder whose token has ended.
    fn forget(&self, token_id: &str) {
        locked(&self.by_token).remove(token_id);
    }
}

/// Closes what is not used, as long as there is a holder. One whose token has ended is forgotten.
async fn watch(app: WeakApp, token_id: String, holder: Weak<EditorHolder>) {
    loop {
        tokio::time::sleep(LOOK).await;
        let Some(holder) = holder.upgrade() else { return };
        for id in holder.unused(Instant::now()) {
            holder.remote.end(&id).await;
            holder.closed(&id);
        }
        if weir_acp::Guard::right(&*holder.guard).is_none() {
            if let Some(app) = app.upgrade() {
                app.editors().forget(&token_id);
            }
            return;
        }
    }
}

impl EditorHolder {
    pub(crate) fn remote(&self) -> &Remote {
        &self.remote
    }

    /// Room for another connection, until it is noted or was not opened. None if it has too many.
    pub(crate) fn room(&self) -> Option<Room> {
        let connections = locked(&self.connections);
        let opening = Arc::strong_count(&self.opening) - 1;
        (connections.len() + opening < MAX_CONNECTIONS).then(|| Room { _kept: Arc::clone(&self.opening) })
    }

    /// Notes a new connection.
    pub(crate) fn opened(&self, id: String) {
        locked(&self.connections).insert(id, Use { last: Instant::now(), streams: Arc::new(()) });
    }

    /// Forgets a connection.
    pub(crate) fn closed(&self, id: &str) {
        locked(&self.connections).remove(id);
    }

    /// Notes that a connection is used: now, and as long as what is returned is kept.
    pub(crate) fn touch(&self, id: &str) -> Option<Arc<()>> {
        let mut connections = locked(&self.connections);
        let found = connections.get_mut(id)?;
        found.last = Instant::now();
        Some(Arc::clone(&found.streams))
    }

    /// The connections that no one uses.
    fn unused(&self, now: Instant) -> Vec<String> {
        let has_ended = weir_acp::Guard::right(&*self.guard).is_none();
        let mut connections = locked(&self.connections);
        let mut found = Vec::new();
        for (id, used) in connections.iter_mut() {
            if Arc::strong_count(&used.streams) > 1 && !has_ended {
                used.last = now;
            } else if has_ended || now.duration_since(used.last) >= UNUSED {
                found.push(id.clone());
            }
        }
        found
    }
}
