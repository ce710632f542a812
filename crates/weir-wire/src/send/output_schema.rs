//! The JSON Schema that an answer must match. The CLI supports draft 07 in Ajv's strict mode and silently ignores a whole
//! schema in which it does not accept something: the answer is then any text. So a schema is tidied before it is sent, and
//! callers refuse those that are wrong.

use serde_json::{Map, Value};

const TYPES: &[&str] = &["array", "boolean", "integer", "null", "number", "object", "string"];

/// Converts a schema to what the CLI accepts. Keywords that it does not support, or that mean nothing where they are, are
/// dropped, which allows more and never less.
pub fn tidy(schema: &Value) -> Value {
    let Value::Object(members) = schema else { return schema.clone() };
    let has = |name: &str| members.contains_key(name);
    let mut tidied = Map::new();
    for (name, value) in members {
        let kept = match name.as_str() {
            "properties" | "patternProperties" | "$defs" | "definitions" => each_member(value),
            "allOf" | "anyOf" | "oneOf" => each_item(value),
            "items" if value.is_array() => each_item(value),
            // With `prefixItems` this applies to the items after those.
            "items" if has("prefixItems") => continue,
            "additionalItems" if !members.get("items").is_some_and(Value::is_array) => continue,
            "then" | "else" if !has("if") => continue,
            "if" if !has("then") && !has("else") => continue,
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

/// Why the CLI or the model's API would not accept a schema, once tidied; `None` if nothing is known against it.
pub fn problem(schema: &Value) -> Option<String> {
    let root = tidy(schema);
    if root.get("type").is_none_or(|kind| kind != "object") {
        return Some(
            "the answer is the input of a tool, so the schema must have \"type\": \"object\"".to_owned(),
        );
    }
    Checked { root: &root }.schema(&root, "").err()
}

struct Checked<'s> {
    root: &'s Value,
}

type Verdict = Result<(), String>;

impl Checked<'_> {
    fn schema(&self, schema: &Value, at: &str) -> Verdict {
        match schema {
            Value::Bool(_) => Ok(()),
            Value::Object(members) => {
                members.iter().try_for_each(|(name, value)| self.member(name, value, &inside(at, name)))
            }
            _ => wrong(at, "must be a schema"),
        }
    }

    fn member(&self, name: &str, value: &Value, at: &str) -> Verdict {
        match name {
            "properties" | "$defs" | "definitions" => self.named(value, at),
            "patternProperties" => {
                value.as_object().into_iter().flatten().try_for_each(|(name, _)| pattern(name, at))?;
                self.named(value, at)
            }
            "allOf" | "anyOf" | "oneOf" => match value.as_array() {
                Some(all) if !all.is_empty() => self.listed(all, at),
                _ => wrong(at, "must be a list of schemas that is not empty"),
            },
            "items" if let Some(all) = value.as_array() => self.listed(all, at),
            "items"
            | "additionalItems"
            | "additionalProperties"
            | "not"
            | "if"
            | "then"
            | "else"
            | "contains"
            | "propertyNames" => self.schema(value, at),
            "type" => types(value, at),
            "enum" => match value.as_array() {
                Some(all) if !all.is_empty() && are_different(all) => Ok(()),
                _ => wrong(at, "must be a list of different values that is not empty"),
            },
            "required" => match value.as_array() {
                Some(all) if all.iter().all(Value::is_string) && are_different(all) => Ok(()),
                _ => wrong(at, "must be a list of different names"),
            },
            "minLength" | "maxLength" | "minItems" | "maxItems" | "minProperties" | "maxProperties" => {
                let is_count = value.is_u64() || value.as_f64().is_some_and(|n| n >= 0.0 && n.fract() == 0.0);
                expect(is_count, at, "must be a whole number that is not negative")
            }
            "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" => {
                expect(value.is_number(), at, "must be a number")
            }
            "multipleOf" => {
                expect(value.as_f64().is_some_and(|n| n > 0.0), at, "must be a number above zero")
            }
            "uniqueItems" => expect(value.is_boolean(), at, "must be true or false"),
            "examples" => expect(value.is_array(), at, "must be a list"),
            "title" | "description" | "format" | "$comment" => {
                expect(value.is_string(), at, "must be a string")
            }
            "pattern" => match value.as_str() {
                Some(text) => pattern(text, at),
                None => wrong(at, "must be a string"),
            },
            "$ref" => self.reference(value, at),
            _ => Ok(()),
        }
    }

    fn named(&self, value: &Value, at: &str) -> Verdict {
        let Some(members) = value.as_object() else { return wrong(at, "must be an object of schemas") };
        members.iter().try_for_each(|(name, schema)| self.schema(schema, &inside(at, name)))
    }

    fn listed(&self, all: &[Value], at: &str) -> Verdict {
        all.iter()
            .enumerate()
            .try_for_each(|(place, schema)| self.schema(schema, &inside(at, &place.to_string())))
    }

    /// A reference must lead to another part of the same schema: nothing else is ever loaded.
    fn reference(&self, value: &Value, at: &str) -> Verdict {
        let Some(pointer) = value.as_str().and_then(|text| text.strip_prefix('#')) else {
            return wrong(at, "must be a reference inside this schema, such as #/$defs/name");
        };
        let is_there = self
            .root
            .pointer(&percent_decoded(pointer))
            .is_some_and(|found| found.is_object() || found.is_boolean());
        expect(is_there, at, "refers to something that is not in this schema")
    }
}

fn inside(at: &str, name: &str) -> String {
    if at.is_empty() { name.to_owned() } else { format!("{at}.{name}") }
}

fn wrong(at: &str, what: &str) -> Verdict {
    Err(format!("{} {what}", if at.is_empty() { "the schema" } else { at }))
}

fn expect(holds: bool, at: &str, what: &str) -> Verdict {
    if holds { Ok(()) } else { wrong(at, what) }
}

fn types(value: &Value, at: &str) -> Verdict {
    let is_type = |value: &Value| value.as_str().is_some_and(|name| TYPES.contains(&name));
    let is_valid = match value {
        Value::Array(all) => !all.is_empty() && all.iter().all(is_type) && are_different(all),
        one => is_type(one),
    };
    expect(is_valid, at, "must be a type of JSON, or a list of different ones")
}

fn are_different(values: &[Value]) -> bool {
    let mut seen = std::collections::BTreeSet::new();
    values.iter().all(|value| seen.insert(value.to_string()))
}

/// Finds the mistakes that make a regular expression meaningless in every dialect. Others are left to the CLI.
fn pattern(text: &str, at: &str) -> Verdict {
    let mut depth = 0_usize;
    let mut is_in_class = false;
    let mut can_repeat = false;
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        match character {
            '\\' if characters.next().is_none() => return wrong(at, "ends in the middle of an escape"),
            '\\' => can_repeat = true,
            ']' if is_in_class => (is_in_class, can_repeat) = (false, true),
            _ if is_in_class => {}
            '[' => is_in_class = true,
            '(' => {
                depth += 1;
                can_repeat = false;
                // `(?:`, `(?=` and the like.
                let rest = characters.as_str();
                if rest.starts_with('?') {
                    characters.next();
                }
            }
            ')' if depth == 0 => return wrong(at, "has a ) too many"),
            ')' => (depth, can_repeat) = (depth - 1, true),
            '|' => can_repeat = false,
            '*' | '+' | '?' if !can_repeat => return wrong(at, "repeats nothing"),
            // A `?` may follow a repetition.
            '*' | '+' | '?' => {}
            _ => can_repeat = true,
        }
    }
    expect(depth == 0 && !is_in_class, at, "has a bracket that is not closed")
}

