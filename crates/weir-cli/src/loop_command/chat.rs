//! A loop in a chat: it posts notifications there, and its questions can be answered there.

use std::collections::HashMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};

use serde::Deserialize;
use tokio::sync::mpsc;
use weir_bridge::channel::Place;
use weir_bridge::driver::{ExternalAnswer, ExternalHandle};
use weir_bridge::engine::{Answer, Ask, AskKind, Question};
use weir_loop::config::NotifyOn;
use weir_loop::event::LoopEvent;
use weir_loop::notification::Notification;
use weir_loop::shell::{Mail, Mailbox, Messenger};
use weir_loop::state::Asked;

use crate::exit::tell;

/// The chat of a loop.
#[derive(Clone)]
pub(super) struct Chat {
    place: Place,
    bridge: ExternalHandle,
    /// The open questions in the chat, each with the user who answered it there.
    open: Arc<Mutex<HashMap<String, Option<String>>>>,
}

/// The event of a question's notification.
#[derive(Deserialize)]
struct AskedEvent {
    id: String,
    task: String,
    asked: Asked,
}

/// Reads `channel:chat` or `channel:chat/thread`.
pub(super) fn place(name: &str) -> Option<Place> {
    let (channel, chat) = name.split_once(':')?;
    let (chat, thread) = match chat.split_once('/') {
        Some((chat, thread)) => (chat, Some(thread.into())),
        None => (chat, None),
    };
    let is_whole = !channel.is_empty() && !chat.is_empty();
    is_whole.then(|| Place { channel: channel.into(), chat: chat.into(), thread })
}

impl Chat {
    /// A chat of a bridge. Answers given there go to the mailbox, as if typed on the command line.
    pub(super) fn new(
        place: Place,
        bridge: ExternalHandle,
        answers: mpsc::UnboundedReceiver<ExternalAnswer>,
        mailbox: Mailbox,
    ) -> Self {
        let chat = Self { place, bridge, open: Arc::default() };
        tokio::spawn(chat.clone().carry(answers, mailbox));
        chat
    }

    async fn carry(self, mut answers: mpsc::UnboundedReceiver<ExternalAnswer>, mailbox: Mailbox) {
        while let Some(ExternalAnswer { request, answer, by }) = answers.recv().await {
            let by = format!("{by} ({})", self.place.channel);
            let known = self.with_open(|open| open.get_mut(&request).map(|who| *who = Some(by.clone())));
            if known.is_none() {
                self.bridge.settled(request, "This question is no longer open.".to_owned());
                continue;
            }
            let mail = Mail::Answer { question: Some(request.clone()), answers: words(answer), by };
            if let Err(error) = mailbox.send(&mail) {
                tell(&format!("weir: cannot save an answer from the chat: {error}"));
                self.bridge.settled(request, "The answer could not be saved; answer elsewhere.".to_owned());
            }
        }
    }

    fn with_open<T>(&self, change: impl FnOnce(&mut HashMap<String, Option<String>>) -> T) -> T {
        change(&mut self.open.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Updates the chat when a question has ended.
    pub(super) fn event(&self, event: &LoopEvent) {
        if let LoopEvent::AskEnded { id, by } = event
            && let Some(here) = self.with_open(|open| open.remove(id))
        {
            match by {
                Some(_) if *by == here => self.bridge.taken(id.clone()),
                Some(by) => self.bridge.settled(id.clone(), format!("Answered by {by}.")),
                None => self.bridge.settled(id.clone(), "This question is no longer open.".to_owned()),
            }
        }
    }

    /// The run is over: closes the open questions, because answers are no longer read.
    pub(super) fn end(&self) {
        let how = "The loop has stopped. It will ask again when it resumes.";
        for (id, _) in self.with_open(std::mem::take) {
            self.bridge.settled(id, how.to_owned());
        }
    }

    async fn say(&self, notification: &Notification) -> Result<(), weir_bridge::BridgeError> {
        let asked =
            (notification.kind == NotifyOn::Question).then(|| AskedEvent::deserialize(&notification.event));
        let Some(Ok(AskedEvent { id, task, asked })) = asked else {
            return self.bridge.tell(self.place.clone(), notification.text.clone()).await;
        };
        self.with_open(|open| open.insert(id.clone(), None));
        let ask = Ask { request: id, kind: kind(&task, asked) };
        self.bridge.ask(self.place.clone(), ask).await
    }
}

impl Messenger for Chat {
    fn post<'a>(
        &'a self,
        notification: &'a Notification,
    ) -> Pin<Box<dyn Future<Output = Result<(), String>> + Send + 'a>> {
        Box::pin(async {
            self.say(notification).await.map_err(|error| format!("cannot notify the chat: {error}"))
        })
    }
}

/// Converts a question of the loop for a chat.
fn kind(task: &str, asked: Asked) -> AskKind {
    match asked {
        Asked::Questions { questions } => {
            let question = |asked: weir_loop::state::AskedQuestion| Question {
                question: format!("Task {task}: {}", asked.question),
                options: asked.options.into_iter().map(|label| (label, String::new())).collect(),
                several: asked.several,
            };
            AskKind::Questions(questions.into_iter().map(question).collect())
        }
        Asked::Permission { what, rule } => {
            let tool = rule.split('(').next().unwrap_or_default().to_owned();
            AskKind::Permission { tool, details: format!("Task {task}: `{what}`"), always: None }
        }
    }
}

/// An answer as a person would type it.
fn words(answer: Answer) -> Vec<String> {
    match answer {
        Answer::Allow { .. } => vec!["yes".to_owned()],
        Answer::Deny { message } => vec![message],
        Answer::Choices(choices) => choices.into_iter().map(|(_, chosen)| chosen.join(", ")).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chat_is_a_channel_a_chat_and_maybe_a_thread() {
        let found = place("telegram:-100123/7").unwrap();
        assert_eq!((found.channel.as_str(), found.chat.as_str()), ("telegram", "-100123"));
        assert_eq!(found.thread.unwrap().as_str(), "7");
        let found = place("matrix:!room:example.org").unwrap();
        assert_eq!(found.chat.as_str(), "!room:example.org");
        assert_eq!((place("telegram"), place(":5"), place("telegram:")), (None, None, None));
    }

    #[test]
    fn answers_are_what_a_person_would_type() {
        let chosen = vec![("a".to_owned(), vec!["Red".to_owned(), "Blue".to_owned()])];
        assert_eq!(words(Answer::Choices(chosen)), ["Red, Blue"]);
        assert_eq!(words(Answer::Allow { always: false }), ["yes"]);
        assert_eq!(words(Answer::Deny { message: "Anna said no.".into() }), ["Anna said no."]);
    }
}
