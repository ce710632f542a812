//! Editors over HTTP: the remote transport of the Agent Client Protocol at `/acp`, with the same tokens and roles as
//! everything else.

mod guard;
mod holders;

use axum::Extension;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{Method, header};
use axum::response::Response;
use futures_util::StreamExt as _;
use weir_acp::{CONNECTION, SESSION};

use crate::api::{Holder, stream_slot};
use crate::auth::Principal;
use crate::problem::Problem;
use crate::state::{App, Phase};
pub(crate) use guard::TokenGuard;
pub(crate) use holders::Holders;

/// Answers a request of an editor. Which method it is about and what it needs is decided by the agent, which asks the
/// token's guard.
pub(crate) async fn answer(
    State(app): State<App>,
    Extension(who): Extension<Principal>,
    request: Request,
) -> Result<Response, Problem> {
    let method = request.method().clone();
    if method == Method::OPTIONS || method == Method::HEAD {
        return Err(Problem::bad_request("method", "an editor sends POST, GET or DELETE"));
    }
    let named = text(request.headers(), CONNECTION);
    if let Some(session) = text(request.headers(), SESSION)
        && !who.may_see(&session)
    {
        return Err(Problem::not_found("no such session"));
    }
    let holder = app.editors().holder(&app, &who);
    // Kept until the new connection is noted, so that requests at the same time do not open more.
    let room = if method == Method::POST && named.is_none() {
        let detail = "this token has reached its limit of connections of editors; close some";
        let full = || Problem::too_many("editors", detail, std::time::Duration::from_secs(60));
        Some(holder.room().ok_or_else(full)?)
    } else {
        None
    };
    // Taken before the stream is opened, and kept as long as it is.
    let slot = if method == Method::GET { Some(stream_slot(&app, &who)?) } else { None };
    let in_use = named.as_deref().and_then(|id| holder.touch(id));
    let response = holder.remote().answer(request).await;
    if let Some(id) = text(response.headers(), CONNECTION).filter(|_| named.is_none()) {
        holder.opened(id);
    }
    drop(room);
    if method == Method::DELETE
        && let Some(id) = &named
    {
        holder.closed(id);
    }
    let is_stream = text(response.headers(), header::CONTENT_TYPE.as_str())
        .is_some_and(|kind| kind.starts_with("text/event-stream"));
    Ok(if is_stream { with_end(&app, &who, response, (slot, in_use)) } else { response })
}

/// A stream that ends with its token and with the server. `kept` is kept as long as the stream is.
fn with_end(app: &App, who: &Principal, response: Response, kept: impl Send + 'static) -> Response {
    let (parts, body) = response.into_parts();
    let mut holder = Holder::new(app.tokens(), who);
    let mut phases = app.phases();
    let ended = async move {
        tokio::select! {
            _ = holder.ended() => {}
            _ = phases.wait_for(|phase| *phase == Phase::Closing) => {}
        }
    };
    let stream = body.into_data_stream().take_until(Box::pin(ended)).map(move |chunk| {
        let _ = &kept;
        chunk
    });
    let mut response = Response::from_parts(parts, Body::from_stream(stream));
    let headers = response.headers_mut();
    headers.insert(header::CACHE_CONTROL, header::HeaderValue::from_static("no-cache, no-transform"));
    headers.insert("x-accel-buffering", header::HeaderValue::from_static("no"));
    response
}

fn text(headers: &axum::http::HeaderMap, name: &str) -> Option<String> {
    headers.get(name)?.to_str().ok().map(str::to_owned)
}
