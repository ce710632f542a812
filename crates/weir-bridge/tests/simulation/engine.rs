//! A simulated engine: it remembers prompts by client id, runs one turn at a time in each conversation, and outlives
//! the bridge.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use weir_bridge::channel::Attachment;
use weir_bridge::engine::{Ask, AskKind, Command, Ending, EndingOutcome, Report};
use weir_testkit::Random;

#[derive(Debug, Clone)]
struct Turn {
    number: u64,
    prompts: Vec<String>,
    asked: bool,
}

#[derive(Debug, Default)]
struct Conversation {
    scope: String,
    queue: VecDeque<String>,
    running: Option<Turn>,
}

/// The engine.
#[derive(Debug, Default)]
pub(crate) struct Engine {
    conversations: BTreeMap<String, Conversation>,
    ended: BTreeMap<String, Ending>,
    /// Every prompt as scope, client id and text, in the order in which they were first sent.
    pub(crate) prompts: Vec<(String, String, String)>,
    answered_requests: BTreeSet<String>,
    /// The pictures of each turn, by the turn's id.
    pictures: BTreeMap<String, Vec<Attachment>>,
    turns: u64,
    /// Reports that the bridge has not received yet.
    pub(crate) reports: VecDeque<(String, String, Report)>,
}

/// The model's answer to a prompt, which can be found again.
pub(crate) fn token(prompt: &str) -> String {
    format!("[answer to {prompt}]")
}

impl Engine {
    pub(crate) fn command(&mut self, scope: &str, conversation: &str, command: Command) {
        match command {
            Command::Send { client_id, text, steer, .. } => {
                self.send(scope, conversation, client_id, text, steer);
            }
            Command::Interrupt => self.end(conversation, EndingOutcome::Interrupted),
            Command::Describe { number } => {
                self.report(scope, conversation, Report::Facts { number, facts: None });
            }
            Command::LookAt { number, folder } => {
                self.report(scope, conversation, Report::Folder { number, folder: Ok(folder) });
            }
            Command::StopTask { number, task } => {
                self.report(scope, conversation, Report::Task { number, how: format!("Stopped: {task}") });
            }
            Command::Answer { request, .. } => self.answer(scope, conversation, request),
            Command::Stop | Command::SetModel { .. } => {}
        }
    }

    /// The first answer counts. An answer after the end of the turn comes too late.
    fn answer(&mut self, scope: &str, conversation: &str, request: String) {
        let running = self.conversations.get(conversation).and_then(|entry| entry.running.as_ref());
        let is_open = running.is_some_and(|turn| format!("ask-{}", turn.number) == request);
        let report = if is_open && self.answered_requests.insert(request.clone()) {
            Report::Taken { request }
        } else {
            Report::TooLate { request, how: "It is no longer open.".into() }
        };
        self.report(scope, conversation, report);
    }

    fn report(&mut self, scope: &str, conversation: &str, report: Report) {
        self.reports.push_back((scope.to_owned(), conversation.to_owned(), report));
    }

    fn send(&mut self, scope: &str, conversation: &str, client_id: String, text: String, steer: bool) {
        if let Some(ending) = self.ended.get(&client_id).cloned() {
            if !steer {
                self.report_pictures(scope, conversation, &ending.turn);
            }
            self.report(scope, conversation, Report::Finished { client_id, ending });
            return;
        }
        if self.prompts.iter().any(|(_, known, _)| *known == client_id) {
            return;
        }
        self.prompts.push((scope.to_owned(), client_id.clone(), text));
        let entry = self.conversations.entry(conversation.to_owned()).or_default();
        scope.clone_into(&mut entry.scope);
        match &mut entry.running {
            Some(turn) if steer && entry.queue.is_empty() => turn.prompts.push(client_id),
            Some(_) => {
                assert!(steer, "two prompts at once in {conversation}");
                entry.queue.push_back(client_id);
            }
            None => {
                assert!(steer || entry.queue.is_empty(), "two prompts at once in {conversation}");
                entry.queue.push_back(client_id);
            }
        }
    }

    pub(crate) fn is_busy(&self) -> bool {
        self.conversations.values().any(|entry| entry.running.is_some() || !entry.queue.is_empty())
    }

