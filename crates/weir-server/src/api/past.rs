//! Sessions that the CLI keeps by itself, such as those of a terminal.

use axum::Extension;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use weir_host::{Adoption, PastWork, SessionInfo};

use super::answer::{self, Answer};
use super::folders::for_all_sessions;
use super::sessions::may_begin;
use super::types::AdoptSession;
use crate::auth::Principal;
use crate::extract::{OptionalJson, Path};
use crate::guard::Audited;
use crate::problem::{Details, Problem};
use crate::state::App;

/// How many sessions are listed.
const MAX_LISTED: usize = 50;

/// What the CLI has done in the folders that sessions may work in: its own sessions, such as those of a terminal, and the
/// projects they belong to.
#[utoipa::path(get, path = "/v1/past-sessions", tag = "sessions",
    responses((status = 200, description = "The sessions and projects.", body = PastWork)))]
pub(crate) async fn past_list(
    State(app): State<App>,
    Extension(who): Extension<Principal>,
) -> Answer<PastWork> {
    for_all_sessions(&who)?;
    answer::ok(app.host().past_work(MAX_LISTED).await?)
}

/// Creates a session that continues a copy of one of the CLI's own, which stays as it is; or, with `keep_id`, that one
/// itself. A session that has the id already is returned.
#[utoipa::path(post, path = "/v1/past-sessions/{id}", tag = "sessions", params(("id" = String, Path, description = "The CLI's id of the session.")),
    request_body = Option<AdoptSession>, responses(
    (status = 201, description = "The session.", body = SessionInfo),
    (status = 409, description = "Another program runs the session.", body = Details, content_type = "application/problem+json"),
))]
pub(crate) async fn past_adopt(
    State(app): State<App>,
    Extension(who): Extension<Principal>,
    Path(id): Path<String>,
    OptionalJson(body): OptionalJson<AdoptSession>,
) -> Result<Response, Problem> {
    for_all_sessions(&who)?;
    may_begin(&app, &who)?;
    let way = if body.keep_id { Adoption::Same } else { Adoption::Copy };
    let info = app.host().adopt(&id, way, &who.actor()).await?;
    let mut response = answer::json(StatusCode::CREATED, &info).into_response();
    response.extensions_mut().insert(Audited(format!("session {}", info.id)));
    Ok(response)
}
