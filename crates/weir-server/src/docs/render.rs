//! The page for people: every operation with what it takes and gives, without a script.

use std::fmt::Write as _;

use serde_json::Value;

const METHODS: [&str; 5] = ["get", "post", "put", "patch", "delete"];

/// The page that tells what an OpenAPI document says.
pub(super) fn page(document: &str) -> String {
    let document: Value = serde_json::from_str(document).unwrap_or_default();
    let mut text = String::new();
    let title = escaped(document["info"]["title"].as_str().unwrap_or_default());
    let _ = write!(
        text,
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><meta name=\"viewport\" \
         content=\"width=device-width\"><title>{title}: API</title><body style=\"font-family:system-ui,sans-serif;\
         max-width:60em;margin:2em auto;padding:0 1em;line-height:1.5\"><h1>{title}: API</h1><p>{}</p>\
         <p>All but the health checks take the header <code>Authorization: Bearer &lt;token&gt;</code>. The same for \
         programs: <a href=\"openapi.json\">openapi.json</a>.</p>",
        escaped(document["info"]["description"].as_str().unwrap_or_default())
    );
    for tag in document["tags"].as_array().into_iter().flatten() {
        let name = tag["name"].as_str().unwrap_or_default();
        let about = tag["description"].as_str().unwrap_or(name);
        let _ = write!(text, "<h2>{}</h2>", escaped(about));
        for (path, item) in document["paths"].as_object().into_iter().flatten() {
            for method in METHODS {
                let operation = &item[method];
                let tags = operation["tags"].as_array();
                if tags.is_some_and(|tags| tags.iter().any(|tag| tag == name)) {
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
        escaped(operation["summary"].as_str().unwrap_or_default())
    );
    if let Some(more) = operation["description"].as_str() {
        let _ = write!(text, "<p>{}</p>", escaped(more));
    }
    text.push_str("<ul>");
    for parameter in operation["parameters"].as_array().into_iter().flatten() {
        let _ = write!(
            text,
            "<li><code>{}</code> ({}): {}</li>",
            escaped(parameter["name"].as_str().unwrap_or_default()),
            escaped(parameter["in"].as_str().unwrap_or_default()),
            escaped(parameter["description"].as_str().unwrap_or_default())
        );
    }
    if let Some(body) = schema_name(&operation["requestBody"]) {
        let _ = write!(text, "<li>body: <code>{}</code></li>", escaped(&body));
    }
    for (status, response) in operation["responses"].as_object().into_iter().flatten() {
        let _ = write!(
            text,
            "<li>{} {}",
            escaped(status),
            escaped(response["description"].as_str().unwrap_or_default())
        );
        if let Some(name) = schema_name(response) {
            let _ = write!(text, " <code>{}</code>", escaped(&name));
        }
        text.push_str("</li>");
    }
    text.push_str("</ul></details>");
}

/// The name of the type of a body.
fn schema_name(body: &Value) -> Option<String> {
    let content = body["content"].as_object()?;
    let (_, first) = content.iter().next()?;
    let schema = &first["schema"];
    let reference = schema["$ref"].as_str().or_else(|| schema["oneOf"][1]["$ref"].as_str());
    reference.and_then(|reference| reference.rsplit('/').next()).map(str::to_owned)
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
