//! A request in its session: its turn is started, or found if the request is a retry.

use std::sync::Arc;

use axum::http::HeaderMap;
use weir_base::time::now_ms;
use weir_host::{Cursor, Format, Image, NewMessage, Watch, WatchQuery};
use weir_openai::reply::{Answer, Reply, Usage};
use weir_openai::{Attempt, AttemptHeaders, OpenAiError, OutputFormat, Place, Request, Verdict, place};

use super::errors::{of_host, of_problem};
use super::histories::Begun;
use super::progress::{Piece, Progress};
use super::settle::{RequestContext, settle};
use super::setup::{Choice, find};
use super::turn::{Attendance, Outcome, Turn};
use crate::api::may_begin;
use crate::auth::Principal;
use crate::state::App;
use crate::streams::StreamSlot;

/// A request's own headers.
#[derive(Debug, Clone)]
pub(super) struct Call {
    pub(super) attempt: Attempt,
    choice: Choice,
    tells_tools: bool,
}

impl Call {
    pub(super) fn read(
        who: &Principal,
        endpoint: weir_openai::Endpoint,
        headers: &HeaderMap,
        body: &[u8],
    ) -> Result<Self, OpenAiError> {
        let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
        let tools = header("x-weir-tools");
        let tells_tools = match tools {
            None | Some("hidden") => false,
            Some("reasoning") => true,
            Some(_) => {
                return Err(OpenAiError::invalid(
                    "x-weir-tools",
                    "X-Weir-Tools must be hidden or reasoning.",
                ));
            }
        };
        let (session, folder) = (header("x-weir-session"), header("x-weir-cwd"));
        let tries = AttemptHeaders {
            idempotency_key: header("idempotency-key"),
            retry_count: header("x-stainless-retry-count"),
        };
        let attempt = weir_openai::attempt(&who.token_id, endpoint, tries, &[session, folder, tools], body);
        let choice = Choice { session: session.map(str::to_owned), folder: folder.map(str::to_owned) };
        Ok(Self { attempt, choice, tells_tools })
    }
}

/// A request whose turn is running or has ended.
pub(super) struct Conversation {
    pub(super) app: App,
    pub(super) turn: Arc<Turn>,
    pub(super) context: RequestContext,
    pub(super) reply: Reply,
    pub(super) watch: Watch,
    /// Whether tools are reported as reasoning.
    pub(super) tells_tools: bool,
    /// Whether the turn was started by an earlier attempt.
    pub(super) is_attached: bool,
    /// How long the same request gets the same failure, in seconds.
    pub(super) replayed_for: Option<i64>,
    /// Why the message before this one got no answer.
    pub(super) earlier_failure: Option<String>,
    /// Slot among the server's streams, if the response is a stream.
    _slot: Option<StreamSlot>,
    _attendance: Attendance,
}

/// A turn that was started or found.
struct Opened {
    turn: Arc<Turn>,
    attendance: Attendance,
    context: RequestContext,
    reply: Reply,
    is_attached: bool,
    replayed_for: Option<i64>,
    earlier_failure: Option<String>,
}

impl Conversation {
    /// Starts the turn of a request, or finds the one that an earlier attempt started.
    pub(super) async fn open(
        app: App,
        who: Principal,
        request: Request,
        call: Call,
        slot: Option<StreamSlot>,
    ) -> Result<Self, OpenAiError> {
        let tells_tools = call.tells_tools;
        // In a separate task: a client that disconnects halfway must not leave an unregistered turn behind.
        let opening = tokio::spawn(open(app.clone(), who, request, call));
        let opened = opening.await.map_err(|error| OpenAiError::failed(error.to_string()))??;
        let Opened { turn, attendance, context, reply, is_attached, replayed_for, earlier_failure } = opened;
        let host = app.host();
        let session = turn.session().ok_or_else(|| OpenAiError::failed("the session has no id"))?;
        let cursor = Some(Cursor::new(host.epoch(), turn.begun.seq, None));
        let query = WatchQuery { format: Format::Agent, cursor, heartbeat: Some(app.settings().heartbeat) };
        let watch = host.watch(&session, query).await.map_err(of_host)?;
        Ok(Self {
            turn,
            context,
            reply,
            watch,
            tells_tools,
            is_attached,
            replayed_for,
            earlier_failure,
            _slot: slot,
            _attendance: attendance,
            app,
        })
    }

    /// Whether text that the agent writes along the way is part of the answer.
    pub(super) fn streams_text(&self) -> bool {
        self.context.format == OutputFormat::Text
    }

