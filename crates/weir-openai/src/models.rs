//! The list of models.

use serde_json::{Value, json};

/// The body of `GET /v1/models`.
pub fn models<'a>(names: impl IntoIterator<Item = &'a str>, created: i64) -> Value {
    let model =
        |name: &str| json!({"id": name, "object": "model", "created": created, "owned_by": "anthropic"});
    let data: Vec<Value> = names.into_iter().map(model).collect();
    json!({"object": "list", "data": data})
}
