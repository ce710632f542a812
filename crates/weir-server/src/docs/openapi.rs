//! What all operations have in common: authentication, and common errors.

use serde::Serialize;
use serde_json::{Map, Value, json};
use weir_transcript::{Cost, ModelCost, Oddities, Output, Session, TokenUsage, TurnResult, View};

use crate::api::document;
use crate::problem;

/// The OpenAPI document as JSON, for a server with this base path.
pub fn openapi(base_path: &str) -> String {
    // A derived document always serializes.
    let mut document = serde_json::to_value(document()).unwrap_or_default();
    let address = if base_path.is_empty() { "/" } else { base_path };
    insert(&mut document, "servers", json!([{"url": address}]));
    insert(&mut document, "security", json!([{"token": []}]));
    if let Some(components) = document.get_mut("components") {
        let scheme = json!({"token": {"type": "http", "scheme": "bearer"}});
        insert(components, "securitySchemes", scheme);
        if let Some(schemas) = components.get_mut("schemas").and_then(Value::as_object_mut) {
            always_written(schemas);
            join_parts(schemas, "CreateSession");
            // Nothing refers to it any more.
            schemas.remove("SessionSpec");
        }
    }
    let paths = document.get_mut("paths").and_then(Value::as_object_mut);
    for item in paths.into_iter().flat_map(Map::values_mut) {
        for operation in item.as_object_mut().into_iter().flat_map(Map::values_mut) {
            name(operation);
            plain_stream(operation);
            openai_problems(operation);
            common_problems(operation);
        }
    }
    unsigned(&mut document);
    serde_json::to_string_pretty(&document).unwrap_or_default()
}

/// Marks numbers that are never negative as unsigned: their range is larger than the derived format says.
fn unsigned(value: &mut Value) {
    let is_unsigned = value.get("minimum").and_then(Value::as_u64).is_some();
    match value {
        Value::Object(members) => {
            if let Some(Value::String(format)) = members.get_mut("format").filter(|_| is_unsigned)
                && matches!(format.as_str(), "int32" | "int64")
            {
                format.insert(0, 'u');
            }
            members.values_mut().for_each(unsigned);
        }
        Value::Array(items) => items.iter_mut().for_each(unsigned),
        _ => {}
    }
}

/// Joins a schema that consists of several objects, because its type has a part of its own, into one that says that
/// there are no other fields.
fn join_parts(schemas: &mut Map<String, Value>, name: &str) {
    let Some(parts) = schemas.get(name).and_then(|schema| schema.get("allOf")).and_then(Value::as_array)
    else {
        return;
    };
    let mut joined = Map::new();
    let (mut properties, mut required) = (Map::new(), Vec::new());
    for part in parts {
        let target = part.get("$ref").and_then(Value::as_str).and_then(|path| path.rsplit('/').next());
        let part = target.and_then(|target| schemas.get(target)).unwrap_or(part);
        properties.extend(part.get("properties").and_then(Value::as_object).cloned().unwrap_or_default());
        required.extend(list(part, "/required").iter().cloned());
    }
    let description = schemas.get(name).map(|schema| text(schema, "/description").to_owned());
    joined.insert("type".to_owned(), "object".into());
    joined.insert("description".to_owned(), description.into());
    joined.insert("properties".to_owned(), properties.into());
    joined.insert("required".to_owned(), required.into());
    joined.insert("additionalProperties".to_owned(), false.into());
    schemas.insert(name.to_owned(), joined.into());
}

/// The text at a JSON pointer; empty if there is none.
pub(super) fn text<'v>(value: &'v Value, place: &str) -> &'v str {
    value.pointer(place).and_then(Value::as_str).unwrap_or_default()
}

/// The list at a JSON pointer; empty if there is none.
pub(super) fn list<'v>(value: &'v Value, place: &str) -> &'v [Value] {
    value.pointer(place).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn insert(object: &mut Value, name: &str, value: Value) {
    if let Some(object) = object.as_object_mut() {
        object.insert(name.to_owned(), value);
    }
}

/// Handler names are only unique within their module; operation ids must be unique.
fn name(operation: &mut Value) {
    let name = text(operation, "/operationId");
    let family = text(operation, "/tags/0");
    let name = json!(format!("{family}_{name}"));
    insert(operation, "operationId", name);
}

