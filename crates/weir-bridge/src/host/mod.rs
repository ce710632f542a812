//! The engine for real use: sessions of a [`weir_host::Host`].

mod asking;
mod events;
mod files;
mod pictures;

use std::str::FromStr as _;
use std::sync::PoisonError;

use serde_json::json;
use tokio::sync::{mpsc, oneshot};
use weir_host::{
    Actor, Bye, Cursor, FailureKind, Finished, Format, Host, HostError, Image, ListSessions, MessageMode,
    MessageState, NewMessage, NewSession, SessionId, WatchEvent, WatchQuery,
};
use weir_session::Decision;
use weir_transcript::{BackgroundTask, RequestKind};
use weir_wire::{MessageId, PermissionUpdate, QuestionAnswers, RequestId, RuleDestination, ToolUseId};

use crate::channel::{BoxFuture, OutgoingFile};
use crate::driver::{Engine, EngineError, Prompt};
use crate::engine::{
    Answer, ConversationSettings, Ending, EndingOutcome, Facts, PROMPT_PREFIX, Report, WantedPictures,
};
use asking::content;
use events::{Listener, Suggestions};

/// Runs sessions on a host.
#[derive(Debug, Clone)]
pub struct HostEngine {
    host: Host,
    suggestions: Suggestions,
}

impl HostEngine {
    /// An engine on this host.
    pub fn new(host: Host) -> Self {
        Self { host, suggestions: Suggestions::default() }
    }

    /// Whether the messages of a turn came from elsewhere than a chat, such as the page.
    async fn is_of_others(&self, id: &SessionId, messages: &[MessageId]) -> bool {
        let Ok(known) = self.host.messages(id, None).await else { return false };
        let named = known.iter().filter(|message| messages.contains(&message.message_id));
        let from_chat: Vec<bool> = named
            .map(|message| message.client_id.as_ref().is_some_and(|name| name.starts_with(PROMPT_PREFIX)))
            .collect();
        !from_chat.is_empty() && !from_chat.contains(&true)
    }

    /// The rules that would allow such requests for the rest of the session, as suggested by the CLI.
    fn rules(&self, request: &str) -> Vec<PermissionUpdate> {
        let known = self.suggestions.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(request).cloned().unwrap_or_default()
    }
}

fn failed(error: &HostError) -> EngineError {
    let passing =
        matches!(error, HostError::Busy { .. } | HostError::QueueFull { .. } | HostError::ShuttingDown);
    EngineError { message: sentence(&error.to_string()), passing }
}

/// A sentence with a capital letter and a full stop.
fn sentence(text: &str) -> String {
    let text = text.trim();
    let mut characters = text.chars();
    let first = characters.next().map(|first| first.to_uppercase().to_string()).unwrap_or_default();
    let end = if text.ends_with(['.', '!', '?']) { "" } else { "." };
    format!("{first}{}{end}", characters.as_str())
}

fn session_id(name: &str) -> Result<SessionId, EngineError> {
    SessionId::from_str(name)
        .map_err(|_| EngineError { message: format!("{name} is not a valid session id."), passing: false })
}

impl Engine for HostEngine {
    fn open<'a>(&'a self, settings: &'a ConversationSettings) -> BoxFuture<'a, Result<String, EngineError>> {
        Box::pin(async move {
            let new = NewSession {
                cwd: settings.workspace.clone(),
                key: Some(settings.key.clone()),
                name: Some(settings.name.clone()),
                spec: (*settings.spec).clone(),
                origin: "bridge".to_owned(),
                ..NewSession::default()
            };
            let created =
                self.host.create(new, &Actor::new("bridge")).await.map_err(|error| failed(&error))?;
            Ok(created.session.id)
        })
    }

