//! What there is not: addresses and methods that OpenAI's clients may try.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use axum::http::{Method, StatusCode, Uri};
use axum::response::{IntoResponse as _, Response};
use weir_openai::OpenAiError;

use super::errors::response;
use crate::api::document;
use crate::problem::Problem;

/// The first parts of the paths of the server's own API, below `/v1`.
static OWN: LazyLock<BTreeSet<String>> = LazyLock::new(|| {
    let document = document();
    let is_own = |item: &utoipa::openapi::PathItem| {
        let operations = [&item.get, &item.post, &item.put, &item.patch, &item.delete].into_iter().flatten();
        operations.flat_map(|operation| operation.tags.iter().flatten()).all(|tag| tag != "openai")
    };
    let own = document.paths.paths.iter().filter(|(_, item)| is_own(item));
    own.filter_map(|(path, _)| first_part(path)).map(str::to_owned).collect()
});

fn first_part(path: &str) -> Option<&str> {
    path.strip_prefix("/v1/")?.split('/').next()
}

/// There is nothing under an address below `/v1`: told in the shape of the API that it belongs to.
pub(super) async fn address(uri: Uri) -> Response {
    if first_part(uri.path()).is_some_and(|part| OWN.contains(part)) {
        return Problem::not_found("there is nothing under this address; /docs lists what there is")
            .into_response();
    }
    let message = format!(
        "There is no {} here: this server answers models, chat/completions and responses, and /docs lists the rest.",
        uri.path()
    );
    response(&OpenAiError::not_found("unknown_url", message))
}

/// The address is right and the method is not.
pub(super) async fn method(method: Method, uri: Uri) -> Response {
    let message = format!("{method} is not allowed for {}; /docs lists what is.", uri.path());
    let status = StatusCode::METHOD_NOT_ALLOWED.as_u16();
    response(&OpenAiError { status, ..OpenAiError::not_found("method_not_allowed", message) })
}
