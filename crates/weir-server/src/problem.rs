//! Error responses: problem details (RFC 9457).
//!
//! Every error response goes through [`Problem`]. Programs may rely on `code`; `title` and `detail` are for people and
//! say what to do.

use std::time::Duration;

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;

/// The media type of a problem.
pub(crate) const MEDIA_TYPE: &str = "application/problem+json";

/// Error message for clients when the server cannot use its disk.
pub(crate) const STORE_UNUSABLE: &str = "the server cannot use the disk where it stores sessions, and nothing of this request was stored; its log says why";

/// An error as a client sees it.
#[derive(Debug, Clone, PartialEq)]
pub struct Problem(Box<Details>);

/// The body of an error response.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[schema(as = Problem)]
pub(crate) struct Details {
    /// Always `about:blank`: `code` identifies the problem.
    #[serde(rename = "type")]
    #[schema(value_type = String)]
    kind: &'static str,
    /// Short description of the status.
    #[schema(value_type = String)]
    title: &'static str,
    /// The HTTP status.
    #[serde(serialize_with = "as_number")]
    #[schema(value_type = u16)]
    status: StatusCode,
    /// What went wrong, and what to do about it.
    detail: String,
    /// Identifies the problem, for programs.
    #[schema(value_type = String)]
    code: &'static str,
    /// Further details for programs.
    #[serde(flatten)]
    #[schema(additional_properties, value_type = std::collections::HashMap<String, Value>)]
    more: Map<String, Value>,
    #[serde(skip)]
    retry_after: Option<Duration>,
}

fn as_number<S: serde::Serializer>(status: &StatusCode, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u16(status.as_u16())
}

impl Problem {
    /// A problem.
    pub fn new(status: StatusCode, code: &'static str, detail: impl Into<String>) -> Self {
        Self(Box::new(Details {
            kind: "about:blank",
            title: status.canonical_reason().unwrap_or("Error"),
            status,
            detail: detail.into(),
            code,
            more: Map::new(),
            retry_after: None,
        }))
    }

    /// The request cannot be understood.
    pub fn bad_request(code: &'static str, detail: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, code, detail)
    }

    /// Not found, or not visible to the client.
    pub fn not_found(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, "not_found", detail)
    }

    /// The request is understood, but a value in it is invalid.
    pub fn unprocessable(code: &'static str, detail: impl Into<String>) -> Self {
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, code, detail)
    }

    /// The request conflicts with the current state.
    pub fn conflict(code: &'static str, detail: impl Into<String>) -> Self {
        Self::new(StatusCode::CONFLICT, code, detail)
    }

    /// The client may not do this.
    pub fn forbidden(code: &'static str, detail: impl Into<String>) -> Self {
        Self::new(StatusCode::FORBIDDEN, code, detail)
    }

    /// Too many requests.
    pub fn too_many(code: &'static str, detail: impl Into<String>, retry_after: Duration) -> Self {
        Self::new(StatusCode::TOO_MANY_REQUESTS, code, detail).retry_after(retry_after)
    }

    /// An internal error. The cause is in the log, not in the response.
    pub fn internal(what: &dyn std::fmt::Display) -> Self {
        tracing::error!(error = %what, "a request failed");
        let detail = "internal server error; the server's log has details for this request id";
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", detail)
    }

    /// The disk is full.
    pub fn disk_full() -> Self {
        let detail = "the server's disk is full, and nothing of this request was stored; delete sessions that are no \
                      longer needed, or free space on the disk, and try again";
        Self::new(StatusCode::INSUFFICIENT_STORAGE, "disk_full", detail).retry_after(Duration::from_secs(30))
    }

    /// The server's disk fails, or its data is gone or damaged. The cause is in the log, not in the response.
    pub fn store_unusable(why: &dyn std::fmt::Display) -> Self {
        tracing::error!(error = %why, "cannot use the store of the sessions");
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "store_unusable", STORE_UNUSABLE)
            .retry_after(Duration::from_secs(30))
    }

    /// Converts an error with a file.
    pub fn of_file(error: &(dyn std::error::Error + 'static)) -> Self {
        let mut causes = std::iter::successors(Some(error), |error| error.source());
        use std::io::ErrorKind::{QuotaExceeded, ReadOnlyFilesystem, StorageFull};
        let kind = causes.find_map(|cause| cause.downcast_ref::<std::io::Error>()).map(std::io::Error::kind);
        match kind {
            Some(StorageFull | QuotaExceeded) => Self::disk_full(),
            Some(ReadOnlyFilesystem) => Self::store_unusable(&error),
            _ => Self::internal(&error),
        }
    }

    /// Adds a field.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.0.more.insert(name.to_owned(), value.into());
        self
    }

    /// Adds a time after which to retry.
    #[must_use]
    pub fn retry_after(mut self, after: Duration) -> Self {
        self.0.retry_after = Some(after);
        self
    }

    /// The HTTP status.
    pub fn status(&self) -> StatusCode {
        self.0.status
    }

    /// What went wrong, and what to do about it.
    pub fn detail(&self) -> &str {
        &self.0.detail
    }

    /// Identifies the problem, for programs.
    pub fn code(&self) -> &'static str {
        self.0.code
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        // A map of strings and plain values always serializes.
        let Details { status, retry_after, .. } = *self.0;
        let body = serde_json::to_vec(&self.0).unwrap_or_default();
        let mut response = (status, body).into_response();
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(MEDIA_TYPE));
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        if let Some(after) = retry_after {
            // Rounded up: a client that retries slightly early is refused again.
            headers.insert(header::RETRY_AFTER, HeaderValue::from(after.as_secs() + 1));
        }
        if status == StatusCode::UNAUTHORIZED {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        // For the log, and for those who write it in another format.
        response.extensions_mut().insert(self);
        response
    }
}
