//! Sessions: create, list, show, change, fork, delete.

use axum::Extension;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use weir_host::{
    ChangeLimits, Created, ListSessions, NewSession, SessionInfo, SessionPage, SessionSpec, SessionStatus,
};

use super::answer::{self, Answer};
use super::errors::session_id;
use super::types::{ChangeSession, CreateSession, ForkSession, ListParams};
use crate::auth::Principal;
use crate::extract::{Json, OptionalJson, Path, Query};
use crate::guard::Audited;
use crate::problem::Problem;
use crate::state::{App, Phase};

/// Maximum sessions per page of the list.
const MAX_LIMIT: usize = 200;

/// Creates a session.
#[utoipa::path(post, path = "/v1/sessions", tag = "sessions", request_body = CreateSession, responses(
    (status = 201, description = "The session.", body = SessionInfo, headers(("Location", description = "Path of the session."))),
    (status = 200, description = "The existing session with this key.", body = SessionInfo),
))]
pub(crate) async fn create(
    State(app): State<App>,
    Extension(who): Extension<Principal>,
    headers: HeaderMap,
    Json(body): Json<CreateSession>,
) -> Result<Response, Problem> {
    let created = begin(&app, &who, &headers, body).await?;
    let status = if created.new { StatusCode::CREATED } else { StatusCode::OK };
    let location = format!("{}/v1/sessions/{}", app.settings().base_path, created.session.id);
    let audited = Audited(format!("session {}", created.session.id));
    let mut response = answer::json(status, &created.session);
    if let Ok(location) = HeaderValue::from_str(&location).map_err(|error| Problem::internal(&error)) {
        response.headers_mut().insert(header::LOCATION, location);
    }
    response.extensions_mut().insert(audited);
    Ok(response)
}

/// Creates a session, or finds the one with the key, if the client may.
pub(super) async fn begin(
    app: &App,
    who: &Principal,
    headers: &HeaderMap,
    mut body: CreateSession,
) -> Result<Created, Problem> {
    may_begin(app, who)?;
    let mut spec = body.take_spec()?;
    if let Some(mode) = &spec.permission_mode {
        check_mode(app, mode)?;
    }
    check_name(body.name.as_deref())?;
    app.host().allowed_folder(&body.cwd).await?;
    let allowed_tools = app.settings().tools.check(std::mem::take(&mut spec.allowed_tools)).map_err(|rule| {
        let detail = format!(
            "`{rule}` can't be pre-approved on this server: only reading and searching in the session's folder can; \
             the operator can permit more with --allow-tools"
        );
        Problem::unprocessable("allowed_tools", detail)
    })?;
    let origin = if headers.contains_key("sec-fetch-site") { "page" } else { "api" };
    let new = NewSession {
        cwd: body.cwd,
        key: body.key,
        name: body.name,
        spec: SessionSpec { allowed_tools, ..spec },
        ask_timeout_s: body.ask_timeout_s,
        client_tools: body.client_tools,
        worktree: body.worktree,
        origin: origin.to_owned(),
    };
    Ok(app.host().create(new, &who.actor()).await?)
}

/// Whether new work is accepted.
pub(crate) fn may_begin(app: &App, who: &Principal) -> Result<(), Problem> {
    if app.phase() != Phase::Serving {
        return Err(weir_host::HostError::ShuttingDown.into());
    }
    if who.budget_left_usd.is_some_and(|left| left <= 0.0) {
        let detail = "the budget of this token is spent; ask for another token";
        return Err(Problem::forbidden("token_budget", detail));
    }
    Ok(())
}

/// Whether this server allows a permission mode.
pub(super) fn check_mode(app: &App, mode: &str) -> Result<(), Problem> {
    let modes = &app.settings().permission_modes;
    if modes.iter().any(|allowed| allowed == mode) {
        return Ok(());
    }
    let detail = format!("the permission mode must be one of {}", modes.join(", "));
    Err(Problem::unprocessable("permission_mode", detail))
}

/// Refuses a name that would break out of its line in a list or on a terminal.
pub(super) fn check_name(name: Option<&str>) -> Result<(), Problem> {
    if name.is_some_and(|name| name.chars().any(char::is_control)) {
        return Err(Problem::unprocessable("name", "the name must be one line, without control characters"));
    }
    Ok(())
}

/// Lists sessions, most recently changed first.
#[utoipa::path(get, path = "/v1/sessions", tag = "sessions", params(ListParams), responses(
    (status = 200, description = "A page of the list.", body = SessionPage),
))]
pub(crate) async fn list(
    State(app): State<App>,
    Extension(who): Extension<Principal>,
    Query(params): Query<ListParams>,
) -> Answer<SessionPage> {
    let status = params.status.as_deref().map(status_named).transpose()?;
    if params.limit.is_some_and(|limit| !(1..=MAX_LIMIT).contains(&limit)) {
        return Err(Problem::bad_request("limit", format!("limit must be 1 to {MAX_LIMIT}")));
    }
    // A token for one session sees only that one.
    if let Some(only) = &who.session {
        let sessions = app.host().info(&session_id(only)?).await.into_iter().collect();
        return answer::ok(SessionPage { sessions, next_cursor: None });
    }
    let query = ListSessions {
        status,
        search: params.search.filter(|search| !search.trim().is_empty()),
        archived: Some(params.archived.unwrap_or(false)),
        limit: params.limit,
        cursor: params.cursor,
    };
    answer::ok(app.host().list(query).await?)
}

