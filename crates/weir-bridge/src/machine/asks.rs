//! Permission requests and questions in the chat. The first answer wins; without an answer in time, it is denied.

use std::collections::BTreeSet;

use crate::channel::{MessageRef, Place, Sender};
use crate::engine::{Answer, Ask, AskKind, Command};

use super::cards::{Answering, Card};
use super::external::EXTERNAL;
use super::records::{AskRecord, InboxRecord, Outcome};
use super::words::{self, Choice};
use super::{Action, Bridge, typed};

/// The choice that also allows similar calls.
const FOR_SESSION: &str = "Allow for this session";

/// The choices of the current question.
pub(super) fn labels(ask: &AskRecord) -> Vec<String> {
    match &ask.ask.kind {
        AskKind::Permission { always: Some(_), .. } => {
            vec!["Allow".into(), FOR_SESSION.into(), "Deny".into()]
        }
        AskKind::Permission { .. } => vec!["Allow".into(), "Deny".into()],
        AskKind::Questions(questions) => questions
            .get(ask.answers.len())
            .map(|question| question.options.iter().map(|(label, _)| label.clone()).collect())
            .unwrap_or_default(),
    }
}

/// Removes the choice to allow for the session if the configuration forbids it.
fn bounded(mut ask: Ask, may_allow_for_session: bool) -> Ask {
    if let AskKind::Permission { always, .. } = &mut ask.kind
        && !may_allow_for_session
    {
        *always = None;
    }
    ask
}

/// What was asked, to show after it is closed.
fn subject(ask: &AskRecord) -> String {
    match &ask.ask.kind {
        AskKind::Permission { tool, details, .. } => format!("{tool}\n\n{details}"),
        AskKind::Questions(questions) => {
            let asked = questions.iter().map(|question| format!("**{}**", question.question));
            asked.collect::<Vec<_>>().join("\n\n")
        }
    }
}

/// Whether the current question takes several choices.
fn takes_several(ask: &AskRecord) -> bool {
    match &ask.ask.kind {
        AskKind::Permission { .. } => false,
        AskKind::Questions(questions) => {
            questions.get(ask.answers.len()).is_some_and(|question| question.several)
        }
    }
}

/// The text of a card.
pub(super) fn text(ask: &AskRecord) -> String {
    let choices = |labels: Vec<String>| {
        let lines = labels.iter().enumerate().map(|(index, label)| format!("{}. {label}", index + 1));
        lines.collect::<Vec<_>>().join("\n")
    };
    match &ask.ask.kind {
        AskKind::Permission { tool, details, always } => {
            let rule = always
                .as_ref()
                .map(|rule| format!("\n\n\"{FOR_SESSION}\" adds the rule {rule}, until the session ends"));
            let rule = rule.unwrap_or_default();
            format!("**Allow {tool}?**\n\n{details}{rule}\n\n{}", choices(labels(ask)))
        }
        AskKind::Questions(questions) => {
            let Some(question) = questions.get(ask.answers.len()) else { return String::new() };
            let described = question.options.iter().map(|(label, meaning)| match meaning.as_str() {
                "" => label.clone(),
                meaning => format!("**{label}**: {meaning}"),
            });
            let how = if question.several { "numbers, as in 1,3" } else { "a number" };
            format!(
                "**{}**\n\n{}\n\n_Answer with {how}, or reply to this message with your own words._",
                question.question,
                choices(described.collect())
            )
        }
    }
}

impl Bridge {
    /// The CLI asks for something.
    pub(super) fn asked(&mut self, scope_key: &str, conversation: &str, ask: Ask) {
        let known = self.cards.values().filter_map(|card| card.record.ask.as_ref());
        if known.into_iter().any(|other| other.ask.request == ask.request) {
            return;
        }
        let Some(scope) = self.scopes.get(scope_key) else { return };
        let place =
            scope.reply.as_ref().map_or_else(|| scope.place.clone(), |reply| reply.record.place.clone());
        let record = AskRecord {
            scope: scope_key.to_owned(),
            conversation: conversation.to_owned(),
            ask: bounded(ask, scope.settings.allow_for_session),
            deadline: self.now + self.settings.ask_timeout_ms,
            answers: Vec::new(),
        };
        self.add_card(&place, None, text(&record), Some(record));
    }

    fn answering(&mut self, request: &str) -> Option<&mut Card> {
        let is_it =
            |card: &&mut Card| card.answering.as_ref().is_some_and(|answering| answering.request == request);
        self.cards.values_mut().find(is_it)
    }

    /// Our answer was the first and counts.
    pub(super) fn answer_taken(&mut self, request: &str) {
        if let Some(card) = self.answering(request) {
            card.answering = None;
            let id = card.record.id;
            self.step_card(id);
        }
    }

