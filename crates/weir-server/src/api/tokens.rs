//! Tokens, share links, the audit log, and the client's own identity.

use axum::Extension;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use weir_base::time::now_ms;

use super::answer::{self, Answer};
use super::errors::session_id;
use super::types::{AuditPage, AuditParams, CreateToken, CreatedToken, Me, Share, ShareSession, TokenList};
use crate::auth::{NewToken, Principal, Role, TokenInfo};
use crate::extract::{Json, OptionalJson, Path, Query};
use crate::guard::Audited;
use crate::problem::{Details, Problem};
use crate::serve::{link, token_name_problem};
use crate::state::App;

/// Maximum entries per page of the audit log.
const MAX_LIMIT: usize = 1000;

/// Shows who the client is and what it may do.
#[utoipa::path(get, path = "/v1/me", tag = "tokens", responses((status = 200, description = "The client.", body = Me)))]
pub(crate) async fn me(State(app): State<App>, Extension(who): Extension<Principal>) -> Answer<Me> {
    let settings = app.settings();
    // A token for one session need not know where others work.
    let roots = if who.session.is_none() { settings.roots.as_slice() } else { &[] };
    answer::ok(Me {
        name: who.name,
        role: who.role,
        session: who.session,
        expires_at: who.expires_at,
        budget_left_usd: who.budget_left_usd,
        version: env!("CARGO_PKG_VERSION"),
        roots: roots.iter().map(|root| root.display().to_string()).collect(),
        permission_modes: settings.permission_modes.clone(),
        slash_commands: settings.commands_for(who.role).to_vec(),
        models: settings.models.clone(),
        demo: settings.demo,
        sandbox: settings.sandbox,
    })
}

/// Creates a link through which others may see this session, and nothing else.
#[utoipa::path(post, path = "/v1/sessions/{id}/share", tag = "tokens", params(("id" = String, Path, description = "The session.")),
    request_body = Option<ShareSession>, responses((status = 201, description = "The link.", body = Share)))]
pub(crate) async fn share(
    State(app): State<App>,
    Extension(who): Extension<Principal>,
    Path(id): Path<String>,
    OptionalJson(body): OptionalJson<ShareSession>,
) -> Result<Response, Problem> {
    app.host().info(&session_id(&id)?).await?;
    let new = NewToken {
        session: Some(id.clone()),
        // A link does not outlive the token that made it.
        maker: Some(who.token_id.clone()),
        expires_at: earlier(ends(body.expires_in_s)?, who.expires_at),
        ..NewToken::new(format!("shared by {}", who.name), Role::Viewer)
    };
    let tokens = app.tokens().clone();
    let (token, secret) = answer::blocking(move || tokens.add(new, now_ms())).await?;
    let path = link(&app.settings().base_path, &secret, Some(&id));
    let share = Share { token: secret.reveal().to_owned(), token_id: token.id.clone(), path };
    let mut response = answer::json(StatusCode::CREATED, &share);
    response.extensions_mut().insert(Audited(format!("token {}", token.id)));
    Ok(response)
}

fn ends(seconds: Option<u32>) -> Result<Option<i64>, Problem> {
    if seconds == Some(0) {
        return Err(Problem::unprocessable("expires_in_s", "expires_in_s must be above zero"));
    }
    Ok(seconds.map(|seconds| now_ms() + i64::from(seconds) * 1000))
}

fn earlier(one: Option<i64>, other: Option<i64>) -> Option<i64> {
    one.into_iter().chain(other).min()
}

/// Lists tokens, without their secrets.
#[utoipa::path(get, path = "/v1/tokens", tag = "tokens", responses((status = 200, description = "The tokens.", body = TokenList)))]
pub(crate) async fn list(State(app): State<App>) -> Answer<TokenList> {
    answer::ok(TokenList { tokens: app.tokens().list().iter().map(TokenInfo::from).collect() })
}

