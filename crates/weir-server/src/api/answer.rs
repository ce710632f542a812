//! How handlers answer.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;

use crate::auth::TokenFileError;
use crate::problem::Problem;

/// A JSON answer, or a problem.
pub(crate) type Answer<T> = Result<Done<T>, Problem>;

/// A JSON answer with the status 200.
pub(crate) struct Done<T>(T);

/// Answers with this.
pub(crate) fn ok<T>(value: T) -> Answer<T> {
    Ok(Done(value))
}

impl<T: Serialize> IntoResponse for Done<T> {
    fn into_response(self) -> Response {
        json(StatusCode::OK, &self.0)
    }
}

/// An answer in JSON.
pub(crate) fn json(status: StatusCode, value: &impl Serialize) -> Response {
    match serde_json::to_vec(value) {
        Ok(body) => {
            let kind = HeaderValue::from_static("application/json");
            (status, [(header::CONTENT_TYPE, kind)], body).into_response()
        }
        Err(error) => Problem::internal(&error).into_response(),
    }
}

/// Works with the token file away from the tasks that answer.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, TokenFileError> + Send + 'static,
) -> Result<T, Problem> {
    let done = tokio::task::spawn_blocking(work).await.map_err(|error| Problem::internal(&error))?;
    done.map_err(|error| match error {
        TokenFileError::NameTaken { .. } => Problem::conflict("name_taken", error.to_string()),
        _ => Problem::of_file(&error),
    })
}
