//! Passes commands to the worker of their scope, and drops workers that have been idle for a while.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::engine::Engine;
use super::worker::{Parts, Worker};
use crate::engine::{Command, ConversationSettings};
use crate::machine::Event;
use crate::store::BridgeStore;

/// The workers, by scope.
#[derive(Debug)]
pub(super) struct Conversations {
    parts: Parts,
    workers: HashMap<String, Handle>,
    tasks: JoinSet<()>,
}

/// A handle to a worker.
#[derive(Debug)]
struct Handle {
    commands: mpsc::UnboundedSender<(ConversationSettings, Command)>,
    /// Number of commands sent to it.
    given: u64,
    /// Number of commands that it had received when it became idle.
    idle_after: Arc<AtomicU64>,
}

impl Handle {
    /// Whether it has nothing to do and follows no conversation.
    fn is_idle(&self) -> bool {
        self.idle_after.load(Ordering::Acquire) == self.given
    }
}

impl Conversations {
    pub(super) fn new(
        engine: Arc<dyn Engine>,
        store: Arc<BridgeStore>,
        tell: mpsc::UnboundedSender<Event>,
    ) -> Self {
        Self { parts: Parts { engine, store, tell }, workers: HashMap::new(), tasks: JoinSet::new() }
    }

    /// Queues a command of a scope.
    pub(super) fn command(&mut self, scope: String, conversation: ConversationSettings, command: Command) {
        if !self.workers.contains_key(&scope) {
            // An idle worker ends when its handle is dropped.
            self.workers.retain(|_, worker| !worker.is_idle());
            while self.tasks.try_join_next().is_some() {}
        }
        let worker = self.workers.entry(scope.clone()).or_insert_with(|| {
            let (commands, receiver) = mpsc::unbounded_channel();
            let idle_after = Arc::new(AtomicU64::new(0));
            let worker = Worker::new(scope, self.parts.clone(), Arc::clone(&idle_after));
            self.tasks.spawn(worker.run(receiver));
            Handle { commands, given: 0, idle_after }
        });
        worker.given += 1;
        // Fails only if the bridge is ending.
        let _ = worker.commands.send((conversation, command));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
    use std::time::Duration;

    use tokio::sync::{mpsc, oneshot};

    use super::Conversations;
    use crate::channel::{BoxFuture, OutgoingFile};
    use crate::driver::worker::IDLE_TIMEOUT;
    use crate::driver::{Engine, EngineError, Prompt};
    use crate::engine::{
        Answer, Command, ConversationSettings, Ending, EndingOutcome, Facts, Report, WantedPictures,
    };
    use crate::machine::Event;
    use crate::store::BridgeStore;

    /// Counts its followers, and optionally reports a picture after a delay.
    #[derive(Debug, Default)]
    struct TestEngine {
        followers: Arc<AtomicUsize>,
        is_idle: AtomicBool,
        picture_after: Option<Duration>,
    }

    /// How long a turn takes.
    const A_TURN: Duration = Duration::from_millis(100);

    struct Follower(Arc<AtomicUsize>);

    impl Drop for Follower {
        fn drop(&mut self) {
            self.0.fetch_sub(1, Ordering::SeqCst);
        }
    }

    fn done() -> BoxFuture<'static, Result<(), EngineError>> {
        Box::pin(async { Ok(()) })
    }