    /// Our answer was not the first. The card must not claim that it was.
    pub(super) fn too_late(&mut self, request: &str, how: &str) {
        if let Some(card) = self.answering(request) {
            let settled = card.answering.take().and_then(|answering| answering.settled);
            let id = card.record.id;
            self.close_card(id, &format!("Too late. {}", settled.as_deref().unwrap_or(how)));
        }
    }

    /// A request was answered elsewhere, or withdrawn.
    pub(super) fn settled_elsewhere(&mut self, request: &str, how: &str) {
        if let Some(answering) = self.answering(request).and_then(|card| card.answering.as_mut()) {
            answering.settled = Some(how.to_owned());
            return;
        }
        let card = self
            .cards
            .values()
            .find(|card| card.record.ask.as_ref().is_some_and(|ask| ask.ask.request == request));
        if let Some(id) = card.map(|card| card.record.id) {
            self.close_card(id, how);
        }
    }

    /// The card with the open question that a message may answer: the one that it replies to, or else the oldest.
    pub(super) fn open_ask(&self, scope: &str, place: &Place, reply_to: Option<&MessageRef>) -> Option<u64> {
        let is_here = |other: &Place| other.channel == place.channel && other.chat == place.chat;
        let open = || {
            let asks = self.cards.values().filter(|card| {
                card.record.ask.as_ref().is_some_and(|ask| {
                    ask.scope == scope || (ask.scope == EXTERNAL && is_here(&card.record.place))
                })
            });
            asks.map(|card| (card.record.id, card.record.message.as_ref()))
        };
        let replied = open().find(|(_, message)| message.is_some() && *message == reply_to);
        replied.or_else(|| open().next()).map(|(id, _)| id)
    }

    /// Treats a message as the answer to an open question. Returns whether it was one.
    pub(super) fn answered_by_text(&mut self, record: &InboxRecord, reply_to: Option<&MessageRef>) -> bool {
        let Some(id) = self.open_ask(&record.scope, &record.place, reply_to) else { return false };
        let replies = self
            .cards
            .get(&id)
            .is_some_and(|card| card.record.message.is_some() && card.record.message.as_ref() == reply_to);
        let taken = match words::choice(&record.text) {
            Some(choice) if self.choose(id, &choice, &record.sender) => true,
            Some(_) => {
                // Queued, it would wait for the very question that it tries to answer.
                let ask = self.cards.get(&id).and_then(|card| card.record.ask.as_ref());
                let words = ask.map(|ask| words::no_such_choice(labels(ask).len(), takes_several(ask)));
                self.refuse(record, &words.unwrap_or_default());
                return true;
            }
            None if replies && typed::command(&record.text).is_none() => {
                self.own_words(id, record.text.trim(), &record.sender)
            }
            None => false,
        };
        if taken {
            self.settle(record.id, Outcome::Answered);
        }
        taken
    }

    /// Tells the sender that a message waits for the answer to an open question, once for each question.
    pub(super) fn tell_that_it_waits(&mut self, record: &InboxRecord) {
        let is_open = |card: &&mut Card| {
            !card.told_to_wait && card.record.ask.as_ref().is_some_and(|ask| ask.scope == record.scope)
        };
        if let Some(card) = self.cards.values_mut().find(is_open) {
            card.told_to_wait = true;
            self.tell(&record.place, record.message.as_ref(), words::WAITS_FOR_ANSWER);
        }
    }

    /// Takes a choice. Returns `false` if it does not fit the question.
    pub(super) fn choose(&mut self, id: u64, choice: &Choice, sender: &Sender) -> bool {
        let Some(ask) = self.cards.get(&id).and_then(|card| card.record.ask.clone()) else { return false };
        let labels = labels(&ask);
        let find = |word: &str| labels.iter().position(|label| label.eq_ignore_ascii_case(word));
        let numbers: Option<Vec<usize>> = match choice {
            Choice::Numbers(numbers) => {
                let valid = |number: &usize| number.checked_sub(1).filter(|index| *index < labels.len());
                numbers.iter().map(valid).collect()
            }
            Choice::Yes => find("Allow").or_else(|| find("Yes")).map(|index| vec![index]),
            Choice::No => find("Deny").or_else(|| find("No")).map(|index| vec![index]),
        };
        let Some(numbers) = numbers else { return false };
        let numbers: BTreeSet<usize> = numbers.into_iter().collect();
        let chosen: Vec<String> = numbers.iter().filter_map(|index| labels.get(*index).cloned()).collect();
        match &ask.ask.kind {
            AskKind::Permission { .. } => self.permission_chosen(id, &ask, &chosen, sender),
            AskKind::Questions(_) => {
                if chosen.len() > 1 && !takes_several(&ask) {
                    return false;
                }
                self.question_answered(id, ask, chosen, sender);
                true
            }
        }
    }

