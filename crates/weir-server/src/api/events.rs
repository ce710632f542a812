//! Event streams: one session in the requested format, or an overview of all sessions.

use std::time::Duration;

use axum::Extension;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use bytes::Bytes;
use futures_util::stream;
use tokio::sync::watch;
use tokio::time::{Instant, Interval, MissedTickBehavior};
use weir_base::time::now_ms;
use weir_host::{
    AllEvent, Bye, Cursor, Format, HeartbeatEvent, HelloEvent, ListSessions, ResumeKind, SessionInfo, Watch,
    WatchAll, WatchEvent, WatchQuery,
};

use super::errors::session_id;
use super::sse::{self, Holder};
use super::types::{ByeEvent, ByeReason, EventFormat, EventParams, LoopView, RemovedEvent, SessionsEvent};
use crate::auth::Principal;
use crate::extract::{Path, Query};
use crate::loops::Loops;
use crate::problem::Problem;
use crate::state::{App, Phase};
use crate::streams::{NoStream, StreamSlot};

/// How many sessions the stream of all sessions starts with.
const NEWEST: usize = 100;

/// Streams the events of a session.
///
/// `hello` comes first and says how the stream continues: `fresh`, `ok` (after `Last-Event-ID`), or `gap` (that event
/// is not in this log). With `view`, a `snapshot` follows, then `changes`; with the other formats, the logged events
/// after that point, then live ones. Only events with an `id` are in the log. `heartbeat` is sent when nothing else is,
/// and `bye` with a reason before the server closes the stream.
#[utoipa::path(get, path = "/v1/sessions/{id}/events", tag = "events",
    params(
        ("id" = String, Path, description = "The session."),
        EventParams,
        ("Last-Event-ID" = Option<String>, Header, description = "Id of the last event received."),
    ),
    responses((status = 200, description = "The events.", content_type = "text/event-stream")))]
pub(crate) async fn session(
    State(app): State<App>,
    Extension(who): Extension<Principal>,
    Path(id): Path<String>,
    Query(params): Query<EventParams>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let id = session_id(&id)?;
    let query = WatchQuery {
        format: match params.format {
            EventFormat::View => Format::View,
            EventFormat::Agent => Format::Agent,
            EventFormat::Classic => Format::Classic,
            EventFormat::Raw => Format::Raw,
        },
        cursor: cursor(&headers)?,
        heartbeat: Some(app.settings().heartbeat),
    };
    let slot = stream_slot(&app, &who)?;
    // Before the watch, so that a revocation in between is noticed.
    let holder = Holder::new(app.tokens(), &who);
    let watch = app.host().watch(&id, query).await?;
    let viewer = Viewer { app, watch, holder, is_over: false, _slot: slot };
    Ok(sse::respond(stream::unfold(viewer, Viewer::next)))
}

fn cursor(headers: &HeaderMap) -> Result<Option<Cursor>, Problem> {
    let Some(value) = headers.get("last-event-id").filter(|value| !value.is_empty()) else { return Ok(None) };
    let parsed = value.to_str().ok().and_then(|text| text.parse().ok());
    parsed.map(Some).ok_or_else(|| {
        let detail = "Last-Event-ID must be the id of an event of this stream, or be left out";
        Problem::bad_request("last_event_id", detail)
    })
}

/// Reserves a slot for another stream.
pub(crate) fn stream_slot(app: &App, who: &Principal) -> Result<StreamSlot, Problem> {
    let later = Duration::from_secs(10);
    app.streams().take(who, &app.settings().limits).map_err(|refused| match refused {
        NoStream::Server => {
            let detail = "too many streams are open on this server; try again later";
            Problem::new(StatusCode::SERVICE_UNAVAILABLE, "streams", detail).retry_after(later)
        }
        NoStream::Token => {
            let detail = "this token has reached its limit of open streams; close some";
            Problem::too_many("token_streams", detail, later)
        }
    })
}

/// A viewer of one session.
struct Viewer {
    app: App,
    watch: Watch,
    holder: Holder,
    is_over: bool,
    _slot: StreamSlot,
}

impl Viewer {
    async fn next(mut self) -> Option<(Bytes, Self)> {
        if self.is_over {
            return None;
        }
        let bytes = tokio::select! {
            biased;
            reason = self.holder.ended() => {
                self.is_over = true;
                sse::event("bye", &ByeEvent { reason })
            }
            frame = self.watch.next() => {
                let frame = frame?;
                if matches!(frame.event(), WatchEvent::Bye(Bye::Lag)) {
                    self.app.metrics().lagged();
                }
                frame.encoded(sse::encode)
            }
        };
        self.app.metrics().sent(bytes.len());
        Some((bytes, self))
    }
}

