//! The unattended loop in a chat: it posts notifications there, and its questions can be answered there.

use std::collections::HashMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::mpsc;
use weir_loop::event::LoopEvent;
use weir_loop::notification::Notification;
use weir_loop::shell::{Handles, Messenger};
use weir_loop::state::{Asked, AskedQuestion, OpenQuestion};
use weir_session::Decision;

use crate::BridgeError;
use crate::channel::Place;
use crate::driver::{ExternalAnswer, ExternalHandle};
use crate::engine::{Answer, Ask, AskKind, Question};

/// The text of a question that ended without an answer.
const NOT_OPEN: &str = "This question is no longer open.";

/// The chat of a loop.
#[derive(Debug, Clone)]
pub struct LoopChat {
    place: Place,
    bridge: ExternalHandle,
    /// The open questions in the chat, by id.
    open: Arc<Mutex<HashMap<String, Posted>>>,
}

/// A question in the chat.
#[derive(Debug)]
struct Posted {
    asked: Asked,
    /// Who answered it there.
    by: Option<String>,
}

/// Reads `channel:chat` or `channel:chat/thread`.
pub fn place(name: &str) -> Option<Place> {
    let (channel, chat) = name.split_once(':')?;
    let (chat, thread) = match chat.split_once('/') {
        Some((chat, thread)) => (chat, Some(thread.into())),
        None => (chat, None),
    };
    let is_whole = !channel.is_empty() && !chat.is_empty();
    is_whole.then(|| Place { channel: channel.into(), chat: chat.into(), thread })
}

impl LoopChat {
    /// A chat of a bridge.
    pub fn new(place: Place, bridge: ExternalHandle) -> Self {
        Self { place, bridge, open: Arc::default() }
    }

    /// Gives the answers from the chat to the run, until the bridge ends.
    pub async fn carry(self, mut answers: mpsc::UnboundedReceiver<ExternalAnswer>, run: Handles) {
        while let Some(ExternalAnswer { request, answer, by }) = answers.recv().await {
            let by = format!("{by} ({})", self.place.channel);
            let decision = self.with_open(|open| {
                let posted = open.get_mut(&request)?;
                posted.by = Some(by.clone());
                Some(decision(&posted.asked, answer))
            });
            match decision {
                Some(decision) => run.decide(request, decision, by),
                None => self.bridge.settled(request, NOT_OPEN.to_owned()),
            }
        }
    }

    fn with_open<T>(&self, change: impl FnOnce(&mut HashMap<String, Posted>) -> T) -> T {
        change(&mut self.open.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Updates the chat when a question has ended.
    pub fn event(&self, event: &LoopEvent) {
        if let LoopEvent::AskEnded { id, by } = event
            && let Some(posted) = self.with_open(|open| open.remove(id))
        {
            match by {
                Some(_) if *by == posted.by => self.bridge.taken(id.clone()),
                Some(by) => self.bridge.settled(id.clone(), format!("Answered by {by}.")),
                None => self.bridge.settled(id.clone(), NOT_OPEN.to_owned()),
            }
        }
    }

    /// The run is over: closes the open questions, because answers are no longer read.
    pub fn end(&self) {
        let how = "The loop has stopped. It will ask again when it resumes.";
        for (id, _) in self.with_open(std::mem::take) {
            self.bridge.settled(id, how.to_owned());
        }
    }

    async fn say(&self, notification: &Notification) -> Result<(), BridgeError> {
        let Some(question) = notification.question.as_deref() else {
            return self.bridge.tell(self.place.clone(), notification.text.clone()).await;
        };
        let OpenQuestion { id, task, asked, .. } = question.clone();
        let ask = Ask { request: id.clone(), kind: kind(task.as_str(), asked.clone()) };
        self.with_open(|open| open.insert(id, Posted { asked, by: None }));
        self.bridge.ask(self.place.clone(), ask).await
    }
}

impl Messenger for LoopChat {
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
            let question = |asked: AskedQuestion| Question {
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

/// Converts an answer from the chat for the loop. The answers are in the order of the questions.
fn decision(asked: &Asked, answer: Answer) -> Decision {
    let questions = match asked {
        Asked::Questions { questions } => questions.as_slice(),
        Asked::Permission { .. } => &[],
    };
    match answer {
        Answer::Allow { .. } => Decision::allow(),
        Answer::Deny { message } => Decision::deny(message),
        Answer::Choices(choices) => {
            let answers = questions.iter().zip(choices);
            Decision::Answers(
                answers.map(|(asked, (_, chosen))| (asked.question.clone(), chosen.join(", "))).collect(),
            )
        }
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
    fn answers_belong_to_the_questions_as_the_session_asked_them() {
        let question = |question: &str| AskedQuestion {
            question: question.to_owned(),
            options: vec!["Red".into(), "Blue".into()],
            several: true,
        };
        let asked = Asked::Questions { questions: vec![question("Which?"), question("Why?")] };
        let AskKind::Questions(shown) = kind("paint", asked.clone()) else { panic!("no questions") };
        assert_eq!(shown[0].question, "Task paint: Which?");
        let chosen = vec![
            (shown[0].question.clone(), vec!["Red".to_owned(), "Blue".to_owned()]),
            (shown[1].question.clone(), vec!["because".to_owned()]),
        ];
        let answers = [("Which?", "Red, Blue"), ("Why?", "because")];
        let answers = answers.map(|(question, answer)| (question.to_owned(), answer.to_owned()));
        assert_eq!(
            decision(&asked, Answer::Choices(chosen)),
            Decision::Answers(answers.into_iter().collect())
        );
        let asked = Asked::Permission { what: "Bash ls".into(), rule: "Bash(ls:*)".into() };
        assert_eq!(decision(&asked, Answer::Allow { always: false }), Decision::allow());
        let no = Answer::Deny { message: "Anna said no.".into() };
        assert_eq!(decision(&asked, no), Decision::deny("Anna said no."));
    }
}
