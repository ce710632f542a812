//! What sessions ask a person, and what people send to a run.

use weir_base::time::now_ms;
use weir_session::Decision;

use super::super::person::{addressed, check};
use super::super::steering::{Door, Order, PersonCommand};
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

    /// Takes a command of a person. The reply waits until what it changes is in the saved state.
    pub(super) fn take_order(&mut self, (command, reply): Order) -> Option<Event> {
        match self.event_for(&command) {
            Ok(event) => {
                self.replies.push(reply);
                event
            }
            Err(why) => {
                // A sender that has gone away does not want to know.
                let _ = reply.send(Err(why));
                None
            }
        }
    }

    fn event_for(&mut self, command: &PersonCommand) -> Result<Option<Event>, String> {
        let run = self.machine.state();
        let command = addressed(run, command).map_err(|error| error.to_string())?;
        check(run, &command).map_err(|error| error.to_string())?;
        Ok(Some(match command {
            PersonCommand::Skip { task } => Event::Skip(task),
            PersonCommand::Retry { task } => Event::Retry(task),
            PersonCommand::Pause { by } => Event::Pause { by },
            PersonCommand::Unpause { by } => Event::Unpause { by },
            PersonCommand::Answer { question, answers, by } => {
                let (place, decision) = self.read_decision(question.as_deref(), &answers)?;
                return Ok(self.decide(place, decision, by));
            }
        }))
    }

    /// Tells the senders of commands that they are in the saved state.
    pub(super) fn send_replies(&mut self) {
        for reply in self.replies.drain(..) {
            let _ = reply.send(Ok(()));
        }
    }

    /// Looks at the clock, and whether people can still reach the run.
    pub(super) fn poll(&mut self) -> Option<Event> {
        if self.door.as_ref().is_some_and(|door| !door.is_there()) {
            self.tell(&LoopEvent::Warning {
                text: "somebody has removed the socket by which the run is steered; it was made again"
                    .to_owned(),
            });
            self.open_door();
        }
        let is_due = self.wake_at.is_none_or(|at| now_ms() >= at);
        if is_due {
            self.wake_at = None;
        }
        is_due.then_some(Event::Tick)
    }

    /// Opens the socket by which people steer the run.
    pub(super) fn open_door(&mut self) {
        self.door = None;
        match Door::open(&self.context.folders.state(), self.orders.0.clone()) {
            Ok(door) => self.door = Some(door),
            Err(error) => {
                let text =
                    format!("`weir loop answer`, `skip`, `retry` and `pause` cannot reach this run: {error}");
                self.tell(&LoopEvent::Warning { text });
            }
        }
    }

    /// The open question that an answer is for, and what the typed words mean for it.
    fn read_decision(&self, which: Option<&str>, words: &[String]) -> Result<(usize, Decision), String> {
        let is_meant = |ask: &OpenAsk| which.is_none_or(|name| ask.id.starts_with(name) || ask.task == name);
        let mut meant = self.open.iter().enumerate().filter(|(_, ask)| is_meant(ask));
        let (place, ask) = meant.next().ok_or("no such question is open")?;
        if meant.next().is_some() {
            return Err("several questions are open; choose one".to_owned());
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
