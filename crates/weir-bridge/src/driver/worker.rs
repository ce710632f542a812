//! Carries out the commands of one scope, one after another, and forwards the engine's reports.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio::task::{AbortHandle, JoinSet};
use weir_base::time::now_ms;

use super::engine::{Engine, EngineError, Prompt, PromptFile};
use super::pictures::{ReportedCalls, keep};
use crate::channel::Attachment;
use crate::engine::{Command, ConversationSettings, EndingOutcome, Pictures, Report, WantedPictures};
use crate::machine::Event;
use crate::store::BridgeStore;

/// After this long without a command or a running prompt, idle conversations are no longer followed.
pub(super) const IDLE_TIMEOUT: Duration = Duration::from_secs(11 * 60);

/// The parts that all workers share.
#[derive(Debug, Clone)]
pub(super) struct Parts {
    pub(super) engine: Arc<dyn Engine>,
    pub(super) store: Arc<BridgeStore>,
    pub(super) tell: mpsc::UnboundedSender<Event>,
}

impl Parts {
    fn tell(&self, scope: &str, conversation: &str, report: Report) {
        let (scope, conversation) = (scope.to_owned(), conversation.to_owned());
        let _ = self.tell.send(Event::Reported { scope, conversation, report });
    }

    /// Stores pictures and reports them.
    async fn report_pictures(&self, scope: &str, conversation: &str, session: &str, wanted: &WantedPictures) {
        let files = self.engine.pictures(session, wanted).await;
        let kept = keep(&self.store, files).await;
        if !kept.is_empty() {
            self.tell(scope, conversation, Report::Pictures(kept));
        }
    }

    /// Reports the pictures of a tool call, unless that was done before. They have been reported when this returns, by
    /// this call or by a concurrent one.
    async fn report_pictures_of_call(
        &self,
        reported: &ReportedCalls,
        scope: &str,
        conversation: &str,
        session: &str,
        call: &str,
    ) {
        let mut reported = reported.lock().await;
        let call = (session.to_owned(), call.to_owned());
        if !reported.contains(&call) {
            let wanted = WantedPictures::OfTool { tool: call.1.clone() };
            self.report_pictures(scope, conversation, session, &wanted).await;
            // Only now, because this task may be aborted before.
            reported.insert(call);
        }
    }
}

/// Carries out the commands of a scope.
pub(super) struct Worker {
    scope: String,
    parts: Parts,
    /// Number of commands that it had received when it became idle.
    idle_after: Arc<AtomicU64>,
    /// The conversations that are followed, by key.
    follows: HashMap<String, Follow>,
    listening: JoinSet<()>,
    /// Prompts whose turns have not ended.
    prompts: JoinSet<()>,
    reported: ReportedCalls,
}

struct Follow {
    session: String,
    task: AbortHandle,
}

impl Worker {
    pub(super) fn new(scope: String, parts: Parts, idle_after: Arc<AtomicU64>) -> Self {
        Self {
            scope,
            parts,
            idle_after,
            follows: HashMap::new(),
            listening: JoinSet::new(),
            prompts: JoinSet::new(),
            reported: ReportedCalls::default(),
        }
    }

    /// Runs until its handle is dropped.
    pub(super) async fn run(
        mut self,
        mut commands: mpsc::UnboundedReceiver<(ConversationSettings, Command)>,
    ) {
        let mut received = 0;
        let mut is_idle = false;
        loop {
            let next = tokio::select! {
                next = commands.recv() => next,
                Some(_) = self.prompts.join_next() => continue,
                () = tokio::time::sleep(IDLE_TIMEOUT), if !is_idle && self.prompts.is_empty() => {
                    is_idle = self.unfollow_idle().await;
                    if is_idle {
                        self.idle_after.store(received, Ordering::Release);
                    }
                    continue;
                }
            };
            let Some((conversation, command)) = next else { return };
            received += 1;
            is_idle = false;
            self.carry_out(&conversation, command).await;
        }
    }

    /// Stops following idle conversations. Returns whether no conversation is followed any more.
    async fn unfollow_idle(&mut self) -> bool {
        let mut busy = HashMap::new();
        for (key, follow) in self.follows.drain() {
            if self.parts.engine.is_idle(&follow.session).await {
                follow.task.abort();
            } else {
                busy.insert(key, follow);
            }
        }
        self.follows = busy;
        while self.listening.try_join_next().is_some() {}
        self.follows.is_empty()
    }

    fn report(&self, conversation: &str, report: Report) {
        self.parts.tell(&self.scope, conversation, report);
    }

    async fn carry_out(&mut self, conversation: &ConversationSettings, command: Command) {
        let key = conversation.key.as_str();
        let engine = Arc::clone(&self.parts.engine);
        match command {
            Command::Send { client_id, text, attachments, steer, by } => {
                let files = self.files(&attachments).await;
                let prompt = Prompt { client_id: client_id.clone(), text, files, steer, by };
                if let Err(error) = self.send(conversation, prompt).await {
                    let report =
                        Report::NotTaken { client_id, reason: error.message, passing: error.passing };
                    self.report(key, report);
                }
            }
            Command::Describe { number } => {
                let facts = engine.facts(key).await;
                self.report(key, Report::Facts { number, facts });
            }
            Command::LookAt { number, folder } => {
                let folder = engine.folder(&folder).await.map_err(|error| error.message);
                self.report(key, Report::Folder { number, folder });
            }
            // If there is no session, there is nothing to interrupt, stop or change.
            Command::Interrupt => {
                if let Ok(session) = self.session(conversation).await {
                    let _ = engine.interrupt(&session, "the chat").await;
                }
            }
            Command::Stop => {
                if let Ok(session) = self.session(conversation).await {
                    let _ = engine.stop(&session, "the chat").await;
                }
            }
            Command::StopTask { number, task } => {
                let stopped = match self.session(conversation).await {
                    Ok(session) => engine.stop_task(&session, &task, "the chat").await,
                    Err(error) => Err(error),
                };
                let how = stopped.map_or_else(|error| error.message, |task| format!("Stopped: {task}"));
                self.report(key, Report::Task { number, how });
            }
            Command::Answer { request, answer, by } => {
                let answered = match self.session(conversation).await {
                    Ok(session) => engine.answer(&session, &request, answer, &by).await,
                    Err(error) => Err(error),
                };
                let report = match answered {
                    Ok(()) => Report::Taken { request },
                    Err(error) => Report::TooLate { request, how: error.message },
                };
                self.report(key, report);
            }
            Command::SetModel { model } => {
                if let Ok(session) = self.session(conversation).await {
                    let _ = engine.set_model(&session, model).await;
                }
            }
        }
    }