    fn send<'a>(&'a self, session: &'a str, prompt: Prompt) -> BoxFuture<'a, Result<String, EngineError>> {
        Box::pin(async move {
            let id = session_id(session)?;
            let (pictures, others): (Vec<_>, Vec<_>) =
                prompt.files.into_iter().partition(|file| file.is_picture);
            let mut text = prompt.text;
            if !others.is_empty() {
                let info = self.host.info(&id).await.map_err(|error| failed(&error))?;
                let folder = std::path::PathBuf::from(info.cwd);
                let written = tokio::task::spawn_blocking(move || files::write(&folder, &others)).await;
                let names =
                    written.map_err(|error| EngineError { message: error.to_string(), passing: false })?;
                text = files::mention(&text, &names?);
            }
            let message = NewMessage {
                client_id: Some(prompt.client_id),
                text,
                images: pictures
                    .into_iter()
                    .map(|file| Image { media_type: file.media_type, data: file.data })
                    .collect(),
                mode: if prompt.steer { MessageMode::Steer } else { MessageMode::Queue },
                ..NewMessage::default()
            };
            let by = Actor::new(prompt.by);
            let accepted = self.host.send(&id, message, &by).await.map_err(|error| failed(&error))?;
            if accepted.duplicate && accepted.state == MessageState::Queued {
                // It was held because of a restart. If there is nothing to release, it is already on its way. A turn
                // that was cut off is not continued: its sender is told, and decides.
                let _ = self.host.release(&id, &by).await;
            }
            Ok(accepted.message_id.to_string())
        })
    }

