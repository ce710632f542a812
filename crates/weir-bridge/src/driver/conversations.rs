//! Carries commands to the engine, one after another in each scope, and its reports back.

use std::collections::HashMap;
use std::sync::Arc;

use tokio::sync::{mpsc, oneshot};
use tokio::task::{AbortHandle, JoinSet};

use super::engine::{Engine, EngineError, Prompt, PromptFile};
use crate::channel::Attachment;
use crate::engine::{Command, ConversationSettings, Report};
use crate::machine::Event;
use crate::store::BridgeStore;

/// The scopes with their workers.
#[derive(Debug)]
pub(super) struct Conversations {
    parts: Parts,
    workers: HashMap<String, mpsc::UnboundedSender<(ConversationSettings, Command)>>,
    tasks: JoinSet<()>,
}

#[derive(Debug, Clone)]
struct Parts {
    engine: Arc<dyn Engine>,
    store: Arc<BridgeStore>,
    tell: mpsc::UnboundedSender<Event>,
}

impl Conversations {
    pub(super) fn new(
        engine: Arc<dyn Engine>,
        store: Arc<BridgeStore>,
        tell: mpsc::UnboundedSender<Event>,
    ) -> Self {
        Self { parts: Parts { engine, store, tell }, workers: HashMap::new(), tasks: JoinSet::new() }
    }

    /// Has a command carried out after those before it.
    pub(super) fn command(&mut self, scope: String, conversation: ConversationSettings, command: Command) {
        let worker = self.workers.entry(scope.clone()).or_insert_with(|| {
            let (sender, receiver) = mpsc::unbounded_channel();
            let worker =
                Worker { scope, parts: self.parts.clone(), follows: HashMap::new(), waits: JoinSet::new() };
            self.tasks.spawn(worker.run(receiver));
            sender
        });
        // A worker ends with the bridge only.
        let _ = worker.send((conversation, command));
    }
}

/// Carries out the commands of a scope.
struct Worker {
    scope: String,
    parts: Parts,
    /// The conversations that are followed, by their keys.
    follows: HashMap<String, Follow>,
    waits: JoinSet<()>,
}

struct Follow {
    session: String,
    task: AbortHandle,
}

impl Worker {
    async fn run(mut self, mut commands: mpsc::UnboundedReceiver<(ConversationSettings, Command)>) {
        while let Some((conversation, command)) = commands.recv().await {
            while self.waits.try_join_next().is_some() {}
            self.carry_out(&conversation, command).await;
        }
    }

    fn report(&self, conversation: &str, report: Report) {
        let (scope, conversation) = (self.scope.clone(), conversation.to_owned());
        let _ = self.parts.tell.send(Event::Reported { scope, conversation, report });
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
            // A conversation that was never talked to has nothing to end, to answer or to change.
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
        let client_id = prompt.client_id.clone();
        let sent = self.parts.engine.send(&session, prompt.clone()).await;
        let message = match sent {
            Err(error) if !error.passing => {
                // Somebody may have archived or deleted the session on the page. Then the key names another one.
                session = self.follow_anew(conversation, session, error).await?;
                self.parts.engine.send(&session, prompt).await?
            }
            sent => sent?,
        };
        let (engine, tell) = (Arc::clone(&self.parts.engine), self.parts.tell.clone());
        let (scope, conversation) = (self.scope.clone(), conversation.key.clone());
        self.waits.spawn(async move {
            let report = match engine.finished(&session, &message).await {
                Ok(ending) => Report::Finished { client_id, ending },
                Err(error) => Report::NotTaken { client_id, reason: error.message, passing: error.passing },
            };
            let _ = tell.send(Event::Reported { scope, conversation, report });
        });
        Ok(())
    }

    /// Looks the session of a conversation up again; the error where it is still the same one.
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

    /// Makes sure that a conversation is followed, and gives the engine's name for it.
    async fn follow(&mut self, conversation: &ConversationSettings) -> Result<String, EngineError> {
        if let Some(follow) = self.follows.get(&conversation.key).filter(|follow| !follow.task.is_finished())
        {
            return Ok(follow.session.clone());
        }
        // One conversation of a scope is talked to at a time.
        for (_, other) in self.follows.drain() {
            other.task.abort();
        }
        let session = self.parts.engine.open(conversation).await?;
        let (reports, mut heard) = mpsc::unbounded_channel();
        let (ready, is_ready) = oneshot::channel();
        let (engine, name) = (Arc::clone(&self.parts.engine), session.clone());
        let (tell, scope, key) = (self.parts.tell.clone(), self.scope.clone(), conversation.key.clone());
        let task = self.waits.spawn(async move {
            let pass_on = async {
                while let Some(report) = heard.recv().await {
                    let (scope, conversation) = (scope.clone(), key.clone());
                    let _ = tell.send(Event::Reported { scope, conversation, report });
                }
            };
            tokio::join!(engine.follow(&name, ready, reports), pass_on);
        });
        // Where following fails, the answer comes all the same, in one piece.
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
