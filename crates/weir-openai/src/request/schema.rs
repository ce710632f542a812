//! JSON Schemas for the CLI. It supports draft 07 and silently ignores a schema with an unknown keyword. Clients send
//! newer drafts and custom keywords.

use serde_json::{Map, Value};

/// Converts a schema to draft 07. Unsupported keywords are dropped, which allows more and never less.
pub(super) fn tidy(schema: &Value) -> Value {
    let Value::Object(members) = schema else { return schema.clone() };
    let mut tidied = Map::new();
    for (name, value) in members {
        let kept = match name.as_str() {
            "properties" | "patternProperties" | "$defs" | "definitions" => each_member(value),
            "allOf" | "anyOf" | "oneOf" => each_item(value),
            "items" if value.is_array() => each_item(value),
            // With `prefixItems` this applies to the items after those.
            "items" if members.contains_key("prefixItems") => continue,
            "items"
            | "additionalItems"
            | "additionalProperties"
            | "not"
            | "if"
            | "then"
            | "else"
            | "contains"
            | "propertyNames" => tidy(value),
            "type" | "enum" | "const" | "title" | "description" | "default" | "examples" | "format"
            | "pattern" | "minLength" | "maxLength" | "minimum" | "maximum" | "exclusiveMinimum"
            | "exclusiveMaximum" | "multipleOf" | "minItems" | "maxItems" | "uniqueItems"
            | "minProperties" | "maxProperties" | "required" | "$ref" | "$comment" => value.clone(),
            "prefixItems" => {
                tidied.insert("items".to_owned(), each_item(value));
                if let Some(rest) = members.get("items").filter(|rest| !rest.is_array()) {
                    tidied.insert("additionalItems".to_owned(), tidy(rest));
                }
                continue;
            }
            _ => continue,
        };
        tidied.insert(name.clone(), kept);
    }
    Value::Object(tidied)
}

fn each_item(value: &Value) -> Value {
    match value {
        Value::Array(items) => items.iter().map(tidy).collect(),
        other => other.clone(),
    }
}

fn each_member(value: &Value) -> Value {
    match value {
        Value::Object(members) => {
            Value::Object(members.iter().map(|(name, value)| (name.clone(), tidy(value))).collect())
        }
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::tidy;
    use serde_json::json;

    #[test]
    fn keywords_known_to_the_cli_are_kept() {
        let schema = json!({"type": "object", "title": "P", "required": ["name"], "additionalProperties": false,
            "properties": {"name": {"type": ["string", "null"], "minLength": 1, "format": "email"},
                "discriminator": {"anyOf": [{"$ref": "#/$defs/N"}, {"const": 1}]}, "list": {"type": "array", "items": {"type": "string"}}},
            "$defs": {"N": {"type": "integer", "default": 3}}});
        assert_eq!(tidy(&schema), schema);
    }

    /// Each of these made 2.1.325 ignore the whole schema.
    #[test]
    fn keywords_unknown_to_the_cli_are_dropped() {
        let schema = json!({"$schema": "https://json-schema.org/draft/2020-12/schema", "strict": true, "type": "object",
        "properties": {
            "x-name": {"type": "string", "x-order": 1},
            "kind": {"oneOf": [{"type": "string", "nullable": true}], "discriminator": {"propertyName": "k"}},
            "pair": {"type": "array", "prefixItems": [{"type": "string", "x-a": 1}, {"type": "integer"}], "items": false, "minItems": 2},
        }});
        let tidied = json!({"type": "object", "properties": {
            "x-name": {"type": "string"},
            "kind": {"oneOf": [{"type": "string"}]},
            "pair": {"type": "array", "items": [{"type": "string"}, {"type": "integer"}], "additionalItems": false, "minItems": 2},
        }});
        assert_eq!(tidy(&schema), tidied);
    }
}