    fn permission_chosen(&mut self, id: u64, ask: &AskRecord, chosen: &[String], sender: &Sender) -> bool {
        let [chosen] = chosen else { return false };
        let answer = match chosen.as_str() {
            "Allow" => Answer::Allow { always: false },
            FOR_SESSION => Answer::Allow { always: true },
            _ => Answer::Deny { message: format!("{} said no.", sender.name) },
        };
        self.answer_permission(id, ask, answer, sender);
        true
    }

    fn answer_permission(&mut self, id: u64, ask: &AskRecord, answer: Answer, sender: &Sender) {
        let Some(place) = self.cards.get(&id).map(|card| card.record.place.clone()) else { return };
        if let Some(words) = self.cards.get(&id).and_then(|card| self.refusal(card, sender)) {
            self.tell(&place, None, words);
            return;
        }
        let AskKind::Permission { tool, details, always } = &ask.ask.kind else { return };
        let (verb, rule) = match &answer {
            Answer::Allow { always: true } => ("Allowed for this session", always.as_deref()),
            Answer::Allow { .. } => ("Allowed", None),
            Answer::Deny { .. } | Answer::Choices(_) => ("Denied", None),
        };
        let rule = rule
            .map(|rule| format!("\n\nThe rule {rule} applies until the session ends."))
            .unwrap_or_default();
        let closing = format!("{verb} by {}: {tool}\n\n{details}{rule}", sender.name);
        self.answer(id, ask, answer, &sender.name);
        self.close_card(id, &closing);
    }

    /// Takes an answer in a person's own words.
    fn own_words(&mut self, id: u64, words: &str, sender: &Sender) -> bool {
        let Some(ask) = self.cards.get(&id).and_then(|card| card.record.ask.clone()) else { return false };
        match &ask.ask.kind {
            AskKind::Permission { .. } => {
                let message = format!("{} said no: {words}", sender.name);
                self.answer_permission(id, &ask, Answer::Deny { message }, sender);
            }
            AskKind::Questions(_) => self.question_answered(id, ask, vec![words.to_owned()], sender),
        }
        true
    }

    fn question_answered(&mut self, id: u64, mut ask: AskRecord, chosen: Vec<String>, sender: &Sender) {
        let AskKind::Questions(questions) = &ask.ask.kind else { return };
        let Some(question) = questions.get(ask.answers.len()) else { return };
        ask.answers.push((question.question.clone(), chosen));
        if ask.answers.len() < questions.len() {
            let Some(card) = self.cards.get_mut(&id) else { return };
            card.record.markdown = text(&ask);
            card.record.ask = Some(ask);
            card.changed();
            self.keep_card(id);
            self.step_card(id);
            return;
        }
        let lines: Vec<String> = ask
            .answers
            .iter()
            .map(|(question, chosen)| format!("**{question}** {}", chosen.join(", ")))
            .collect();
        let closing = format!("{}\n\n_Answered by {}._", lines.join("\n\n"), sender.name);
        let answers = std::mem::take(&mut ask.answers);
        self.answer(id, &ask, Answer::Choices(answers), &sender.name);
        self.close_card(id, &closing);
    }

    fn answer(&mut self, card: u64, ask: &AskRecord, answer: Answer, by: &str) {
        let request = ask.ask.request.clone();
        if ask.scope == EXTERNAL {
            if let Some(card) = self.cards.get_mut(&card) {
                card.answering = Some(Answering { request: request.clone(), settled: None });
            }
            self.actions.push(Action::Answered { request, answer, by: by.to_owned() });
            return;
        }
        let Some(scope) = self.scopes.get(&ask.scope) else { return };
        if let Some(card) = self.cards.get_mut(&card) {
            card.answering = Some(Answering { request: request.clone(), settled: None });
        }
        self.actions.push(Action::Command {
            scope: ask.scope.clone(),
            conversation: scope.conversation_named(ask.conversation.clone()),
            command: Command::Answer { request, answer, by: by.to_owned() },
        });
    }

    /// Denies requests that were not answered in time.
    pub(super) fn expire_asks(&mut self) {
        let now = self.now;
        let expired: Vec<(u64, AskRecord)> = self
            .cards
            .values()
            .filter_map(|card| card.record.ask.clone().map(|ask| (card.record.id, ask)))
            .filter(|(_, ask)| ask.deadline <= now)
            .collect();
        for (id, ask) in expired {
            self.answer(id, &ask, Answer::Deny { message: words::TIMED_OUT.to_owned() }, "the bridge");
            self.close_card(id, &format!("{}\n\n{}", words::TIMED_OUT, subject(&ask)));
        }
    }

    /// Closes a question and shows the outcome on its card.
    pub(super) fn close_card(&mut self, id: u64, markdown: &str) {
        let Some(card) = self.cards.get_mut(&id) else { return };
        card.record.ask = None;
        markdown.clone_into(&mut card.record.markdown);
        card.changed();
        self.keep_card(id);
        self.step_card(id);
    }
}
