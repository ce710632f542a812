//! Gives commands to the worker of their scope, and lets those go that have been at rest for long.

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

/// The scopes with their workers.
#[derive(Debug)]
pub(super) struct Conversations {
    parts: Parts,
    workers: HashMap<String, Handle>,
    tasks: JoinSet<()>,
}

/// A worker as it is seen from here.
#[derive(Debug)]
struct Handle {
    commands: mpsc::UnboundedSender<(ConversationSettings, Command)>,
    /// How many commands it was given.
    given: u64,
    /// How many it had been given when it came to rest.
    rested_after: Arc<AtomicU64>,
}

impl Handle {
    /// Whether it has nothing to do, and nothing to listen to.
    fn rests(&self) -> bool {
        self.rested_after.load(Ordering::Acquire) == self.given
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

    /// Has a command carried out after those before it.
    pub(super) fn command(&mut self, scope: String, conversation: ConversationSettings, command: Command) {
        if !self.workers.contains_key(&scope) {
            // A worker that rests ends when nobody can give it anything any more.
            self.workers.retain(|_, worker| !worker.rests());
            while self.tasks.try_join_next().is_some() {}
        }
        let worker = self.workers.entry(scope.clone()).or_insert_with(|| {
            let (commands, receiver) = mpsc::unbounded_channel();
            let rested_after = Arc::new(AtomicU64::new(0));
            let worker = Worker::new(scope, self.parts.clone(), Arc::clone(&rested_after));
            self.tasks.spawn(worker.run(receiver));
            Handle { commands, given: 0, rested_after }
        });
        worker.given += 1;
        // A worker ends with the bridge, or after it was let go.
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
    use crate::channel::{Doing, OutgoingFile};
    use crate::driver::worker::REST;
    use crate::driver::{Engine, EngineError, Prompt};
    use crate::engine::{
        Answer, Command, ConversationSettings, Ending, EndingOutcome, Facts, Report, WantedPictures,
    };
    use crate::machine::Event;
    use crate::store::BridgeStore;

    /// Counts those who listen, and tells them late of a picture.
    #[derive(Debug, Default)]
    struct Listened {
        listeners: Arc<AtomicUsize>,
        rests: AtomicBool,
        pictured: Option<Duration>,
    }

    /// How long a turn takes.
    const A_TURN: Duration = Duration::from_millis(100);

    struct Listener(Arc<AtomicUsize>);

    impl Drop for Listener {
        fn drop(&mut self) {
            self.0.fetch_sub(1, Ordering::SeqCst);
        }
    }

    fn done() -> Doing<'static, Result<(), EngineError>> {
        Box::pin(async { Ok(()) })
    }

    impl Engine for Listened {
        fn open<'a>(&'a self, settings: &'a ConversationSettings) -> Doing<'a, Result<String, EngineError>> {
            Box::pin(async move { Ok(settings.key.clone()) })
        }

        fn send<'a>(&'a self, _: &'a str, prompt: Prompt) -> Doing<'a, Result<String, EngineError>> {
            Box::pin(async move { Ok(prompt.client_id) })
        }

        fn finished<'a>(&'a self, _: &'a str, message: &'a str) -> Doing<'a, Result<Ending, EngineError>> {
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
        ) -> Doing<'a, ()> {
            self.listeners.fetch_add(1, Ordering::SeqCst);
            let listener = Listener(Arc::clone(&self.listeners));
            let _ = ready.send(());
            Box::pin(async move {
                let _listener = listener;
                if let Some(late) = self.pictured {
                    tokio::time::sleep(late).await;
                    let wanted = WantedPictures::OfTool { tool: "call".to_owned() };
                    let _ = reports.send(Report::Pictured(wanted));
                }
                std::future::pending::<()>().await;
            })
        }

        fn interrupt<'a>(&'a self, _: &'a str, _: &'a str) -> Doing<'a, Result<(), EngineError>> {
            done()
        }

        fn stop<'a>(&'a self, _: &'a str, _: &'a str) -> Doing<'a, Result<(), EngineError>> {
            done()
        }

        fn answer<'a>(
            &'a self,
            _: &'a str,
            _: &'a str,
            _: Answer,
            _: &'a str,
        ) -> Doing<'a, Result<(), EngineError>> {
            done()
        }

        fn set_model<'a>(&'a self, _: &'a str, _: Option<String>) -> Doing<'a, Result<(), EngineError>> {
            done()
        }

        fn pictures<'a>(&'a self, _: &'a str, _: &'a WantedPictures) -> Doing<'a, Vec<OutgoingFile>> {
            let (name, media_type) = ("picture.png".to_owned(), "image/png".to_owned());
            Box::pin(async move { vec![OutgoingFile { name, media_type, data: vec![1] }] })
        }

        fn calls_with_pictures<'a>(&'a self, _: &'a str, _: &'a str) -> Doing<'a, Vec<String>> {
            Box::pin(async { self.pictured.map(|_| "call".to_owned()).into_iter().collect() })
        }

        fn is_at_rest<'a>(&'a self, _: &'a str) -> Doing<'a, bool> {
            Box::pin(async { self.rests.load(Ordering::SeqCst) })
        }

        fn facts<'a>(&'a self, _: &'a str) -> Doing<'a, Option<Facts>> {
            Box::pin(async { None })
        }
    }

    fn says(conversations: &mut Conversations, scope: &str) {
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
    async fn what_rests_is_not_listened_to_and_is_forgotten() {
        let engine = Arc::new(Listened::default());
        let store = Arc::new(BridgeStore::in_memory().unwrap());
        let (tell, _events) = mpsc::unbounded_channel();
        let mut conversations = Conversations::new(Arc::<Listened>::clone(&engine), store, tell);
        let listeners = || engine.listeners.load(Ordering::SeqCst);
        let a_while = REST + Duration::from_secs(1);
        says(&mut conversations, "a");
        tokio::time::sleep(a_while).await;
        assert_eq!(listeners(), 1, "its process may still have something to say");
        engine.rests.store(true, Ordering::SeqCst);
        tokio::time::sleep(a_while).await;
        assert_eq!(listeners(), 0);
        says(&mut conversations, "b");
        assert_eq!(conversations.workers.keys().collect::<Vec<_>>(), ["b"]);
        says(&mut conversations, "a");
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert_eq!((listeners(), conversations.workers.len()), (2, 2));
    }

    #[tokio::test(start_paused = true)]
    async fn a_picture_is_told_of_once_and_before_the_end_of_its_turn() {
        for late in [Duration::ZERO, A_TURN, A_TURN * 3] {
            let engine = Arc::new(Listened { pictured: Some(late), ..Listened::default() });
            let store = Arc::new(BridgeStore::in_memory().unwrap());
            let (tell, mut events) = mpsc::unbounded_channel();
            let mut conversations = Conversations::new(engine, store, tell);
            says(&mut conversations, "a");
            let mut heard = Vec::new();
            while let Ok(Some(event)) = tokio::time::timeout(A_TURN * 10, events.recv()).await {
                match event {
                    Event::Reported { report: Report::Pictures(_), .. } => heard.push("a picture"),
                    Event::Reported { report: Report::Finished { .. }, .. } => heard.push("the end"),
                    other => panic!("{other:?}"),
                }
            }
            assert_eq!(heard, ["a picture", "the end"], "heard of after {late:?}");
        }
    }
}
