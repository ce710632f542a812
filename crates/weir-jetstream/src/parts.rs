//! What is too large for a message, or belongs to a session apart from its log: bodies, checkpoints and blobs, in parts.
//!
//! Parts are stored before what names them, under a new id, and are never changed. So what is named is complete.

use async_nats::HeaderMap;
use bytes::{Bytes, BytesMut};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use weir_store::{Checkpoint, CheckpointQuery, SessionId, StoreError, check_name};

use crate::core::Core;
use crate::headers::Parts;
use crate::record::RecordId;
use crate::request::{self, Sent};

/// The largest payload of a message: 512 KB with its headers, where servers take one megabyte by default.
pub(crate) const MAX_PART: usize = 480 << 10;
/// How often a part, or the list of parts, is tried.
const TRIES: usize = 10;

/// What belongs to a session apart from its log.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Index {
    #[serde(default)]
    checkpoints: Vec<KeptCheckpoint>,
    #[serde(default)]
    blobs: Vec<KeptBlob>,
}

#[derive(Debug, Serialize, Deserialize)]
struct KeptCheckpoint {
    seq: u64,
    version: String,
    mark: u64,
    place: Place,
}

#[derive(Debug, Serialize, Deserialize)]
struct KeptBlob {
    name: String,
    place: Place,
}

/// Where data is.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Place {
    id: RecordId,
    parts: usize,
    digest: String,
}

/// The parts of a body. One is enough for an empty one.
pub(crate) fn describe(body: &[u8]) -> Parts {
    let digest = Sha256::digest(body).iter().map(|byte| format!("{byte:02x}")).collect();
    Parts { count: body.len().div_ceil(MAX_PART).max(1), digest }
}

impl Core {
    /// Stores a body in parts. If it fails, nothing names the parts.
    pub(crate) async fn put_parts(
        &self,
        born: RecordId,
        id: RecordId,
        body: &Bytes,
    ) -> Result<Parts, StoreError> {
        let parts = describe(body);
        for number in 0..parts.count {
            let from = number * MAX_PART;
            let part = body.slice(from..body.len().min(from + MAX_PART));
            self.put_part(self.names.part(born, id, number), part, None).await?;
        }
        Ok(parts)
    }

    /// Stores a message until that is acknowledged. Storing it twice does no harm, unless something is expected: then
    /// false says that the expectation was wrong.
    async fn put_part(
        &self,
        subject: String,
        part: Bytes,
        expected: Option<u64>,
    ) -> Result<bool, StoreError> {
        let mut detail = String::new();
        for _ in 0..TRIES {
            match request::send(&self.client, subject.clone(), HeaderMap::new(), part.clone(), expected).await
            {
                Sent::Stored(_) => return Ok(true),
                // Perhaps by an earlier copy of this one, which changes nothing: it is tried again from the beginning.
                Sent::Refused => return Ok(false),
                Sent::Rejected(error) => return Err(error),
                Sent::NoAnswer(reason) => detail = reason,
            }
            tokio::time::sleep(std::time::Duration::from_millis(100)).await;
        }
        Err(StoreError::Unavailable { detail })
    }

    pub(crate) async fn get_parts(
        &self,
        born: RecordId,
        id: RecordId,
        parts: &Parts,
    ) -> Result<Bytes, StoreError> {
        let damaged =
            |what: &str| StoreError::Unavailable { detail: format!("a stored payload is damaged: {what}") };
        let mut body = BytesMut::new();
        for number in 0..parts.count {
            let part = request::last(&self.parts, &self.names.part(born, id, number)).await?;
            let part = part.ok_or_else(|| damaged("a part is missing"))?;
            body.extend_from_slice(&part.payload);
        }
        if describe(&body).digest == parts.digest {
            Ok(body.freeze())
        } else {
            Err(damaged("its digest is different"))
        }
    }

    /// Removes what nothing names any more. What cannot be removed now takes space, and nothing else.
    async fn drop_parts(&self, filter: String) {
        if let Err(error) = self.parts.purge().filter(filter).await {
            tracing::warn!("cannot free space in {}: {error}", self.names.part_stream());
        }
    }

    /// Removes all that belongs to a session that was deleted.
    pub(crate) async fn drop_all_parts(&self, born: RecordId) {
        self.drop_parts(self.names.parts_of(born)).await;
    }

