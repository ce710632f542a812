//! The documentation page: every operation with its parameters and responses, without scripts.

use std::fmt::Write as _;

use serde_json::Value;
use weir_base::html::escape;

const METHODS: [&str; 5] = ["get", "post", "put", "patch", "delete"];

/// Renders an OpenAPI document as a page.
pub(super) fn page(document: &str) -> String {
    let document: Value = serde_json::from_str(document).unwrap_or_default();
    let mut text = String::new();
    let title = escape(text_at(&document, "/info/title"));
    let _ = write!(
        text,
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><meta name=\"viewport\" \
         content=\"width=device-width\"><title>{title}: API</title><body style=\"font-family:system-ui,sans-serif;\
         max-width:60em;margin:2em auto;padding:0 1em;line-height:1.5;color-scheme:light dark\"><main><h1>{title}: API</h1><p>{}</p>\
         <p>All but the health checks need the header <code>Authorization: Bearer &lt;token&gt;</code>. For programs: \
         <a href=\"openapi.json\">openapi.json</a>.</p>",
        prose(text_at(&document, "/info/description"))
    );
    let paths = document.get("paths").and_then(Value::as_object);
    for tag in list(&document, "/tags") {
        let _ = write!(text, "<h2>{}</h2>", prose(text_at(tag, "/description")));
        for (path, item) in paths.into_iter().flatten() {
            for method in METHODS {
                let Some(operation) = item.get(method) else { continue };
                if text_at(operation, "/tags/0") == text_at(tag, "/name") {
                    write_operation(&mut text, &document, path, method, operation);
                }
            }
        }
    }
    text.push_str("</main></body></html>");
    text
}

fn write_operation(text: &mut String, document: &Value, path: &str, method: &str, operation: &Value) {
    let _ = write!(
        text,
        "<details><summary><code><b>{}</b> {}</code> {}</summary>",
        method.to_uppercase(),
        escape(path),
        prose(text_at(operation, "/summary"))
    );
    let _ = write!(text, "<p>{}</p>", prose(text_at(operation, "/description")));
    text.push_str("<ul>");
    for parameter in list(operation, "/parameters") {
        let _ = write!(
            text,
            "<li><code>{}</code> ({}): {}</li>",
            escape(text_at(parameter, "/name")),
            escape(text_at(parameter, "/in")),
            prose(text_at(parameter, "/description"))
        );
    }
    if let Some(body) = operation.get("requestBody").and_then(schema_name) {
        let _ = write!(text, "<li>body: <code>{}</code>", escape(&body));
        write_members(text, document, &body);
        text.push_str("</li>");
    }
    for (status, response) in operation.get("responses").and_then(Value::as_object).into_iter().flatten() {
        let _ = write!(text, "<li>{} {}", escape(status), prose(text_at(response, "/description")));
        if let Some(name) = schema_name(response) {
            let _ = write!(text, " <code>{}</code>", escape(&name));
        }
        text.push_str("</li>");
    }
    text.push_str("</ul></details>");
}

/// The fields of a body.
fn write_members(text: &mut String, document: &Value, name: &str) {
    let schema = document.pointer(&format!("/components/schemas/{name}")).unwrap_or(&Value::Null);
    let needed: Vec<&str> = list(schema, "/required").iter().filter_map(Value::as_str).collect();
    text.push_str("<ul>");
    for (name, member) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
        let optional = if needed.contains(&name.as_str()) { "" } else { " (optional)" };
        let told = prose(text_at(member, "/description"));
        let _ = write!(text, "<li><code>{}</code>{optional}: {told}</li>", escape(name));
    }
    text.push_str("</ul>");
}

/// The type name of a body.
fn schema_name(body: &Value) -> Option<String> {
    let (_, first) = body.get("content")?.as_object()?.iter().next()?;
    // An optional body is a `oneOf` of null and the type.
    let places = ["/schema/$ref", "/schema/oneOf/1/$ref"];
    let reference = places.into_iter().find_map(|place| first.pointer(place)?.as_str());
    reference.and_then(|reference| reference.rsplit('/').next()).map(str::to_owned)
}

/// The text at a JSON pointer; empty if there is none.
fn text_at<'v>(value: &'v Value, place: &str) -> &'v str {
    value.pointer(place).and_then(Value::as_str).unwrap_or_default()
}

/// The list at a JSON pointer; empty if there is none.
fn list<'v>(value: &'v Value, place: &str) -> &'v [Value] {
    value.pointer(place).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// A sentence, with text between backquotes as code.
fn prose(text: &str) -> String {
    let mut written = String::new();
    for (number, part) in text.split('`').enumerate() {
        let part = escape(part);
        let _ =
            if number % 2 == 1 { write!(written, "<code>{part}</code>") } else { write!(written, "{part}") };
    }
    written
}

#[cfg(test)]
mod tests {
    use super::prose;

    #[test]
    fn code_is_shown_as_code_and_markup_as_text() {
        assert_eq!(prose("`a<b` is & stays"), "<code>a&lt;b</code> is &amp; stays");
        assert_eq!(prose("plain"), "plain");
    }
}
