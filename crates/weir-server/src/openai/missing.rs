//! Unknown paths and unsupported methods that OpenAI's clients may try.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use axum::http::{Method, StatusCode, Uri};
use axum::response::{IntoResponse as _, Response};
use weir_openai::OpenAiError;

use super::errors::response;
use crate::api::own_paths;
use crate::problem::Problem;

/// First path segments of the server's own API below `/v1`.
static OWN: LazyLock<BTreeSet<String>> =
    LazyLock::new(|| own_paths().iter().filter_map(|path| first_part(path)).map(str::to_owned).collect());

fn first_part(path: &str) -> Option<&str> {
    path.strip_prefix("/v1/")?.split('/').next()
}

/// Answers an unknown path below `/v1`, in the format of the API that it belongs to.
pub(super) async fn address(uri: Uri) -> Response {
    if first_part(uri.path()).is_some_and(|part| OWN.contains(part)) {
        return Problem::not_found("nothing found at this address; /docs lists all routes").into_response();
    }
    let message = format!(
        "Unknown path {}: this server supports models, chat/completions and responses; /docs lists all routes.",
        uri.path()
    );
    response(&OpenAiError::not_found("unknown_url", message))
}

/// Answers a known path with an unsupported method.
pub(super) async fn method(method: Method, uri: Uri) -> Response {
    let message = format!("{method} is not supported by {}; /docs lists all routes.", uri.path());
    let status = StatusCode::METHOD_NOT_ALLOWED.as_u16();
    response(&OpenAiError { status, ..OpenAiError::not_found("method_not_allowed", message) })
}