/// Decodes the escapes of a fragment of a URL.
fn percent_decoded(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut place = 0;
    while let Some(&byte) = bytes.get(place) {
        let escape = (byte == b'%').then(|| text.get(place + 1..place + 3)).flatten();
        match escape.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(meant) => {
                decoded.push(meant);
                place += 3;
            }
            None => {
                decoded.push(byte);
                place += 1;
            }
        }
    }
    String::from_utf8_lossy(&decoded).into_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn keywords_known_to_the_cli_are_kept() {
        let schema = json!({"type": "object", "title": "P", "required": ["name"], "additionalProperties": false,
            "properties": {"name": {"type": ["string", "null"], "minLength": 1, "format": "email"},
                "discriminator": {"anyOf": [{"$ref": "#/$defs/N"}, {"const": 1}]}, "list": {"type": "array", "items": {"type": "string"}}},
            "$defs": {"N": {"type": "integer", "default": 3}}});
        assert_eq!(tidy(&schema), schema);
        assert_eq!(problem(&schema), None);
    }

    /// Each of these made 2.1.325 ignore the whole schema.
    #[test]
    fn keywords_unknown_to_the_cli_are_dropped() {
        let schema = json!({"$schema": "https://json-schema.org/draft/2020-12/schema", "strict": true, "type": "object",
        "then": {"required": ["a"]}, "if": true,
        "properties": {
            "x-name": {"type": "string", "x-order": 1, "then": true},
            "kind": {"oneOf": [{"type": "string", "nullable": true}], "discriminator": {"propertyName": "k"}},
            "pair": {"type": "array", "prefixItems": [{"type": "string", "x-a": 1}, {"type": "integer"}], "items": false, "minItems": 2},
            "more": {"type": "array", "additionalItems": false, "if": {"minItems": 1}},
        }});
        let tidied = json!({"type": "object", "then": {"required": ["a"]}, "if": true, "properties": {
            "x-name": {"type": "string"},
            "kind": {"oneOf": [{"type": "string"}]},
            "pair": {"type": "array", "items": [{"type": "string"}, {"type": "integer"}], "additionalItems": false, "minItems": 2},
            "more": {"type": "array"},
        }});
        assert_eq!(tidy(&schema), tidied);
        assert_eq!(problem(&schema), None);
    }

    /// 2.1.325 ignored each of these. A schema that is not of type object is refused by the API.
    #[test]
    fn what_the_cli_would_ignore_is_a_problem() {
        for (name, part) in [
            ("type", json!("banana")),
            ("type", json!(["string", "string"])),
            ("properties", json!(5)),
            ("properties", json!({"a": "string"})),
            ("required", json!("a")),
            ("required", json!(["a", "a"])),
            ("enum", json!([])),
            ("enum", json!([1, 1])),
            ("pattern", json!("(")),
            ("pattern", json!("[a")),
            ("pattern", json!("*a")),
            ("pattern", json!("a)")),
            ("pattern", json!("a\\")),
            ("patternProperties", json!({"(": true})),
            ("$ref", json!("#/$defs/none")),
            ("$ref", json!("https://example.org/x")),
            ("minLength", json!(-1)),
            ("minItems", json!(1.5)),
            ("multipleOf", json!(0)),
            ("anyOf", json!([])),
            ("anyOf", json!({})),
            ("additionalProperties", json!("no")),
            ("title", json!(5)),
            ("$comment", json!(5)),
            ("uniqueItems", json!("yes")),
            ("items", json!([5])),
        ] {
            let schema = json!({"type": "object", "properties": {"a": {name: part}}});
            let why = problem(&schema).unwrap_or_else(|| panic!("{schema}"));
            assert!(why.starts_with(&format!("properties.a.{name}")), "{why}");
        }
        for schema in
            [json!({}), json!({"type": "array"}), json!({"type": "banana"}), json!(true), json!(null)]
        {
            assert!(problem(&schema).is_some_and(|why| why.contains("\"type\": \"object\"")), "{schema}");
        }
    }

    #[test]
    fn what_the_cli_accepts_is_not_a_problem() {
        for part in [
            json!(true),
            json!({}),
            json!({"$ref": "#"}),
            json!({"$ref": "#/$defs/%61~1b"}),
            json!({"$ref": "#/properties/a"}),
            json!({"minLength": 1}),
            json!({"maxItems": 2.0}),
            json!({"format": "strange"}),
            json!({"pattern": r"^(?:a|b)*?[\]()*]+(?=\)).*$"}),
            json!({"type": "array", "items": [{"type": "string"}]}),
        ] {
            let schema = json!({"type": "object", "properties": {"a": part}, "$defs": {"a/b": {}}});
            assert_eq!(problem(&schema), None, "{schema}");
        }
    }
}
