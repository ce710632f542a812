//! The models that the server offers.

use serde_json::{Value, json};

/// The body of `GET /v1/models`.
pub fn models<'a>(names: impl IntoIterator<Item = &'a str>, created: i64) -> Value {
    let data: Vec<Value> = names.into_iter().map(|name| model(name, created)).collect();
    json!({"object": "list", "data": data})
}

/// The body of `GET /v1/models/{model}`.
pub fn model(name: &str, created: i64) -> Value {
    json!({"id": name, "object": "model", "created": created, "owned_by": "anthropic"})
}
