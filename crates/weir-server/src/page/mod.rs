//! The page, as built by `make web` and embedded in the program.

use axum::extract::{OriginalUri, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use rust_embed::RustEmbed;

use crate::auth::hex;
use crate::problem::Problem;
use crate::state::App;

/// Empty in a program that was built without the page.
#[derive(RustEmbed)]
#[folder = "page/dist"]
#[allow_missing = true]
struct Files;

/// Shown if the page was not built.
const NOT_BUILT: &str = include_str!("not_built.html");

/// Serves one of the page's files. They are the same for everyone, so no authentication is needed.
pub(crate) async fn file(State(app): State<App>, uri: OriginalUri, headers: HeaderMap) -> Response {
    let path = uri.path().strip_prefix(app.settings().base_path.as_str()).unwrap_or_default();
    let path = match path.trim_start_matches('/') {
        "" => "index.html",
        path => path,
    };
    let Some(file) = Files::get(path) else {
        if path == "index.html" {
            return ([(header::CONTENT_TYPE, "text/html; charset=utf-8")], NOT_BUILT).into_response();
        }
        return Problem::not_found("nothing found at this address").into_response();
    };
    let tag = format!("\"{}\"", hex(&file.metadata.sha256_hash()));
    // The names of these files change with their content.
    let cache = if path.starts_with("assets/") { "public, max-age=31536000, immutable" } else { "no-cache" };
    let is_known = headers.get(header::IF_NONE_MATCH).is_some_and(|known| known.as_bytes() == tag.as_bytes());
    let mut response = if is_known {
        StatusCode::NOT_MODIFIED.into_response()
    } else {
        let kind = file.metadata.mimetype().to_owned();
        let kind = if kind.starts_with("text/") { format!("{kind}; charset=utf-8") } else { kind };
        ([(header::CONTENT_TYPE, kind)], file.data.into_owned()).into_response()
    };
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static(cache));
    if let Ok(tag) = HeaderValue::from_str(&tag) {
        response.headers_mut().insert(header::ETAG, tag);
    }
    response
}

/// Whether the page is built into the program.
pub fn is_built() -> bool {
    Files::get("index.html").is_some()
}
