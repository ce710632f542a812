//! What sessions ask a person, and what people send to a run.

use weir_base::time::now_ms;
use weir_session::Decision;

use super::super::mailbox::Mail;
use super::Runner;
use crate::agent::{ApprovalMessage, OpenAsk, match_answers};
use crate::event::LoopEvent;
use crate::machine::Event;
use crate::state::{Asked, OpenQuestion};
use crate::tasks::TaskId;

impl Runner {
    pub(super) fn handle_request(&mut self, message: ApprovalMessage) -> Event {
        match message {
            ApprovalMessage::Asked(ask) => self.asked(ask),
            ApprovalMessage::Ended { id, by, answers } => {
                self.open.retain(|ask| ask.id != id);
                Event::AskEnded { id, by, answers }
            }
        }
    }

    fn asked(&mut self, ask: OpenAsk) -> Event {
        let question = OpenQuestion {
            id: ask.id.clone(),
            task: TaskId::new(ask.task.clone()),
            asked: ask.asked.clone(),
            since: now_ms(),
        };
        self.open.push(ask);
        Event::Asked(question)
    }

    /// Checks the mailbox and the clock.
    pub(super) fn poll(&mut self) -> Vec<Event> {
        let mut events = Vec::new();
        let (mails, invalid) = self.mailbox.take();
        for path in invalid {
            self.tell(&LoopEvent::Warning { text: format!("{} is not a valid mail", path.display()) });
        }
        for mail in mails {
            match mail {
                Mail::Skip { task } => events.push(Event::Skip(task)),
                Mail::Retry { task } => events.push(Event::Retry(task)),
                Mail::Answer { question, answers, by } => {
                    match self.read_decision(question.as_deref(), &answers) {
                        Ok((place, decision)) => events.extend(self.decide(place, decision, by)),
                        Err(text) => self.tell(&LoopEvent::Warning { text }),
                    }
                }
            }
        }
        if self.wake_at.is_none_or(|at| now_ms() >= at) {
            self.wake_at = None;
            events.push(Event::Tick);
        }
        events
    }

    /// The open question that a mail is for, and what the typed words mean for it.
    fn read_decision(&self, which: Option<&str>, words: &[String]) -> Result<(usize, Decision), String> {
        let is_meant = |ask: &OpenAsk| which.is_none_or(|name| ask.id.starts_with(name) || ask.task == name);
        let mut meant = self.open.iter().enumerate().filter(|(_, ask)| is_meant(ask));
        let (place, ask) = meant.next().ok_or("an answer was ignored: no such question is open")?;
        if meant.next().is_some() {
            return Err("an answer was ignored: several questions are open; choose one".to_owned());
        }
        let decision = match &ask.asked {
            Asked::Questions { questions } => {
                let answers = match_answers(questions, words).map_err(|error| error.to_string())?;
                Decision::Answers(answers.into_iter().collect())
            }
            Asked::Permission { .. } => {
                let is_yes = |word: &String| matches!(word.to_lowercase().as_str(), "y" | "yes" | "allow");
                if words.first().is_some_and(is_yes) {
                    Decision::allow()
                } else {
                    Decision::deny(words.join(" "))
                }
            }
        };
        Ok((place, decision))
    }

    /// Takes a decision on an open question. The session gets it when it is in the saved state.
    pub(super) fn decide(&mut self, place: usize, decision: Decision, by: String) -> Option<Event> {
        if place >= self.open.len() {
            return None;
        }
        let ask = self.open.remove(place);
        let answers = match &decision {
            Decision::Answers(answers) => {
                answers.pairs().map(|(question, answer)| (question.to_owned(), answer.to_owned())).collect()
            }
            _ => Vec::new(),
        };
        let id = ask.id.clone();
        self.decided.push((ask, decision));
        Some(Event::AskEnded { id, by: Some(by), answers })
    }

    /// Sends the decisions that are in the saved state.
    pub(super) fn send_decided(&mut self) {
        let questions = &self.machine.state().questions;
        let is_saved = |(ask, _): &mut (OpenAsk, Decision)| questions.iter().all(|open| open.id != ask.id);
        let saved: Vec<(OpenAsk, Decision)> = self.decided.extract_if(.., is_saved).collect();
        for (ask, decision) in saved {
            if !ask.decide(decision) {
                let text = "an answer was ignored: the question was withdrawn".to_owned();
                self.tell(&LoopEvent::Warning { text });
            }
        }
    }
}