    /// Lets something happen in one of the conversations.
    pub(crate) fn advance(&mut self, random: &mut Random) {
        let names: Vec<String> = self.conversations.keys().cloned().collect();
        if names.is_empty() {
            return;
        }
        let pick = usize::try_from(random.below(names.len() as u64)).unwrap_or(0);
        let name = &names[pick];
        let Some(entry) = self.conversations.get_mut(name) else { return };
        let Some(turn) = &mut entry.running else {
            if let Some(prompt) = entry.queue.pop_front() {
                self.turns += 1;
                entry.running = Some(Turn { number: self.turns, prompts: vec![prompt], asked: false });
            }
            return;
        };
        let scope = entry.scope.clone();
        let number = turn.number;
        let report = match random.below(8) {
            0 => Report::ToolStarted { id: "t".into(), title: "Bash: ls".into() },
            1 => Report::ToolEnded { id: "t".into() },
            2 | 3 => Report::Text { block: number, text: "some words that grow ".repeat(4), replaces: false },
            4 if !turn.asked => {
                turn.asked = true;
                let kind = AskKind::Permission {
                    tool: "Bash".into(),
                    details: "`ls`".into(),
                    always: Some("`Bash(ls)`".into()),
                };
                Report::Asked(Ask { request: format!("ask-{number}"), kind })
            }
            6 => {
                let picture = picture(number, random);
                self.pictures.entry(number.to_string()).or_default().push(picture.clone());
                Report::Pictures(vec![picture])
            }
            5 => {
                self.end(name, EndingOutcome::Failed("The API is overloaded.".into()));
                return;
            }
            _ => {
                self.end(name, EndingOutcome::Answered(String::new()));
                return;
            }
        };
        self.report(&scope, name, report);
    }

    /// Reports all pictures of a turn before its end, in case the bridge missed some.
    fn report_pictures(&mut self, scope: &str, conversation: &str, turn: &str) {
        if let Some(pictures) = self.pictures.get(turn).cloned() {
            self.report(scope, conversation, Report::Pictures(pictures));
        }
    }

    /// Every picture that was made, by content.
    pub(crate) fn made(&self) -> BTreeSet<String> {
        self.pictures.values().flatten().map(|picture| picture.blob.clone()).collect()
    }

    fn end(&mut self, conversation: &str, outcome: EndingOutcome) {
        let Some(entry) = self.conversations.get_mut(conversation) else { return };
        let Some(turn) = entry.running.take() else { return };
        let scope = entry.scope.clone();
        let words = turn.prompts.iter().map(|prompt| token(prompt)).collect::<Vec<_>>().join("\n");
        let outcome = match outcome {
            EndingOutcome::Answered(_) => EndingOutcome::Answered(words),
            EndingOutcome::Failed(reason) => EndingOutcome::Failed(format!("{reason} {words}")),
            EndingOutcome::Interrupted => EndingOutcome::Interrupted,
        };
        let ending = Ending {
            turn: turn.number.to_string(),
            outcome,
            degraded: false,
            said: String::new(),
            cost_usd: Some(0.01),
            usage: None,
            models: Vec::new(),
            duration_ms: Some(3),
        };
        self.report_pictures(&scope, conversation, &ending.turn);
        for client_id in turn.prompts {
            self.ended.insert(client_id.clone(), ending.clone());
            self.report(&scope, conversation, Report::Finished { client_id, ending: ending.clone() });
        }
    }

    /// Kills everything. Running turns end; queued prompts stay queued.
    pub(crate) fn crash(&mut self, random: &mut Random) {
        let names: Vec<String> = self.conversations.keys().cloned().collect();
        for name in names {
            let outcome = match random.below(3) {
                0 => EndingOutcome::Answered(String::new()),
                1 => EndingOutcome::Failed("The bridge was restarted.".into()),
                _ => EndingOutcome::Interrupted,
            };
            self.end(&name, outcome);
        }
        self.reports.clear();
    }

    /// How each prompt ended.
    pub(crate) fn answered(&self) -> impl Iterator<Item = (&String, &Ending)> {
        self.ended.iter()
    }
}

/// One of two pictures of a turn.
fn picture(turn: u64, random: &mut Random) -> Attachment {
    let blob = format!("turn-{turn}-{}", random.below(2));
    Attachment { name: "picture.png".into(), media_type: "image/png".into(), size: 10, blob }
}
