//! Builds JSON objects from pieces that are already JSON.

use weir_wire::RawJson;

/// An object under construction.
pub(super) struct Object {
    bytes: Vec<u8>,
}

impl Object {
    pub(super) fn new() -> Self {
        Self { bytes: vec![b'{'] }
    }

    pub(super) fn with(kind: &str) -> Self {
        Self::new().text("type", kind)
    }

    pub(super) fn system(subtype: &str) -> Self {
        Self::with("system").text("subtype", subtype)
    }

    /// Writes a key verbatim: it must be given without quotes but already escaped.
    fn key(&mut self, escaped: &[u8]) {
        if self.bytes.len() > 1 {
            self.bytes.push(b',');
        }
        self.bytes.push(b'"');
        self.bytes.extend_from_slice(escaped);
        self.bytes.extend_from_slice(b"\":");
    }

    pub(super) fn escaped_key(mut self, key: &[u8], value: RawJson<'_>) -> Self {
        self.key(key);
        self.bytes.extend_from_slice(value.bytes());
        self
    }

    pub(super) fn json(self, key: &str, value: RawJson<'_>) -> Self {
        self.escaped_key(key.as_bytes(), value)
    }

    pub(super) fn text(self, key: &str, value: &str) -> Self {
        self.value(key, &serde_json::Value::from(value))
    }

    pub(super) fn value(mut self, key: &str, value: &serde_json::Value) -> Self {
        self.key(key.as_bytes());
        self.bytes.extend_from_slice(value.to_string().as_bytes());
        self
    }

    pub(super) fn optional_text(self, key: &str, value: Option<&str>) -> Self {
        match value {
            Some(value) => self.text(key, value),
            None => self,
        }
    }

    pub(super) fn optional_json(self, key: &str, value: Option<RawJson<'_>>) -> Self {
        match value {
            Some(value) => self.json(key, value),
            None => self,
        }
    }

    pub(super) fn end(mut self) -> Vec<u8> {
        self.bytes.push(b'}');
        self.bytes
    }
}