/// Removes the schema of a stream: tools would validate each event against it.
fn plain_stream(operation: &mut Value) {
    if let Some(stream) = operation.pointer_mut("/responses/200/content/text~1event-stream") {
        *stream = json!({});
    }
}

/// Adds the errors of the OpenAI-compatible routes. Requests refused before they are read get the usual problems.
fn openai_problems(operation: &mut Value) {
    if text(operation, "/tags/0") != "openai" {
        return;
    }
    let takes_work = operation.get("requestBody").is_some();
    let has_path = list(operation, "/parameters").iter().any(|parameter| text(parameter, "/in") == "path");
    let Some(responses) = operation.get_mut("responses").and_then(Value::as_object_mut) else { return };
    let mut add = |status: &str, description: &str| {
        let schema = |name: &str| json!({"schema": {"$ref": format!("#/components/schemas/{name}")}});
        let content =
            json!({"application/json": schema("OpenAiProblem"), (problem::MEDIA_TYPE): schema("Problem")});
        responses.insert(status.to_owned(), json!({"description": description, "content": content}));
    };
    add("401", "The token is missing or invalid.");
    add("403", "The request came from a page of another origin, or the token may not do this.");
    add("429", "Too many requests, the server is busy, or a budget is spent.");
    add("500", "Internal server error.");
    add("503", "The model is overloaded, or the server is shutting down.");
    if has_path || takes_work {
        add("404", "No such model, session or response.");
    }
    if takes_work {
        add("400", "The request cannot be understood or honoured; `param` says where.");
        add("413", "The body is too large.");
        add("502", "The agent could not answer.");
        add("504", "The agent took too long.");
    }
}

/// Adds the errors that every operation can return.
fn common_problems(operation: &mut Value) {
    let is_open = operation.get("security").is_some_and(|security| *security == json!([{}]));
    let takes =
        |place: &str| list(operation, "/parameters").iter().any(|parameter| text(parameter, "/in") == place);
    let (has_path, has_query) = (takes("path"), takes("query"));
    let has_body = operation.get("requestBody").is_some();
    let Some(responses) = operation.get_mut("responses").and_then(Value::as_object_mut) else { return };
    let mut add = |status: &str, description: &str| {
        let schema = json!({"schema": {"$ref": "#/components/schemas/Problem"}});
        let response = json!({"description": description, "content": {(problem::MEDIA_TYPE): schema}});
        responses.entry(status).or_insert(response);
    };
    add("400", "The request cannot be understood.");
    add("403", "The request came from a page of another origin, or the token may not do this.");
    add("408", "The request took too long.");
    add("421", "The server does not answer to this host name.");
    add("500", "Internal server error.");
    if is_open {
        return;
    }
    add("401", "The token is missing or invalid.");
    add("429", "Too many requests.");
    add("503", "The server is too busy, or shutting down.");
    if has_query {
        add("422", "A value in the query is invalid.");
    }
    if has_path {
        add("404", "Not found, or not visible to this token.");
        add("409", "The request conflicts with the current state.");
        add("502", "The CLI failed to do it.");
    }
    if has_body {
        add("409", "The request conflicts with the current state.");
        add("413", "The body is too large.");
        add("415", "The body is not JSON.");
        add("422", "A value in the body is invalid.");
    }
}

/// Marks fields that are always present as required. Types that can be read with missing fields derive none as
/// required; serializing their default shows which ones are.
fn always_written(schemas: &mut Map<String, Value>) {
    let mut mark = |name: &str, written: &dyn Fn() -> Value| {
        let Value::Object(written) = written() else { return };
        let names: Vec<&String> = written.keys().collect();
        if let Some(schema) = schemas.get_mut(name) {
            insert(schema, "required", json!(names));
        }
    };
    mark("View", &default::<View>);
    mark("Session", &default::<Session>);
    mark("Cost", &default::<Cost>);
    mark("ModelCost", &default::<ModelCost>);
    mark("Oddities", &default::<Oddities>);
    mark("Output", &default::<Output>);
    mark("TurnResult", &default::<TurnResult>);
    mark("TokenUsage", &default::<TokenUsage>);
}

fn default<T: Default + Serialize>() -> Value {
    serde_json::to_value(T::default()).unwrap_or_default()
}