    async fn session(&self, conversation: &ConversationSettings) -> Result<String, EngineError> {
        match self.follows.get(&conversation.key) {
            Some(follow) => Ok(follow.session.clone()),
            None => self.parts.engine.open(conversation).await,
        }
    }

    async fn send(&mut self, conversation: &ConversationSettings, prompt: Prompt) -> Result<(), EngineError> {
        let mut session = self.follow(conversation).await?;
        let (client_id, is_first) = (prompt.client_id.clone(), !prompt.steer);
        let sent = self.parts.engine.send(&session, prompt.clone()).await;
        let message = match sent {
            Err(error) if !error.passing => {
                // The session may have been archived or deleted on the page. Then the key leads to another one.
                session = self.follow_anew(conversation, session, error).await?;
                self.parts.engine.send(&session, prompt).await?
            }
            sent => sent?,
        };
        let (parts, scope, reported) = (self.parts.clone(), self.scope.clone(), self.reported.clone());
        let (key, pictures, since) = (conversation.key.clone(), conversation.pictures, now_ms());
        self.prompts.spawn(async move {
            let report = match parts.engine.finished(&session, &message).await {
                Ok(ending) => {
                    // Most were reported when their tool calls ended. After a restart, some events were missed.
                    if pictures != Pictures::None && is_first {
                        let calls = parts.engine.calls_with_pictures(&session, &message).await;
                        for call in &calls {
                            parts.report_pictures_of_call(&reported, &scope, &key, &session, call).await;
                        }
                        reported.forget_earlier_turns(&session, &calls).await;
                    }
                    if let (Pictures::Named, EndingOutcome::Answered(text)) = (pictures, &ending.outcome) {
                        let wanted = WantedPictures::Named { text: text.clone(), since };
                        parts.report_pictures(&scope, &key, &session, &wanted).await;
                    }
                    Report::Finished { client_id, ending }
                }
                Err(error) => Report::NotTaken { client_id, reason: error.message, passing: error.passing },
            };
            parts.tell(&scope, &key, report);
        });
        Ok(())
    }

    /// Looks up the session of a conversation again. Returns `error` if it is still the same one.
    async fn follow_anew(
        &mut self,
        conversation: &ConversationSettings,
        session: String,
        error: EngineError,
    ) -> Result<String, EngineError> {
        if let Some(follow) = self.follows.remove(&conversation.key) {
            follow.task.abort();
        }
        let found = self.follow(conversation).await?;
        if found == session { Err(error) } else { Ok(found) }
    }

    /// Makes sure that a conversation is followed, and returns the id of its session.
    async fn follow(&mut self, conversation: &ConversationSettings) -> Result<String, EngineError> {
        if let Some(follow) = self.follows.get(&conversation.key).filter(|follow| !follow.task.is_finished())
        {
            return Ok(follow.session.clone());
        }
        // A scope has one current conversation.
        for (_, other) in self.follows.drain() {
            other.task.abort();
        }
        let session = self.parts.engine.open(conversation).await?;
        let (reports, mut heard) = mpsc::unbounded_channel();
        let (ready, is_ready) = oneshot::channel();
        let (parts, name, scope) = (self.parts.clone(), session.clone(), self.scope.clone());
        let (key, pictures, reported) =
            (conversation.key.clone(), conversation.pictures, self.reported.clone());
        let task = self.listening.spawn(async move {
            let forward = async {
                while let Some(report) = heard.recv().await {
                    match report {
                        Report::Pictured(_) if pictures == Pictures::None => {}
                        Report::Pictured(WantedPictures::OfTool { tool }) => {
                            parts.report_pictures_of_call(&reported, &scope, &key, &name, &tool).await;
                        }
                        Report::Pictured(wanted) => parts.report_pictures(&scope, &key, &name, &wanted).await,
                        report => parts.tell(&scope, &key, report),
                    }
                }
            };
            tokio::join!(parts.engine.follow(&name, ready, reports), forward);
        });
        // If following fails, the answer still arrives, in one piece.
        let _ = is_ready.await;
        self.follows.insert(conversation.key.clone(), Follow { session: session.clone(), task });
        Ok(session)
    }

    async fn files(&self, attachments: &[Attachment]) -> Vec<PromptFile> {
        let mut files = Vec::new();
        for attachment in attachments {
            let (store, blob) = (Arc::clone(&self.parts.store), attachment.blob.clone());
            let data = tokio::task::spawn_blocking(move || store.blob(&blob)).await;
            if let Ok(Ok(Some(data))) = data {
                files.push(PromptFile {
                    name: attachment.name.clone(),
                    media_type: attachment.media_type.clone(),
                    is_picture: attachment.is_picture(),
                    data,
                });
            }
        }
        files
    }
}
