//! A request in its session: found by its history, by name, or begun.

use axum::http::HeaderMap;
use weir_host::{
    Actor, ConversationId, Cursor, Finished, Format, Host, Image, NewMessage, NewSession, Watch, WatchQuery,
};
use weir_openai::reply::{Answer, Usage};
use weir_openai::{OpenAiError, Place, Request, place};
use weir_wire::MessageId;

use super::errors::{of_failure, of_host, of_problem};
use super::progress::{Piece, Progress};
use crate::api::may_begin;
use crate::auth::Principal;
use crate::state::App;

/// A request whose prompt was given to a session.
pub(super) struct Conversation {
    pub(super) app: App,
    id: ConversationId,
    message: MessageId,
    place: Place,
    owner: String,
    pub(super) watch: Watch,
    /// Tools are told as reasoning.
    pub(super) tells_tools: bool,
    turn: RunningTurn,
}

/// A turn that ends when nobody waits for it any more.
struct RunningTurn {
    host: Host,
    id: ConversationId,
    by: Actor,
    is_over: bool,
}

impl Drop for RunningTurn {
    fn drop(&mut self) {
        if !self.is_over {
            let (host, id, by) = (self.host.clone(), self.id.clone(), self.by.clone());
            tokio::spawn(async move { host.interrupt(&id, &by).await });
        }
    }
}

impl Conversation {
    /// Finds or begins the session of a request, and gives it the prompt.
    pub(super) async fn begin(
        app: App,
        who: &Principal,
        request: &Request,
        headers: &HeaderMap,
    ) -> Result<Self, OpenAiError> {
        may_begin(&app, who).map_err(|problem| of_problem(&problem))?;
        let place = place(request, &who.token_id);
        let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
        let tells_tools = match header("x-weir-tools") {
            None | Some("hidden") => false,
            Some("reasoning") => true,
            Some(_) => {
                return Err(OpenAiError::invalid(
                    "x-weir-tools",
                    "X-Weir-Tools must be hidden or reasoning.",
                ));
            }
        };
        let known = find(&app, who, request, &place, header("x-weir-session")).await?;
        let is_new = known.is_none();
        let by = who.actor();
        let id = match known {
            Some(id) => id,
            None => create(&app, request, &place, header("x-weir-cwd"), &by).await?,
        };
        let mut images = place.prompt.images.clone();
        if is_new {
            let earlier = place.so_far.iter().flat_map(|turn| turn.images.clone());
            images = earlier.chain(images).collect();
        }
        let text = if is_new { place.prompt_with_history() } else { place.prompt.text.clone() };
        let images = images.into_iter().map(|image| Image { media_type: image.media_type, data: image.data });
        let message = NewMessage { text, images: images.collect(), ..NewMessage::default() };
        let host = app.host().clone();
        let info = host.info(&id).await.map_err(|error| of_host(&error))?;
        let cursor = Some(Cursor::new(host.epoch(), info.newest_seq, None));
        let query = WatchQuery { format: Format::Agent, cursor, heartbeat: Some(app.settings().heartbeat) };
        let watch = host.watch(&id, query).await.map_err(|error| of_host(&error))?;
        let accepted = host.send(&id, message, &by).await.map_err(|error| of_host(&error))?;
        let turn = RunningTurn { host, id: id.clone(), by, is_over: false };
        let (owner, message) = (who.token_id.clone(), accepted.message_id);
        Ok(Self { app, id, message, place, owner, watch, tells_tools, turn })
    }

    /// The session's name.
    pub(super) fn session(&self) -> &str {
        self.id.as_str()
    }

    /// Waits for the answer.
    pub(super) async fn finished(
        host: Host,
        id: ConversationId,
        message: MessageId,
    ) -> Result<Finished, OpenAiError> {
        let finished = host.finished(&id, &message).await.map_err(|error| of_host(&error))?;
        match &finished.error {
            Some(failure) => Err(of_failure(failure)),
            None => Ok(finished),
        }
    }

    /// What to wait for, apart from the conversation itself.
    pub(super) fn parts(&self) -> (Host, ConversationId, MessageId) {
        (self.app.host().clone(), self.id.clone(), self.message.clone())
    }

