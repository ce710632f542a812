//! A hash over length-prefixed pieces, so that different lists of pieces never collide by concatenation.

use sha2::{Digest as _, Sha256};

#[derive(Debug)]
pub(crate) struct Hash(Sha256);

impl Hash {
    /// A hash of this kind: hashes of different kinds are never equal.
    pub(crate) fn new(kind: &str) -> Self {
        let mut hash = Self(Sha256::new());
        hash.text(kind);
        hash
    }

    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        self.0.update((bytes.len() as u64).to_le_bytes());
        self.0.update(bytes);
    }

    pub(crate) fn text(&mut self, text: &str) {
        self.bytes(text.as_bytes());
    }

    pub(crate) fn number(&mut self, number: usize) {
        self.0.update((number as u64).to_le_bytes());
    }

    /// An optional text; a missing one differs from an empty one.
    pub(crate) fn option(&mut self, text: Option<&str>) {
        self.number(usize::from(text.is_some()));
        self.text(text.unwrap_or_default());
    }

    pub(crate) fn finish(self) -> String {
        self.0.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
    }
}