    async fn index(&self, born: RecordId) -> Result<(u64, Index), StoreError> {
        let Some(message) = request::last(&self.parts, &self.names.index(born)).await? else {
            return Ok((0, Index::default()));
        };
        let index = serde_json::from_slice(&message.payload);
        let index = index
            .map_err(|error| StoreError::Unavailable { detail: format!("an index is damaged: {error}") })?;
        Ok((message.sequence, index))
    }

    /// Stores data, and lists it. `change` puts it into the list and returns what it replaces.
    async fn keep(
        &self,
        session: &SessionId,
        data: Vec<u8>,
        mut change: impl FnMut(&mut Index, Place) -> Vec<Place>,
    ) -> Result<(), StoreError> {
        let born = self.alive(session).await?.placed.head.born;
        let id = RecordId::random();
        let parts = self.put_parts(born, id, &Bytes::from(data)).await?;
        let place = Place { id, parts: parts.count, digest: parts.digest };
        // Of all tries: the list may be stored by one whose acknowledgement was lost.
        let mut replaced = Vec::new();
        for _ in 0..TRIES {
            let (revision, mut index) = self.index(born).await?;
            replaced.extend(change(&mut index, place.clone()));
            let text = serde_json::to_vec(&index).map_err(|error| StoreError::Invalid(error.to_string()))?;
            if self.put_part(self.names.index(born), Bytes::from(text), Some(revision)).await? {
                for old in replaced.iter().filter(|old| old.id != id) {
                    self.drop_parts(self.names.parts(born, old.id)).await;
                }
                return Ok(());
            }
        }
        Err(StoreError::Unavailable {
            detail: "the list of a session's files changes all the time".to_owned(),
        })
    }

    async fn fetch(&self, born: RecordId, place: &Place) -> Result<Vec<u8>, StoreError> {
        let parts = Parts { count: place.parts, digest: place.digest.clone() };
        Ok(self.get_parts(born, place.id, &parts).await?.to_vec())
    }

    pub(crate) async fn save_checkpoint(
        &self,
        session: &SessionId,
        checkpoint: Checkpoint,
    ) -> Result<(), StoreError> {
        let Checkpoint { seq, version, mark, data } = checkpoint;
        self.keep(session, data, |index, place| {
            let is_replaced = |kept: &mut KeptCheckpoint| kept.version != version || kept.seq == seq;
            let replaced = index.checkpoints.extract_if(.., is_replaced).map(|kept| kept.place).collect();
            index.checkpoints.push(KeptCheckpoint { seq, version: version.clone(), mark, place });
            replaced
        })
        .await
    }

    pub(crate) async fn checkpoint(&self, query: CheckpointQuery) -> Result<Option<Checkpoint>, StoreError> {
        let born = match self.alive(&query.session).await {
            Ok(last) => last.placed.head.born,
            Err(StoreError::NotFound(_)) => return Ok(None),
            Err(error) => return Err(error),
        };
        let index = self.index(born).await?.1;
        let candidates = index.checkpoints.into_iter().filter_map(|kept| {
            let KeptCheckpoint { seq, version, mark, place } = kept;
            let checkpoint = Checkpoint { seq, version, mark, data: Vec::new() };
            query.matches(&checkpoint).then_some((checkpoint, place))
        });
        let Some((checkpoint, place)) = candidates.max_by_key(|(checkpoint, _)| checkpoint.seq) else {
            return Ok(None);
        };
        Ok(Some(Checkpoint { data: self.fetch(born, &place).await?, ..checkpoint }))
    }

    pub(crate) async fn put_blob(
        &self,
        session: &SessionId,
        name: String,
        data: Vec<u8>,
    ) -> Result<(), StoreError> {
        check_name("blob", &name)?;
        self.keep(session, data, |index, place| {
            let replaced =
                index.blobs.extract_if(.., |kept| kept.name == name).map(|kept| kept.place).collect();
            index.blobs.push(KeptBlob { name: name.clone(), place });
            replaced
        })
        .await
    }

    pub(crate) async fn blob(&self, session: &SessionId, name: &str) -> Result<Option<Vec<u8>>, StoreError> {
        let born = self.alive(session).await?.placed.head.born;
        let index = self.index(born).await?.1;
        match index.blobs.iter().find(|kept| kept.name == name) {
            Some(kept) => Ok(Some(self.fetch(born, &kept.place).await?)),
            None => Ok(None),
        }
    }
}
