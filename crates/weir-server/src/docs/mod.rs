//! API documentation: OpenAPI for programs, a page for people.

mod openapi;
mod problems;
mod render;

use axum::extract::State;
use axum::http::header;
use axum::response::{Html, IntoResponse as _, Response};

pub use openapi::openapi;

use crate::state::App;

/// The OpenAPI document.
pub(crate) async fn json(State(app): State<App>) -> Response {
    let text = openapi(&app.settings().base_path);
    ([(header::CONTENT_TYPE, "application/json")], text).into_response()
}

/// The documentation page.
pub(crate) async fn page(State(app): State<App>) -> Response {
    Html(render::page(&openapi(&app.settings().base_path))).into_response()
}
