//! Authentication and authorization of requests.

use std::net::IpAddr;
use std::time::Instant;

use axum::extract::rejection::RawPathParamsRejection;
use axum::extract::{MatchedPath, RawPathParams, Request, State};
use axum::http::{HeaderMap, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use weir_base::time::now_ms;

use super::outer::{Peer, RequestId};
use crate::audit::AuditEntry;
use crate::auth::{Principal, Rate, Role};
use crate::problem::Problem;
use crate::state::App;

/// Detail that a handler adds to the audit log entry.
#[derive(Debug, Clone)]
pub(crate) struct Audited(pub(crate) String);

/// The variable parts of the path, if they are text.
type Params = Result<RawPathParams, RawPathParamsRejection>;

/// A path that is not valid text matches nothing.
fn unreadable() -> Response {
    Problem::not_found("nothing found at this address").into_response()
}

/// Authenticates the client, and records every modifying request in the audit log.
pub(crate) async fn authenticate(
    State(app): State<App>,
    params: Params,
    mut request: Request,
    next: Next,
) -> Response {
    let Ok(params) = params else { return unreadable() };
    let peer = request.extensions().get::<Peer>().map(|peer| peer.0.ip());
    let session = session_in(&params);
    let mut entry = entry(&request, session, peer);
    let principal = match identify(&app, request.headers(), peer) {
        Ok(principal) => principal,
        Err(problem) => {
            if problem.code() == "wrong_token" {
                entry.status = problem.status().as_u16();
                app.audit().add(&entry);
            }
            return problem.into_response();
        }
    };
    let span = tracing::Span::current();
    span.record("who", &principal.name);
    if let Some(session) = &entry.session {
        span.record("session", session);
    }
    entry.who = Some(principal.name.clone());
    entry.token = Some(principal.token_id.clone());
    let changes = !matches!(*request.method(), Method::GET | Method::HEAD);
    request.extensions_mut().insert(principal);
    let response = next.run(request).await;
    if changes {
        entry.status = response.status().as_u16();
        entry.detail = response.extensions().get::<Audited>().map(|audited| audited.0.clone());
        app.audit().add(&entry);
    }
    response
}

fn session_in(params: &RawPathParams) -> Option<String> {
    params.iter().find(|(name, _)| *name == "id").map(|(_, id)| id.to_owned())
}

fn entry(request: &Request, session: Option<String>, peer: Option<IpAddr>) -> AuditEntry {
    let route = request.extensions().get::<MatchedPath>().map_or("", MatchedPath::as_str);
    let id = request.extensions().get::<RequestId>().map(|id| id.0.clone());
    AuditEntry {
        at: now_ms(),
        who: None,
        token: None,
        action: format!("{} {route}", request.method()),
        session,
        detail: None,
        status: 0,
        peer: peer.map(|peer| peer.to_string()),
        request: id.unwrap_or_default(),
    }
}

/// A wrong token counts as an attempt. After too many attempts from one address, further wrong tokens are refused
/// without an audit entry; a valid token still works, so that no one can lock out others.
fn identify(app: &App, headers: &HeaderMap, peer: Option<IpAddr>) -> Result<Principal, Problem> {
    let unauthorized = |code, detail| Problem::new(StatusCode::UNAUTHORIZED, code, detail);
    if headers.get_all(header::AUTHORIZATION).iter().count() > 1 {
        // A proxy in between may have checked a different one.
        let detail = "send only one Authorization header";
        return Err(Problem::bad_request("authorization", detail));
    }
    let presented = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    let presented = presented.and_then(|value| {
        let (scheme, token) = value.split_once(' ')?;
        scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
    });
    let Some(presented) = presented else {
        let detail = "send the header `Authorization: Bearer <token>`; create a token with `weir token add`";
        return Err(unauthorized("no_token", detail));
    };
    let (now, limits) = (Instant::now(), &app.settings().limits);
    let Some(principal) = app.tokens().authenticate(presented, now_ms()) else {
        let name = peer.map(|peer| peer.to_string()).unwrap_or_default();
        if let Err(wait) = app.attempts().take(&name, limits.attempts, now) {
            app.metrics().refused_login();
            return Err(Problem::too_many(
                "attempts",
                "too many wrong tokens; wait before trying again",
                wait,
            ));
        }
        app.metrics().refused_login();
        let detail =
            "this token is unknown, was revoked, or has expired; create a new one with `weir token add`";
        return Err(unauthorized("wrong_token", detail));
    };
    let rate = principal.requests_per_minute.map_or(limits.per_token, |per_minute| Rate {
        per_minute,
        burst: per_minute.min(limits.per_token.burst),
    });
    match app.rates().take(&principal.token_id, rate, now) {
        Ok(()) => Ok(principal),
        Err(wait) => Err(Problem::too_many("rate", "too many requests with this token; slow down", wait)),
    }
}

/// Requires the role, and access to the session in the path.
pub(crate) async fn require(
    State(role): State<Role>,
    params: Params,
    request: Request,
    next: Next,
) -> Response {
    let Ok(params) = params else { return unreadable() };
    let Some(principal) = request.extensions().get::<Principal>() else {
        return Problem::internal(&"a route has no authentication").into_response();
    };
    if let Some(problem) = refusal(principal, role, session_in(&params).as_deref()) {
        return problem.into_response();
    }
    next.run(request).await
}

fn refusal(principal: &Principal, role: Role, session: Option<&str>) -> Option<Problem> {
    if let Some(session) = session {
        // The same response as for a missing session, so as not to reveal that it exists.
        if !principal.may_see(session) {
            return Some(Problem::not_found("no such session"));
        }
    } else if principal.session.is_some() && role > Role::Viewer {
        return Some(Problem::forbidden("one_session", "this token is valid for one session only"));
    }
    (principal.role < role).then(|| {
        let detail = format!("this needs the role {role}, and this token has the role {}", principal.role);
        Problem::forbidden("role", detail).with("needs", role.as_str())
    })
}
