//! The page for people: every operation with what it takes and gives, without a script.

use std::fmt::Write as _;

use serde_json::Value;

use super::openapi::{list, text as text_at};

const METHODS: [&str; 5] = ["get", "post", "put", "patch", "delete"];

/// The page that tells what an OpenAPI document says.
pub(super) fn page(document: &str) -> String {
    let document: Value = serde_json::from_str(document).unwrap_or_default();
    let mut text = String::new();
    let title = escaped(text_at(&document, "/info/title"));
    let _ = write!(
        text,
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><meta name=\"viewport\" \
         content=\"width=device-width\"><title>{title}: API</title><body style=\"font-family:system-ui,sans-serif;\
         max-width:60em;margin:2em auto;padding:0 1em;line-height:1.5\"><h1>{title}: API</h1><p>{}</p>\
         <p>All but the health checks take the header <code>Authorization: Bearer &lt;token&gt;</code>. The same for \
         programs: <a href=\"openapi.json\">openapi.json</a>.</p>",
        escaped(text_at(&document, "/info/description"))
    );
    let paths = document.get("paths").and_then(Value::as_object);
    for tag in list(&document, "/tags") {
        let _ = write!(text, "<h2>{}</h2>", escaped(text_at(tag, "/description")));
        for (path, item) in paths.into_iter().flatten() {
            for method in METHODS {
                let Some(operation) = item.get(method) else { continue };
                if text_at(operation, "/tags/0") == text_at(tag, "/name") {
                    write_operation(&mut text, path, method, operation);
                }
            }
        }
    }
    text.push_str("</body></html>");
    text
}

fn write_operation(text: &mut String, path: &str, method: &str, operation: &Value) {
    let _ = write!(
        text,
        "<details><summary><code><b>{}</b> {}</code> {}</summary>",
        method.to_uppercase(),
        escaped(path),
        escaped(text_at(operation, "/summary"))
    );
    let _ = write!(text, "<p>{}</p>", escaped(text_at(operation, "/description")));
    text.push_str("<ul>");
    for parameter in list(operation, "/parameters") {
        let _ = write!(
            text,
            "<li><code>{}</code> ({}): {}</li>",
            escaped(text_at(parameter, "/name")),
            escaped(text_at(parameter, "/in")),
            escaped(text_at(parameter, "/description"))
        );
    }
    if let Some(body) = operation.get("requestBody").and_then(schema_name) {
        let _ = write!(text, "<li>body: <code>{}</code></li>", escaped(&body));
    }
    for (status, response) in operation.get("responses").and_then(Value::as_object).into_iter().flatten() {
        let _ = write!(text, "<li>{} {}", escaped(status), escaped(text_at(response, "/description")));
        if let Some(name) = schema_name(response) {
            let _ = write!(text, " <code>{}</code>", escaped(&name));
        }
        text.push_str("</li>");
    }
    text.push_str("</ul></details>");
}

/// The name of the type of a body.
fn schema_name(body: &Value) -> Option<String> {
    let (_, first) = body.get("content")?.as_object()?.iter().next()?;
    // A body that may be left out is one of two things.
    let places = ["/schema/$ref", "/schema/oneOf/1/$ref"];
    let reference = places.into_iter().find_map(|place| first.pointer(place)?.as_str());
    reference.and_then(|reference| reference.rsplit('/').next()).map(str::to_owned)
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
