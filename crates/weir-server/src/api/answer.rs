//! Responses of handlers.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;

use crate::auth::TokenFileError;
use crate::problem::Problem;

/// A JSON response, or a problem.
pub(crate) type Answer<T> = Result<Done<T>, Problem>;

/// A JSON response with status 200.
pub(crate) struct Done<T>(T);

/// Responds with this value.
pub(crate) fn ok<T>(value: T) -> Answer<T> {
    Ok(Done(value))
}

impl<T: Serialize> IntoResponse for Done<T> {
    fn into_response(self) -> Response {
        json(StatusCode::OK, &self.0)
    }
}

/// A JSON response.
pub(crate) fn json(status: StatusCode, value: &impl Serialize) -> Response {
    match serde_json::to_vec(value) {
        Ok(body) => {
            let kind = HeaderValue::from_static("application/json");
            (status, [(header::CONTENT_TYPE, kind)], body).into_response()
        }
        Err(error) => Problem::internal(&error).into_response(),
    }
}

/// Accesses the token file outside of the async tasks.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, TokenFileError> + Send + 'static,
) -> Result<T, Problem> {
    let done = tokio::task::spawn_blocking(work).await.map_err(|error| Problem::internal(&error))?;
    done.map_err(|error| match error {
        TokenFileError::NameTaken { .. } => Problem::conflict("name_taken", error.to_string()),
        _ => Problem::of_file(&error),
    })
}