    /// The complete answer, with the agent's tools if they are reported.
    pub(super) async fn whole(&mut self) -> Result<(Answer, Usage), OpenAiError> {
        let turn = Arc::clone(&self.turn);
        let mut ending = Box::pin(turn.ended());
        let (mut progress, mut reasoning) = (Progress::default(), String::new());
        let mut listens = self.tells_tools;
        let outcome = loop {
            tokio::select! {
                biased;
                frame = self.watch.next(), if listens => match frame {
                    Some(frame) => {
                        if let Some(Piece::Reasoning(text)) = progress.take(frame.event()) {
                            reasoning.push_str(&text);
                        }
                    }
                    // A client that is too slow to watch still gets the complete answer.
                    None => listens = false,
                },
                outcome = &mut ending => break outcome,
            }
        };
        match &*outcome {
            Outcome::Answer(answer, usage) => {
                let reasoning = Some(reasoning).filter(|reasoning| !reasoning.is_empty());
                Ok((Answer { reasoning, ..answer.clone() }, *usage))
            }
            Outcome::Error(error) => Err(error.clone()),
        }
    }
}

async fn open(app: App, who: Principal, request: Request, call: Call) -> Result<Opened, OpenAiError> {
    let by = who.actor();
    let place = place(&request, &who.token_id, call.choice.folder.as_deref());
    let slot = app.front().slot(&call.attempt.key);
    let mut held = slot.lock().await;
    let known = held.as_ref().map(|turn| turn.known());
    let verdict = weir_openai::judge(&call.attempt, known);
    let replayed_for =
        known.filter(|_| !call.attempt.is_retry).and_then(|known| known.stage.replays_for_ms());
    let replayed_for = replayed_for.filter(|_| verdict == Verdict::Attach).map(|left| left / 1_000 + 1);
    let opened = |turn: Arc<Turn>, reply: Reply, claim, earlier_failure, is_attached| {
        let context = RequestContext::new(&request, place.clone(), &who.token_id, reply.id().to_owned());
        let attendance = turn.attend(&app, &by);
        settle(&app, &turn, context.clone(), by.clone(), claim);
        Opened { turn, attendance, context, reply, is_attached, replayed_for, earlier_failure }
    };
    match (verdict, held.as_ref()) {
        (Verdict::KeyReused, _) => Err(OpenAiError {
            code: Some("idempotency_key_reused".to_owned()),
            ..OpenAiError::invalid(
                "idempotency-key",
                "Another request was sent with this Idempotency-Key; use a new one for each request.",
            )
        }),
        (Verdict::Attach, Some(turn)) => {
            let reply = Reply::new(&request, &turn.begun.reply, turn.begun.at / 1_000);
            Ok(opened(Arc::clone(turn), reply, None, None, true))
        }
        (Verdict::Attach | Verdict::Begin, _) => {
            may_begin(&app, &who).map_err(|problem| of_problem(&problem))?;
            let id = uuid::Uuid::new_v4().simple().to_string();
            let (turn, claim, failure) = begin(&app, &who, &request, &place, &call, id.clone()).await?;
            let turn = Arc::new(turn);
            *held = Some(Arc::clone(&turn));
            let reply = Reply::new(&request, &id, turn.begun.at / 1_000);
            Ok(opened(turn, reply, claim, failure, false))
        }
    }
}

/// Sends the prompt to the session of a request.
async fn begin(
    app: &App,
    who: &Principal,
    request: &Request,
    place: &Place,
    call: &Call,
    reply: String,
) -> Result<(Turn, Option<super::front::Claim>, Option<String>), OpenAiError> {
    let target = find(app, who, request, place, &call.choice).await?;
    let (host, by) = (app.host(), who.actor());
    let info = host.info(&target.session).await.map_err(of_host)?;
    let images =
        target.images.into_iter().map(|image| Image { media_type: image.media_type, data: image.data });
    let message = NewMessage {
        client_id: Some(format!("openai-{reply}")),
        text: target.text,
        images: images.collect(),
        ..NewMessage::default()
    };
    let accepted = host.send(&target.session, message, &by).await.map_err(of_host)?;
    let begun = Begun {
        session: target.session.to_string(),
        message: accepted.message_id.to_string(),
        seq: info.newest_seq,
        reply,
        at: now_ms(),
        body: call.attempt.body.clone(),
        setup: target.setup,
    };
    app.front().histories().begun(call.attempt.key.clone(), begun.clone());
    Ok((Turn::new(begun), target.claim, target.earlier_failure))
}