    /// The answer in one piece, with what the agent did where that is told.
    pub(super) async fn whole(mut self, reply: &str) -> Result<(Answer, Usage), OpenAiError> {
        let (host, id, message) = self.parts();
        let mut ending = Box::pin(Self::finished(host, id, message));
        let (mut progress, mut reasoning) = (Progress::default(), String::new());
        let mut listens = self.tells_tools;
        let finished = loop {
            tokio::select! {
                biased;
                frame = self.watch.next(), if listens => match frame {
                    Some(frame) => {
                        if let Some(Piece::Reasoning(text)) = progress.hear(frame.event(), frame.data()) {
                            reasoning.push_str(&text);
                        }
                    }
                    // Whoever is too slow to watch still gets the whole answer.
                    None => listens = false,
                },
                finished = &mut ending => break finished,
            }
        };
        self.turn.is_over = true;
        let finished = finished?;
        self.remember(&finished.text, reply);
        let reasoning = Some(reasoning).filter(|reasoning| !reasoning.is_empty());
        Ok((Answer { text: finished.text.clone(), reasoning }, usage(&finished)))
    }

    /// The turn is over; nothing is to be ended any more.
    pub(super) fn is_over(&mut self) {
        self.turn.is_over = true;
    }

    /// Remembers how the client will come back: with this answer at the end of its history, or with the reply's id.
    pub(super) fn remember(&self, answer: &str, reply: &str) {
        let mut histories = self.app.histories();
        histories.put(self.place.after(answer), self.id.to_string());
        histories.put(format!("{}/{reply}", self.owner), self.id.to_string());
    }
}

async fn find(
    app: &App,
    who: &Principal,
    request: &Request,
    place: &Place,
    named: Option<&str>,
) -> Result<Option<ConversationId>, OpenAiError> {
    let missing = |param: &str, name: &str| OpenAiError {
        status: 404,
        ..OpenAiError::invalid(
            param,
            format!("There is no '{name}' here; leave it out to begin a new session."),
        )
    };
    if let Some(name) = named {
        let id = name.parse().ok().filter(|_| who.may_see(name));
        let id: ConversationId = id.ok_or_else(|| missing("x-weir-session", name))?;
        app.host().info(&id).await.map_err(|_| missing("x-weir-session", name))?;
        return Ok(Some(id));
    }
    let key = match (&request.previous, &place.before) {
        (Some(previous), _) => format!("{}/{previous}", who.token_id),
        (None, Some(before)) => before.clone(),
        (None, None) => return Ok(None),
    };
    let session = app.histories().take(&key);
    let id = session.and_then(|session| session.parse().ok());
    if let (None, Some(previous)) = (&id, &request.previous) {
        return Err(missing("previous_response_id", previous));
    }
    // One that was deleted meanwhile is begun anew.
    let Some(id): Option<ConversationId> = id else { return Ok(None) };
    Ok(app.host().info(&id).await.is_ok().then_some(id))
}

async fn create(
    app: &App,
    request: &Request,
    place: &Place,
    cwd: Option<&str>,
    by: &Actor,
) -> Result<ConversationId, OpenAiError> {
    let root = app.settings().roots.first().map(|root| root.to_string_lossy().into_owned());
    let title: String = place.prompt.text.lines().next().unwrap_or_default().chars().take(80).collect();
    let new = NewSession {
        cwd: cwd.map(str::to_owned).or(root).unwrap_or_default(),
        name: Some(title).filter(|title| !title.trim().is_empty()),
        model: Some(request.model.clone()).filter(|model| model != "default"),
        append_system_prompt: place.instructions.clone(),
        ask_timeout_s: u32::try_from(app.settings().unattended_ask_timeout.as_secs().max(1)).ok(),
        origin: "openai".to_owned(),
        ..NewSession::default()
    };
    let created = app.host().create(new, by).await.map_err(|error| of_host(&error))?;
    created.session.id.parse().map_err(|_| OpenAiError::failed("the session has no name"))
}

/// What a turn used.
pub(super) fn usage(finished: &Finished) -> Usage {
    let usage = finished.turn.as_ref().and_then(|turn| turn.result.as_ref()).map(|result| result.usage);
    usage.map_or_else(Usage::default, |usage| Usage {
        input_tokens: usage.input_tokens + usage.cache_read_input_tokens + usage.cache_creation_input_tokens,
        cached_tokens: usage.cache_read_input_tokens,
        output_tokens: usage.output_tokens,
    })
}