fn status_named(word: &str) -> Result<SessionStatus, Problem> {
    SessionStatus::ALL.into_iter().find(|status| status.as_str() == word).ok_or_else(|| {
        let words = SessionStatus::ALL.map(SessionStatus::as_str).join(", ");
        Problem::bad_request("status", format!("status must be one of {words}"))
    })
}

/// Shows a session.
#[utoipa::path(get, path = "/v1/sessions/{id}", tag = "sessions", params(("id" = String, Path, description = "The session.")),
    responses((status = 200, description = "The session.", body = SessionInfo)))]
pub(crate) async fn show(State(app): State<App>, Path(id): Path<String>) -> Answer<SessionInfo> {
    answer::ok(app.host().info(&session_id(&id)?).await?)
}

/// Renames, archives, unarchives or pins a session, or changes its limits, which a token for one session can only lower.
#[utoipa::path(patch, path = "/v1/sessions/{id}", tag = "sessions", params(("id" = String, Path, description = "The session.")),
    request_body = ChangeSession, responses((status = 200, description = "The session.", body = SessionInfo)))]
pub(crate) async fn change(
    State(app): State<App>,
    Extension(who): Extension<Principal>,
    Path(id): Path<String>,
    Json(body): Json<ChangeSession>,
) -> Answer<SessionInfo> {
    let id = session_id(&id)?;
    check_name(body.name.as_deref())?;
    let limits = body.limits();
    if let Some(limits) = limits
        && who.session.is_some()
        && raises(&limits, &app.host().info(&id).await?)
    {
        let detail = "a token for one session cannot raise the session's limits; ask for another token";
        return Err(Problem::forbidden("one_session", detail));
    }
    let mut info = None;
    if let Some(name) = body.name {
        // An empty name removes the name.
        info = Some(app.host().rename(&id, Some(name).filter(|name| !name.is_empty())).await?);
    }
    if let Some(pinned) = body.pinned {
        info = Some(app.host().pin(&id, pinned).await?);
    }
    if let Some(limits) = limits {
        info = Some(app.host().set_limits(&id, limits).await?);
    }
    if let Some(archived) = body.archived {
        info = Some(app.host().archive(&id, archived).await?);
    }
    match info {
        Some(info) => answer::ok(info),
        None => answer::ok(app.host().info(&id).await?),
    }
}

/// Whether a limit would be raised or removed.
fn raises(limits: &ChangeLimits, now: &SessionInfo) -> bool {
    fn is_more<T: PartialOrd + Default>(wanted: Option<T>, now: Option<T>) -> bool {
        wanted.zip(now).is_some_and(|(wanted, now)| wanted == T::default() || wanted > now)
    }
    is_more(limits.max_cost_usd, now.max_cost_usd)
        || is_more(limits.max_turns, now.max_turns)
        || is_more(limits.ask_timeout_s, now.ask_timeout_s)
        || is_more(limits.task_budget_tokens, now.task_budget_tokens)
}

/// Stops a session's process and deletes the session with its log. Its share links stop working too.
#[utoipa::path(delete, path = "/v1/sessions/{id}", tag = "sessions", params(("id" = String, Path, description = "The session.")),
    responses((status = 204, description = "The session was deleted.")))]
pub(crate) async fn delete(State(app): State<App>, Path(id): Path<String>) -> Result<Response, Problem> {
    let session = session_id(&id)?;
    app.host().delete(&session).await?;
    let tokens = app.tokens().clone();
    answer::blocking(move || tokens.revoke(|token| token.session.as_deref() == Some(id.as_str()))).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

/// Creates a session with a copy of this one's history.
#[utoipa::path(post, path = "/v1/sessions/{id}/fork", tag = "sessions", params(("id" = String, Path, description = "The session.")),
    request_body = Option<ForkSession>, responses((status = 201, description = "The new session.", body = SessionInfo)))]
pub(crate) async fn fork(
    State(app): State<App>,
    Extension(who): Extension<Principal>,
    Path(id): Path<String>,
    OptionalJson(body): OptionalJson<ForkSession>,
) -> Result<Response, Problem> {
    may_begin(&app, &who)?;
    if who.session.is_some() {
        // This token could not see the copy.
        return Err(Problem::forbidden("one_session", "this token is valid for one session only"));
    }
    check_name(body.name.as_deref())?;
    let info = app.host().fork(&session_id(&id)?, body.name, &who.actor()).await?;
    let mut response = answer::json(StatusCode::CREATED, &info);
    response.extensions_mut().insert(Audited(format!("session {}", info.id)));
    Ok(response)
}
