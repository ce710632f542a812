//! Counts open streams, in total and per token, so that no token can take all of them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::auth::Principal;
use crate::settings::RequestLimits;

/// The open streams. Cloning gives another handle to the same count.
#[derive(Debug, Clone, Default)]
pub(crate) struct Streams {
    open: Arc<Mutex<Open>>,
}

#[derive(Debug, Default)]
struct Open {
    total: usize,
    by_holder: HashMap<Holder, usize>,
}

/// Who a stream is counted for.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Holder {
    /// A token, by id.
    Token(String),
    /// All share links made with a token, by the token's id.
    SharesOf(String),
}

/// Why there is no room for another stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NoStream {
    /// The server has reached its limit.
    Server,
    /// The token has reached its limit.
    Token,
}

impl Streams {
    fn lock(&self) -> MutexGuard<'_, Open> {
        // No statement under the lock can panic halfway through.
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Number of open streams.
    pub(crate) fn count(&self) -> usize {
        self.lock().total
    }

    /// Takes a slot for another stream, released on drop.
    pub(crate) fn take(&self, who: &Principal, limits: &RequestLimits) -> Result<StreamSlot, NoStream> {
        let own = Holder::Token(who.token_id.clone());
        let holders: Vec<(Holder, usize)> = match &who.maker {
            None => vec![(own, limits.streams_per_token)],
            Some(maker) => {
                let all = Holder::SharesOf(maker.clone());
                vec![(own, limits.streams_per_share), (all, limits.streams_per_token)]
            }
        };
        let mut open = self.lock();
        if holders.iter().any(|(holder, most)| open.by_holder.get(holder).is_some_and(|count| count >= most))
        {
            return Err(NoStream::Token);
        }
        if open.total >= limits.streams {
            return Err(NoStream::Server);
        }
        open.total += 1;
        for (holder, _) in &holders {
            *open.by_holder.entry(holder.clone()).or_default() += 1;
        }
        drop(open);
        let holders = holders.into_iter().map(|(holder, _)| holder).collect();
        Ok(StreamSlot { streams: self.clone(), holders })
    }
}

/// A slot for a stream.
#[derive(Debug)]
pub(crate) struct StreamSlot {
    streams: Streams,
    holders: Vec<Holder>,
}

impl Drop for StreamSlot {
    fn drop(&mut self) {
        let mut open = self.streams.lock();
        open.total = open.total.saturating_sub(1);
        for holder in &self.holders {
            let left = open.by_holder.get(holder).map_or(0, |count| count.saturating_sub(1));
            if left == 0 {
                open.by_holder.remove(holder);
            } else {
                open.by_holder.insert(holder.clone(), left);
            }
        }
    }
}