    fn finished<'a>(
        &'a self,
        session: &'a str,
        message: &'a str,
    ) -> BoxFuture<'a, Result<Ending, EngineError>> {
        Box::pin(async move {
            let id = session_id(session)?;
            let finished = self.host.finished(&id, &MessageId::from(message)).await;
            finished.as_ref().map(ending).map_err(failed)
        })
    }

    fn follow<'a>(
        &'a self,
        session: &'a str,
        ready: oneshot::Sender<()>,
        reports: mpsc::UnboundedSender<Report>,
    ) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            let Ok(id) = session_id(session) else { return };
            let Ok(info) = self.host.info(&id).await else { return };
            let cursor = Cursor::new(self.host.epoch(), info.newest_seq, None);
            let mut query = WatchQuery { format: Format::Agent, cursor: Some(cursor), heartbeat: None };
            let mut ready = Some(ready);
            let mut listener = Listener::new(self.suggestions.clone());
            // A viewer that was too slow reconnects where it left off.
            while let Ok(mut watch) = self.host.watch(&id, query.clone()).await {
                let mut is_over = false;
                while let Some(frame) = watch.next().await {
                    if let Some(ready) = ready.take() {
                        let _ = ready.send(());
                    }
                    if let Some(seen) = frame.id() {
                        query.cursor = Some(seen.clone());
                    }
                    let event = match frame.event() {
                        WatchEvent::Agent(event) => event,
                        WatchEvent::Bye(reason) => {
                            is_over = *reason != Bye::Lag;
                            continue;
                        }
                        _ => continue,
                    };
                    if let Some((turn, messages)) = Listener::begins(event)
                        && self.is_of_others(&id, messages).await
                    {
                        listener.leave_out(turn);
                    }
                    let report = listener.report(event);
                    let pictured = listener
                        .take_pictured()
                        .into_iter()
                        .map(|tool| Report::Pictured(WantedPictures::OfTool { tool }));
                    for report in report.into_iter().chain(pictured) {
                        if reports.send(report).is_err() {
                            return;
                        }
                    }
                }
                if is_over {
                    return;
                }
            }
        })
    }

    fn interrupt<'a>(&'a self, session: &'a str, by: &'a str) -> BoxFuture<'a, Result<(), EngineError>> {
        Box::pin(async move {
            let id = session_id(session)?;
            self.host.interrupt(&id, &Actor::new(by)).await.map(|_| ()).map_err(|error| failed(&error))
        })
    }

    fn stop_task<'a>(
        &'a self,
        session: &'a str,
        task: &'a str,
        by: &'a str,
    ) -> BoxFuture<'a, Result<String, EngineError>> {
        Box::pin(async move {
            let id = session_id(session)?;
            let view = self.host.view(&id).await.map_err(|error| failed(&error))?;
            let place = task.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
            let named = || view.tasks.iter().find(|known| known.id.as_str() == task);
            let Some(found) = place.and_then(|place| view.tasks.get(place)).or_else(named) else {
                let message = format!("No such task; {} running in the background.", view.tasks.len());
                return Err(EngineError { message, passing: false });
            };
            self.host.stop_task(&id, &found.id, &Actor::new(by)).await.map_err(|error| failed(&error))?;
            Ok(task_in_words(found))
        })
    }

    fn stop<'a>(&'a self, session: &'a str, by: &'a str) -> BoxFuture<'a, Result<(), EngineError>> {
        Box::pin(async move {
            let id = session_id(session)?;
            self.host.stop(&id, &Actor::new(by)).await.map_err(|error| failed(&error))
        })
    }

    fn answer<'a>(
        &'a self,
        session: &'a str,
        request: &'a str,
        answer: Answer,
        by: &'a str,
    ) -> BoxFuture<'a, Result<(), EngineError>> {
        Box::pin(async move {
            let id = session_id(session)?;
            let found = self.host.request(&id, &RequestId::from(request)).await.ok().flatten();
            let kind = found.map(|request| request.kind);
            let decision = match (answer, kind) {
                (Answer::Deny { message }, _) => Decision::deny(message),
                // A link that the person has opened.
                (Answer::Allow { .. }, Some(RequestKind::Elicitation { .. })) => {
                    Decision::Value(json!({"action": "accept"}))
                }
                (Answer::Allow { always: true }, _) => {
                    Decision::Allow { input: None, remember: self.rules(request) }
                }
                // By default the CLI returns to the mode before the plan, which may not ask at all.
                (Answer::Allow { .. }, Some(RequestKind::Plan { .. })) => {
                    let remember = vec![PermissionUpdate::set_mode("default", RuleDestination::Session)];
                    Decision::Allow { input: None, remember }
                }
                (Answer::Allow { .. }, _) => Decision::allow(),
                (Answer::Choices(choices), Some(RequestKind::Elicitation { form: Some(fields), .. })) => {
                    // Invalid values count as a denial: the card is closed, and the server may ask again.
                    match content(&fields, &choices) {
                        Ok(content) => Decision::Value(json!({"action": "accept", "content": content})),
                        Err(reason) => Decision::deny(reason),
                    }
                }
                (Answer::Choices(choices), _) => {
                    let add = |answers: QuestionAnswers, (question, chosen): (String, Vec<String>)| {
                        answers.choose_all(question, chosen)
                    };
                    Decision::Answers(choices.into_iter().fold(QuestionAnswers::new(), add))
                }
            };
            let answered = self.host.answer(&id, &RequestId::from(request), decision, &Actor::new(by)).await;
            answered.map_err(|error| failed(&error))
        })
    }

    fn set_model<'a>(
        &'a self,
        session: &'a str,
        model: Option<String>,
    ) -> BoxFuture<'a, Result<(), EngineError>> {
        Box::pin(async move {
            let id = session_id(session)?;
            let set = self.host.set_model(&id, model, &Actor::new("bridge")).await;
            set.map(|_| ()).map_err(|error| failed(&error))
        })
    }

    fn pictures<'a>(
        &'a self,
        session: &'a str,
        wanted: &'a WantedPictures,
    ) -> BoxFuture<'a, Vec<OutgoingFile>> {
        Box::pin(async move {
            let Ok(id) = session_id(session) else { return Vec::new() };
            match wanted {
                WantedPictures::OfTool { tool } => {
                    let found = self.host.tool_pictures(&id, &ToolUseId::from(tool.as_str())).await;
                    // A missing picture can still be found in the session.
                    pictures::of_tool(found.unwrap_or_default())
                }
                WantedPictures::Named { text, since } => {
                    let Ok(info) = self.host.info(&id).await else { return Vec::new() };
                    let (text, since) = (text.clone(), *since);
                    let found = move || pictures::named(std::path::Path::new(&info.cwd), &text, since);
                    tokio::task::spawn_blocking(found).await.unwrap_or_default()
                }
            }
        })
    }

    fn calls_with_pictures<'a>(&'a self, session: &'a str, message: &'a str) -> BoxFuture<'a, Vec<String>> {
        Box::pin(async move {
            let Ok(id) = session_id(session) else { return Vec::new() };
            let Ok(view) = self.host.view(&id).await else { return Vec::new() };
            pictures::calls_with_pictures(&view, &MessageId::from(message))
        })
    }

    fn is_idle<'a>(&'a self, session: &'a str) -> BoxFuture<'a, bool> {
        Box::pin(async move {
            let Ok(id) = session_id(session) else { return true };
            let info = self.host.info(&id).await;
            info.map_or(true, |info| !info.has_process && !info.status.is_busy() && info.queued == 0)
        })
    }

    fn folder<'a>(&'a self, folder: &'a str) -> BoxFuture<'a, Result<String, EngineError>> {
        Box::pin(async move {
            let found = self.host.allowed_folder(folder).await.map_err(|error| failed(&error))?;
            Ok(found.to_string_lossy().into_owned())
        })
    }

    fn facts<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Option<Facts>> {
        Box::pin(async move {
            let query = ListSessions { search: Some(key.to_owned()), ..ListSessions::default() };
            let page = self.host.list(query).await.ok()?;
            let info = page.sessions.into_iter().find(|info| info.key.as_deref() == Some(key))?;
            let id = session_id(&info.id).ok()?;
            let view = self.host.view(&id).await.ok();
            let tasks = view.iter().flat_map(|view| &view.tasks).map(task_in_words).collect();
            Some(Facts {
                tasks,
                session: info.id,
                status: info.status.as_str().to_owned(),
                model: info.model,
                workspace: info.cwd,
                cost_usd: info.cost_usd,
                max_cost_usd: info.max_cost_usd,
            })
        })
    }
}

