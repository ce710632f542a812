//! Leases: keys of a KV bucket that the servers remove when their time has passed.
//!
//! The position of the message that took a lease is its generation: positions of a stream only grow, also when its messages
//! are gone.

use std::time::{Duration, Instant};

use async_nats::HeaderMap;
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use weir_store::{Acquired, Lease, LeaseRequest, StoreError};

use crate::core::Core;
use crate::record::RecordId;
use crate::request::{self, Sent};

const TTL: &str = "Nats-TTL";
const OPERATION: &str = "KV-Operation";
/// How long the note is kept that a lease was given back.
const NOTE_TTL: &str = "1s";
const PAUSE: Duration = Duration::from_millis(50);
/// How long a request is tried.
const PATIENCE: Duration = Duration::from_secs(10);

/// The value of a key.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Value {
    holder: String,
    /// Zero in the message that took the lease, whose position it is.
    generation: u64,
    /// Identifies the message.
    id: RecordId,
}

/// A lease as it is in the bucket.
#[derive(Debug)]
struct Found {
    /// The position of its last message; zero if there is none.
    revision: u64,
    /// Who has it; none if it was given back, or never taken.
    value: Option<Value>,
}

impl Found {
    fn generation(&self) -> u64 {
        self.value
            .as_ref()
            .map_or(0, |value| if value.generation == 0 { self.revision } else { value.generation })
    }
}

fn headers(ttl: &str, operation: Option<&str>) -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert(TTL, ttl);
    if let Some(operation) = operation {
        headers.insert(OPERATION, operation);
    }
    headers
}

/// Servers count whole seconds.
fn whole_seconds(ttl: Duration) -> u64 {
    ttl.as_secs() + u64::from(ttl.subsec_nanos() > 0)
}

impl Core {
    async fn found_lease(&self, name: &str) -> Result<Found, StoreError> {
        let Some(message) = request::last(&self.leases, &self.names.lease(name)).await? else {
            return Ok(Found { revision: 0, value: None });
        };
        let is_gone = message.headers.get(OPERATION).is_some();
        let value = if is_gone {
            None
        } else {
            let value = serde_json::from_slice(&message.payload);
            Some(value.map_err(|error| StoreError::Unavailable {
                detail: format!("a lease is damaged: {error}"),
            })?)
        };
        Ok(Found { revision: message.sequence, value })
    }

    async fn put_lease(
        &self,
        name: &str,
        value: &Value,
        ttl: Duration,
        expected: u64,
    ) -> Result<Sent, StoreError> {
        let payload = serde_json::to_vec(value).map_err(|error| StoreError::Invalid(error.to_string()))?;
        let headers = headers(&format!("{}s", whole_seconds(ttl)), None);
        Ok(request::send(&self.client, self.names.lease(name), headers, Bytes::from(payload), Some(expected))
            .await)
    }

    pub(crate) async fn acquire(&self, request: LeaseRequest) -> Result<Acquired, StoreError> {
        request.check()?;
        let LeaseRequest { name, holder, ttl } = request;
        let value = Value { holder: holder.clone(), generation: 0, id: RecordId::random() };
        let started = Instant::now();
        let mut detail = String::new();
        while started.elapsed() < PATIENCE {
            let found = match self.found_lease(&name).await {
                Ok(found) => found,
                Err(StoreError::Unavailable { detail: reason }) => {
                    detail = reason;
                    tokio::time::sleep(PAUSE).await;
                    continue;
                }
                Err(error) => return Err(error),
            };
            let generation = found.generation();
            match found.value {
                // Stored by a message whose acknowledgement was lost.
                Some(kept) if kept.id == value.id => {
                    let revision = found.revision;
                    return Ok(Acquired::Granted(Lease { name, holder, generation, ttl, revision }));
                }
                Some(kept) => return Ok(Acquired::Held { holder: kept.holder, generation }),
                None => {}
            }
            match self.put_lease(&name, &value, ttl, found.revision).await? {
                Sent::Stored(position) => {
                    return Ok(Acquired::Granted(Lease {
                        name,
                        holder,
                        generation: position,
                        ttl,
                        revision: position,
                    }));
                }
                Sent::Refused => {}
                Sent::Rejected(error) => return Err(error),
                Sent::NoAnswer(reason) => detail = reason,
            }
            tokio::time::sleep(PAUSE).await;
        }
        // It may have been granted; then it ends by itself.
        Err(StoreError::Unavailable { detail })
    }

    pub(crate) async fn renew(&self, lease: Lease) -> Result<Lease, StoreError> {
        let lost = || StoreError::LeaseLost { name: lease.name.clone(), generation: lease.generation };
        let value =
            Value { holder: lease.holder.clone(), generation: lease.generation, id: RecordId::random() };
        let mut expected = lease.revision;
        let started = Instant::now();
        loop {
            let detail = match self.put_lease(&lease.name, &value, lease.ttl, expected).await? {
                Sent::Stored(revision) => return Ok(Lease { revision, ..lease }),
                Sent::Rejected(error) => return Err(error),
                Sent::Refused => "refused".to_owned(),
                Sent::NoAnswer(reason) => reason,
            };
            // A lease that has ended meanwhile is of no use, whatever the servers say.
            if started.elapsed() >= lease.ttl {
                return Err(StoreError::Unavailable { detail });
            }
            match self.found_lease(&lease.name).await {
                Ok(found) if found.value.as_ref().is_some_and(|kept| kept.id == value.id) => {
                    return Ok(Lease { revision: found.revision, ..lease });
                }
                // Still the holder: by this renewal's predecessor, if an acknowledgement was lost.
                Ok(found) if found.value.is_some() && found.generation() == lease.generation => {
                    expected = found.revision;
                }
                Ok(_) => return Err(lost()),
                Err(_) => {}
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    pub(crate) async fn release(&self, lease: Lease) -> Result<(), StoreError> {
        let started = Instant::now();
        loop {
            let found = self.found_lease(&lease.name).await;
            let detail = match found {
                Ok(found) if found.value.is_none() || found.generation() != lease.generation => return Ok(()),
                Ok(found) => {
                    let headers = headers(NOTE_TTL, Some("DEL"));
                    let subject = self.names.lease(&lease.name);
                    match request::send(&self.client, subject, headers, Bytes::new(), Some(found.revision))
                        .await
                    {
                        Sent::Stored(_) => return Ok(()),
                        Sent::Rejected(error) => return Err(error),
                        Sent::Refused => "refused".to_owned(),
                        Sent::NoAnswer(reason) => reason,
                    }
                }
                Err(error) => error.to_string(),
            };
            if started.elapsed() >= PATIENCE.min(lease.ttl) {
                return Err(StoreError::Unavailable { detail });
            }
            tokio::time::sleep(PAUSE).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_rounded_up() {
        for (milliseconds, seconds) in [(1, 1), (1_000, 1), (1_001, 2), (59_999, 60)] {
            assert_eq!(whole_seconds(Duration::from_millis(milliseconds)), seconds);
        }
    }

    #[test]
    fn the_first_message_is_the_generation() {
        let value = |generation| Value { holder: "a".to_owned(), generation, id: RecordId::random() };
        assert_eq!(Found { revision: 7, value: Some(value(0)) }.generation(), 7);
        assert_eq!(Found { revision: 9, value: Some(value(7)) }.generation(), 7);
        assert_eq!(Found { revision: 9, value: None }.generation(), 0);
    }
}
