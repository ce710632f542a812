//! What a viewer gets, encoded once for all of them.

use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use serde::Serialize;
use weir_store::Cursor;
use weir_wire::TurnId;

/// Something that a viewer is told. Cloning it copies a pointer.
#[derive(Debug, Clone)]
pub struct Frame {
    inner: Arc<Inner>,
    /// The turn that it belongs to.
    turn: Option<TurnId>,
}

#[derive(Debug)]
struct Inner {
    event: &'static str,
    id: Option<Cursor>,
    data: Bytes,
    encoded: OnceLock<Bytes>,
}

impl Frame {
    pub(crate) fn new(event: &'static str, id: Option<Cursor>, data: impl Into<Bytes>) -> Self {
        let inner = Arc::new(Inner { event, id, data: data.into(), encoded: OnceLock::new() });
        Self { inner, turn: None }
    }

    /// The same, as a part of this turn.
    #[must_use]
    pub(crate) fn of_turn(mut self, turn: Option<TurnId>) -> Self {
        self.turn = turn;
        self
    }

    /// The turn that it belongs to; none for what belongs to none, and in the forms `view` and `raw`.
    pub(crate) fn turn(&self) -> Option<TurnId> {
        self.turn
    }

    /// A frame whose data is this value as JSON. Values of this crate always can be written as JSON.
    pub(crate) fn json(event: &'static str, id: Option<Cursor>, value: &impl Serialize) -> Self {
        Self::new(event, id, serde_json::to_vec(value).unwrap_or_default())
    }

    /// What happened: `hello`, `snapshot`, `changes`, `session`, `messages`, `line`, a name of a vocabulary,
    /// `heartbeat`, `bye`.
    pub fn event(&self) -> &'static str {
        self.inner.event
    }

    /// Where a viewer that has seen this goes on. Only what is in the log has one: previews have none.
    pub fn id(&self) -> Option<&Cursor> {
        self.inner.id.as_ref()
    }

    /// JSON in one line; for `line` what the CLI wrote, whatever that is.
    pub fn data(&self) -> &Bytes {
        &self.inner.data
    }

    /// The frame in the form of a transport, made by the first viewer who needs it and shared by the others. All
    /// callers must pass the same function.
    pub fn encoded(&self, encode: impl FnOnce(&Self) -> Bytes) -> Bytes {
        self.inner.encoded.get_or_init(|| encode(self)).clone()
    }

    /// What it costs to keep.
    pub(crate) fn size(&self) -> usize {
        self.inner.data.len() + size_of::<Inner>()
    }
}