/// Describes a background task in one line, with invisible characters revealed.
fn task_in_words(task: &BackgroundTask) -> String {
    let words = if task.description.is_empty() { task.id.as_str() } else { &task.description };
    let words: String = weir_transcript::reveal(words).chars().take(200).collect();
    words.replace('\n', " ")
}

/// Converts the end of a message for the chat.
fn ending(finished: &Finished) -> Ending {
    let result = finished.turn.as_ref().and_then(|turn| turn.result.as_ref());
    let outcome = match &finished.error {
        None => EndingOutcome::Answered(finished.text.clone()),
        Some(failure) => match failure.kind {
            FailureKind::Interrupted | FailureKind::Stopped | FailureKind::Cancelled => EndingOutcome::Interrupted,
            FailureKind::Restarted => EndingOutcome::Failed(
                "The bridge was restarted while this was being answered, so the answer is incomplete. Send it again, or say how to continue.".to_owned(),
            ),
            _ => EndingOutcome::Failed(sentence(&failure.message)),
        },
    };
    let was_cut_off = finished.error.as_ref().is_some_and(|failure| failure.kind == FailureKind::Restarted);
    Ending {
        turn: finished.turn.as_ref().map_or_else(
            || format!("none-{}", finished.message_id),
            |turn| format!("{}-{}", turn.id, turn.started_at.unwrap_or_default()),
        ),
        outcome,
        degraded: finished.error.is_none() && finished.is_degraded(),
        // If the turn itself failed, the text is the reason.
        said: if was_cut_off { finished.text.trim().to_owned() } else { String::new() },
        cost_usd: finished.cost_usd(),
        usage: result.and_then(|result| result.usage),
        models: finished.turn.as_ref().map(|turn| turn.models.clone()).unwrap_or_default(),
        duration_ms: result.and_then(|result| result.duration_ms),
    }
}