/// Streams changes of all sessions that the client may see: `hello`, `sessions` with the newest, then `session` and
/// `removed`. If a loop runs in the server, `loop` says what it is doing, as `GET /v1/loop` does.
#[utoipa::path(get, path = "/v1/events", tag = "events",
    responses((status = 200, description = "The events.", content_type = "text/event-stream")))]
pub(crate) async fn all(
    State(app): State<App>,
    Extension(who): Extension<Principal>,
) -> Result<Response, Problem> {
    let slot = stream_slot(&app, &who)?;
    let holder = Holder::new(app.tokens(), &who);
    // Before the list, so that changes in between follow it.
    let watch = app.host().watch_all();
    let sessions = match &who.session {
        Some(only) => app.host().info(&session_id(only)?).await.into_iter().collect(),
        None => newest(&app).await?,
    };
    let heartbeat = app.settings().heartbeat;
    let hello = HelloEvent {
        resume: ResumeKind::Fresh,
        epoch: app.host().epoch().to_owned(),
        seq: 0,
        heartbeat_ms: u64::try_from(heartbeat.as_millis()).ok(),
    };
    let first = vec![sse::event("sessions", &SessionsEvent { sessions }), sse::event("hello", &hello)];
    let mut beats = tokio::time::interval_at(Instant::now() + heartbeat, heartbeat);
    beats.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let loops = LoopWatch::new(&app, &who);
    let observer = Observer { app, who, watch, loops, holder, first, beats, is_over: false, _slot: slot };
    Ok(sse::respond(stream::unfold(observer, Observer::next)))
}

async fn newest(app: &App) -> Result<Vec<SessionInfo>, Problem> {
    let query = ListSessions { archived: Some(false), limit: Some(NEWEST), ..ListSessions::default() };
    Ok(app.host().list(query).await?.sessions)
}

/// How long to wait at least between two events about the loop, whose gates and limits change all the time.
const LOOP_INTERVAL: Duration = Duration::from_millis(200);

/// Follows the loop that runs in the server.
struct LoopWatch {
    loops: Option<Loops>,
    changes: watch::Receiver<u64>,
    /// When the next event may be sent.
    next_at: Instant,
}

impl LoopWatch {
    fn new(app: &App, who: &Principal) -> Self {
        let mut changes = app.loops().changes();
        // What is there now is told first.
        changes.mark_changed();
        let loops = who.session.is_none().then(|| app.loops().clone());
        Self { loops, changes, next_at: Instant::now() }
    }

    /// Waits until the loop has changed. Cancel safe.
    async fn next(&mut self) -> LoopView {
        let Some(loops) = &self.loops else { return std::future::pending().await };
        loop {
            if !self.changes.has_changed().unwrap_or(false) {
                if self.changes.changed().await.is_err() {
                    // The server is gone.
                    std::future::pending::<()>().await;
                }
                // If this is cancelled while it waits, the change is still to be told.
                self.changes.mark_changed();
            }
            tokio::time::sleep_until(self.next_at).await;
            self.changes.borrow_and_update();
            if let Some(run) = loops.run() {
                self.next_at = Instant::now() + LOOP_INTERVAL;
                return run.view();
            }
        }
    }
}

/// A viewer of all sessions.
struct Observer {
    app: App,
    who: Principal,
    watch: WatchAll,
    loops: LoopWatch,
    holder: Holder,
    /// The initial frames, in reverse order.
    first: Vec<Bytes>,
    beats: Interval,
    is_over: bool,
    _slot: StreamSlot,
}

impl Observer {
    async fn next(mut self) -> Option<(Bytes, Self)> {
        if self.is_over {
            return None;
        }
        let bytes = match self.first.pop() {
            Some(bytes) => bytes,
            None => self.wait().await,
        };
        self.app.metrics().sent(bytes.len());
        Some((bytes, self))
    }

    async fn wait(&mut self) -> Bytes {
        let mut phases = self.app.phases();
        loop {
            let event = tokio::select! {
                biased;
                reason = self.holder.ended() => return self.bye(reason),
                _ = phases.wait_for(|phase| *phase == Phase::Closing) => return self.bye(ByeReason::Shutdown),
                event = self.watch.next() => event,
                view = self.loops.next() => return sse::event("loop", &view),
                _ = self.beats.tick() => return sse::event("heartbeat", &HeartbeatEvent { at: now_ms() }),
            };
            self.beats.reset();
            match event {
                None => return self.bye(ByeReason::Shutdown),
                Some(AllEvent::Session(info)) if self.who.may_see(&info.id) => {
                    return sse::event("session", &info);
                }
                Some(AllEvent::Removed { id }) if self.who.may_see(&id) => {
                    return sse::event("removed", &RemovedEvent { id });
                }
                Some(_) => {}
            }
        }
    }

    fn bye(&mut self, reason: ByeReason) -> Bytes {
        self.is_over = true;
        sse::event("bye", &ByeEvent { reason })
    }
}