    impl Engine for TestEngine {
        fn open<'a>(
            &'a self,
            settings: &'a ConversationSettings,
        ) -> BoxFuture<'a, Result<String, EngineError>> {
            Box::pin(async move { Ok(settings.key.clone()) })
        }

        fn send<'a>(&'a self, _: &'a str, prompt: Prompt) -> BoxFuture<'a, Result<String, EngineError>> {
            Box::pin(async move { Ok(prompt.client_id) })
        }

        fn finished<'a>(
            &'a self,
            _: &'a str,
            message: &'a str,
        ) -> BoxFuture<'a, Result<Ending, EngineError>> {
            Box::pin(async move {
                tokio::time::sleep(A_TURN).await;
                Ok(Ending::new(message.to_owned(), EndingOutcome::Answered("done".to_owned())))
            })
        }

        fn follow<'a>(
            &'a self,
            _: &'a str,
            ready: oneshot::Sender<()>,
            reports: mpsc::UnboundedSender<Report>,
        ) -> BoxFuture<'a, ()> {
            self.followers.fetch_add(1, Ordering::SeqCst);
            let follower = Follower(Arc::clone(&self.followers));
            let _ = ready.send(());
            Box::pin(async move {
                let _follower = follower;
                if let Some(delay) = self.picture_after {
                    tokio::time::sleep(delay).await;
                    let wanted = WantedPictures::OfTool { tool: "call".to_owned() };
                    let _ = reports.send(Report::Pictured(wanted));
                }
                std::future::pending::<()>().await;
            })
        }

        fn interrupt<'a>(&'a self, _: &'a str, _: &'a str) -> BoxFuture<'a, Result<(), EngineError>> {
            done()
        }

        fn stop<'a>(&'a self, _: &'a str, _: &'a str) -> BoxFuture<'a, Result<(), EngineError>> {
            done()
        }

        fn answer<'a>(
            &'a self,
            _: &'a str,
            _: &'a str,
            _: Answer,
            _: &'a str,
        ) -> BoxFuture<'a, Result<(), EngineError>> {
            done()
        }

        fn set_model<'a>(&'a self, _: &'a str, _: Option<String>) -> BoxFuture<'a, Result<(), EngineError>> {
            done()
        }

        fn pictures<'a>(&'a self, _: &'a str, _: &'a WantedPictures) -> BoxFuture<'a, Vec<OutgoingFile>> {
            let (name, media_type) = ("picture.png".to_owned(), "image/png".to_owned());
            Box::pin(async move { vec![OutgoingFile { name, media_type, data: vec![1] }] })
        }

        fn calls_with_pictures<'a>(&'a self, _: &'a str, _: &'a str) -> BoxFuture<'a, Vec<String>> {
            Box::pin(async { self.picture_after.map(|_| "call".to_owned()).into_iter().collect() })
        }

        fn is_idle<'a>(&'a self, _: &'a str) -> BoxFuture<'a, bool> {
            Box::pin(async { self.is_idle.load(Ordering::SeqCst) })
        }

        fn facts<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Option<Facts>> {
            Box::pin(async { None })
        }
    }

    fn send(conversations: &mut Conversations, scope: &str) {
        let settings = ConversationSettings { key: scope.to_owned(), ..ConversationSettings::default() };
        let command = Command::Send {
            client_id: "1".to_owned(),
            text: "hello".to_owned(),
            attachments: Vec::new(),
            steer: false,
            by: "anna".to_owned(),
        };
        conversations.command(scope.to_owned(), settings, command);
    }

    #[tokio::test(start_paused = true)]
    async fn idle_conversations_are_not_followed_and_their_workers_are_dropped() {
        let engine = Arc::new(TestEngine::default());
        let store = Arc::new(BridgeStore::in_memory().unwrap());
        let (tell, _events) = mpsc::unbounded_channel();
        let mut conversations = Conversations::new(Arc::<TestEngine>::clone(&engine), store, tell);
        let followers = || engine.followers.load(Ordering::SeqCst);
        let a_while = IDLE_TIMEOUT + Duration::from_secs(1);
        send(&mut conversations, "a");
        tokio::time::sleep(a_while).await;
        assert_eq!(followers(), 1, "its process may still have something to say");
        engine.is_idle.store(true, Ordering::SeqCst);
        tokio::time::sleep(a_while).await;
        assert_eq!(followers(), 0);
        send(&mut conversations, "b");
        assert_eq!(conversations.workers.keys().collect::<Vec<_>>(), ["b"]);
        send(&mut conversations, "a");
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert_eq!((followers(), conversations.workers.len()), (2, 2));
    }

    #[tokio::test(start_paused = true)]
    async fn a_picture_is_reported_once_and_before_the_end_of_its_turn() {
        for delay in [Duration::ZERO, A_TURN, A_TURN * 3] {
            let engine = Arc::new(TestEngine { picture_after: Some(delay), ..TestEngine::default() });
            let store = Arc::new(BridgeStore::in_memory().unwrap());
            let (tell, mut events) = mpsc::unbounded_channel();
            let mut conversations = Conversations::new(engine, store, tell);
            send(&mut conversations, "a");
            let mut heard = Vec::new();
            while let Ok(Some(event)) = tokio::time::timeout(A_TURN * 10, events.recv()).await {
                match event {
                    Event::Reported { report: Report::Pictures(_), .. } => heard.push("a picture"),
                    Event::Reported { report: Report::Finished { .. }, .. } => heard.push("the end"),
                    other => panic!("{other:?}"),
                }
            }
            assert_eq!(heard, ["a picture", "the end"], "reported after {delay:?}");
        }
    }
}