/// Creates a token. Its secret is returned here and never again.
#[utoipa::path(post, path = "/v1/tokens", tag = "tokens", request_body = CreateToken,
    responses(
        (status = 201, description = "The token.", body = CreatedToken),
        (status = 409, description = "Another token has this name.", body = Details, content_type = "application/problem+json"),
    ))]
pub(crate) async fn create(
    State(app): State<App>,
    Json(body): Json<CreateToken>,
) -> Result<Response, Problem> {
    check(&body)?;
    if let Some(session) = &body.session {
        let is_there = match session_id(session) {
            Ok(id) => app.host().info(&id).await.is_ok(),
            Err(_) => false,
        };
        if !is_there {
            return Err(Problem::unprocessable("token", "no such session"));
        }
    }
    let new = NewToken {
        name: body.name,
        role: body.role,
        session: body.session,
        maker: None,
        expires_at: ends(body.expires_in_s)?,
        max_cost_usd: body.max_cost_usd,
        requests_per_minute: body.requests_per_minute,
    };
    let tokens = app.tokens().clone();
    let (token, secret) = answer::blocking(move || tokens.add(new, now_ms())).await?;
    let created = CreatedToken { token: secret.reveal().to_owned(), info: TokenInfo::from(&token) };
    let mut response = answer::json(StatusCode::CREATED, &created);
    response.extensions_mut().insert(Audited(format!("token {} ({})", token.id, token.role)));
    Ok(response)
}

fn check(body: &CreateToken) -> Result<(), Problem> {
    let bad = |detail: &str| Err(Problem::unprocessable("token", detail));
    if body.name.len() > 100 {
        return bad("the name must have 1 to 100 bytes");
    }
    if let Some(problem) = token_name_problem(&body.name) {
        return bad(problem);
    }
    if body.max_cost_usd.is_some_and(|most| !most.is_finite() || most <= 0.0) {
        return bad("max_cost_usd must be a number above zero");
    }
    if body.requests_per_minute == Some(0) {
        return bad("requests_per_minute must be above zero");
    }
    if body.role == Role::Admin && body.session.is_some() {
        return bad("an admin token is for all sessions; leave out the session or choose another role");
    }
    Ok(())
}

/// Revokes a token. It stops working immediately, including on open streams.
#[utoipa::path(delete, path = "/v1/tokens/{token}", tag = "tokens", params(("token" = String, Path, description = "The id of the token.")),
    responses((status = 204, description = "The token was revoked.")))]
pub(crate) async fn revoke(State(app): State<App>, Path(token): Path<String>) -> Result<Response, Problem> {
    let (tokens, id) = (app.tokens().clone(), token.clone());
    let revoked = answer::blocking(move || tokens.revoke(|one| one.id == id)).await?;
    if revoked.is_empty() {
        return Err(Problem::not_found("no such token"));
    }
    let mut response = StatusCode::NO_CONTENT.into_response();
    response.extensions_mut().insert(Audited(format!("token {token}")));
    Ok(response)
}

/// The audit log, newest first.
#[utoipa::path(get, path = "/v1/audit", tag = "tokens", params(AuditParams),
    responses((status = 200, description = "A page of the audit log.", body = AuditPage)))]
pub(crate) async fn audit(State(app): State<App>, Query(params): Query<AuditParams>) -> Answer<AuditPage> {
    let limit = params.limit.unwrap_or(100);
    if !(1..=MAX_LIMIT).contains(&limit) {
        return Err(Problem::bad_request("limit", format!("limit must be 1 to {MAX_LIMIT}")));
    }
    let audit = app.audit().clone();
    let read = tokio::task::spawn_blocking(move || audit.read(params.before, limit)).await;
    let (entries, next_before) =
        read.map_err(|error| Problem::internal(&error))?.map_err(|error| Problem::internal(&error))?;
    answer::ok(AuditPage { entries, next_before })
}
