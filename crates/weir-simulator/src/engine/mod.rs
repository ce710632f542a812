//! The main loop: takes the next item from the queue, runs a turn for it, and writes the result.

mod commands;
mod results;

use std::sync::Arc;
use std::time::Duration;

use super::agent::Agent;
use super::cancel::{Cancel, Stop};
use super::history::History;
use super::hooks;
use super::ids::Ids;
use super::lines;
use super::mcp;
use super::misbehave::Misbehaviour;
use super::options::Resume;
use super::queue::{Next, Notice, UserMessage};
use super::rewind;
use super::sim::Sim;
use super::turn::{End, Ended, ResultLine, Run};
use crate::json::Json;
use crate::object;
use crate::script;

/// How long the process waits for stopped tasks.
const LAST_WAIT: Duration = Duration::from_secs(1);

/// The main loop and its state between turns.
#[derive(Debug)]
pub(crate) struct Engine {
    sim: Arc<Sim>,
    ids: Arc<Ids>,
    history: History,
    results: u64,
    /// Results held back until background sub-agents end.
    held: Vec<ResultLine>,
    last: Option<Json>,
    last_is_error: bool,
    turns: u64,
}

impl Engine {
    pub(crate) fn new(sim: Arc<Sim>, history: History) -> Self {
        let ids = sim.ids.fork("engine");
        Self { sim, ids, history, results: 0, held: Vec::new(), last: None, last_is_error: false, turns: 0 }
    }

    /// Runs until there is nothing more to do. Returns the exit status.
    pub(crate) fn run(mut self) -> u8 {
        let coalesce = self.sim.misbehaviour(|misbehaviour| match misbehaviour {
            Misbehaviour::Coalesce(wanted) => Some(*wanted),
            _ => None,
        });
        let together = coalesce.unwrap_or_else(|| self.sim.profile.coalesces());
        let status = loop {
            match self.sim.queue.next(together, self.sim.profile.reports_tasks()) {
                Next::Messages(batch) => self.messages(&batch),
                Next::Notice(notice) => self.notice(&notice),
                Next::End(status) => break status,
            }
            self.sim.queue.finished();
            // The other side is gone.
            if self.sim.out.is_closed() && !self.sim.is_silent() && !self.sim.queue.is_ending() {
                break Some(1);
            }
        };
        self.flush_results();
        // From here on tasks end silently; the processes they started are gone before this one.
        self.sim.queue.end_after_turn(status);
        self.sim.tasks.stop_all();
        self.sim.queue.wait_for_tasks(LAST_WAIT);
        self.print_last();
        status.unwrap_or_else(|| u8::from(self.last_is_error))
    }

    /// Runs a turn for user messages.
    fn messages(&mut self, batch: &[UserMessage]) {
        let uuids: Vec<String> = batch.iter().filter_map(|message| message.uuid.clone()).collect();
        if let Some(file) = self.history.file.as_mut().filter(|_| self.sim.options.await_claim) {
            file.relocate(&self.sim.project_dir(), self.sim.cwd_text());
        }
        if let [message] = batch
            && message.is_note
        {
            return self.note(message);
        }
        if let [message] = batch
            && let Some(command) = message.command()
            && self.command(command, message)
        {
            return;
        }
        self.take_back();
        let replay = self.sim.options.replay_user_messages;
        let Some((last, earlier)) = batch.split_last() else { return };
        for message in earlier.iter().filter(|_| replay) {
            self.replay(message, &message.content, true);
        }
        self.lifecycle(&uuids, "started");
        self.before_turn();
        self.line(&lines::init(&self.sim, &self.ids, &uuids));
        self.empty_result_first();
        let content = joined(batch);
        if replay {
            self.replay(last, &content, earlier.is_empty());
        }
        let number = self.sim.next_message_number();
        let uuid = last.uuid.clone().unwrap_or_else(|| self.ids.uuid());
        if let Some(file) = &mut self.history.file {
            file.dequeued();
        }
        let prompt = script::texts(&content).join("\n");
        rewind::message(&self.sim, self.history.asked(&uuid, &prompt));
        self.history.user(content.clone(), &uuid, object! {});
        self.turn(&uuids, None, Some((number, prompt)));
    }

    /// Forgets what the host has taken back since the last message.
    fn take_back(&mut self) {
        let cut = self.sim.rewinds().cut.take();
        if let Some(cut) = cut {
            self.history.cut(cut);
        }
    }

    /// Takes a message without answering it.
    fn note(&mut self, message: &UserMessage) {
        self.take_back();
        let uuids: Vec<String> = message.uuid.iter().cloned().collect();
        self.lifecycle(&uuids, "started");
        self.before_turn();
        self.line(&lines::init(&self.sim, &self.ids, &uuids));
        let uuid = message.uuid.clone().unwrap_or_else(|| self.ids.uuid());
        self.history.user(message.content.clone(), &uuid, object! {});
        let ended = Ended::LocalCommand { name: None, text: String::new() };
        let messages = uuids.clone();
        self.result(ResultLine { messages, ..ResultLine::plain(ended, self.ids.uuid()) });
        self.lifecycle(&uuids, "completed");
    }

    /// Runs a turn without a message: a background task has ended.
    fn notice(&mut self, notice: &Notice) {
        self.before_turn();
        self.line(&lines::init(&self.sim, &self.ids, &[]));
        let origin = object! { "kind" => "task-notification", "producer" => "session-task", "runId" => notice.run_id.as_str() };
        let uuid = self.ids.uuid();
        self.history.user(Json::from(notice.text.as_str()), &uuid, object! { "origin" => &origin });
        self.turn(&[], Some(origin), None);
    }

    fn turn(&mut self, messages: &[String], origin: Option<Json>, prompt: Option<(usize, String)>) {
        let cancel = self.sim.queue.current().unwrap_or_default();
        let agent = Agent::new(None, self.ids.fork(&format!("turn {}", self.turns)), Arc::clone(&cancel));
        self.turns += 1;
        self.sim.state().denials.clear();
        let sim = Arc::clone(&self.sim);
        let mut run = Run::new(&sim, agent.clone(), &mut self.history);
        run.messages = messages.to_vec();
        if let Some((number, text)) = prompt {
            let scripts = &sim.settings.scripts;
            run.script = scripts.get(number).or(scripts.last()).map(|script| (script.clone(), 0));
            hooks::fire(&sim, &agent, "UserPromptSubmit", None, &object! { "prompt" => text });
        }
        let end = run.drive();
        if end == End::Done {
            let details =
                object! { "stop_hook_active" => false, "last_assistant_message" => run.text.as_str() };
            hooks::fire(&sim, &agent, "Stop", None, &details);
        }
        let result = ResultLine::of(&run, &end).map(|result| ResultLine { origin, ..result });
        let steered: Vec<String> =
            run.messages.iter().filter(|uuid| !messages.contains(uuid)).cloned().collect();
        self.sim.queue.finished();
        self.lifecycle(&steered, "completed");
        if let Some(result) = result {
            self.result(result);
        }
        let state = match end {
            End::Done | End::MaxTurns(_) => Some("completed"),
            End::Failed(_) | End::Budget(_) => Some("cancelled"),
            End::Stopped { reason: Stop::Terminate | Stop::Task, .. } => None,
            End::Stopped { .. } => Some("cancelled"),
        };
        if let Some(state) = state {
            self.lifecycle(messages, state);
        }
        self.save_cost();
        if matches!(end, End::Stopped { reason: Stop::Signal, .. }) {
            self.sim.queue.end_after_turn(Some(0));
        }
    }

    /// Reports the state of messages, in the version that does so.
    fn lifecycle(&self, messages: &[String], state: &str) {
        for uuid in messages.iter().filter(|_| self.sim.profile.coalesces()) {
            self.line(&lines::lifecycle(&self.sim, &self.ids, uuid, state));
        }
    }

    /// Runs hooks and connects servers before the first `init`.
    fn before_turn(&mut self) {
        if self.turns == 0 && self.results == 0 {
            let source = if self.sim.options.resume == Resume::No { "startup" } else { "resume" };
            let agent = Agent::new(None, Arc::clone(&self.ids), Cancel::new());
            hooks::fire(&self.sim, &agent, "SessionStart", Some(source), &object! { "source" => source });
        }
        mcp::connect(&self.sim, &self.ids);
    }

    fn replay(&self, message: &UserMessage, content: &Json, timestamp: bool) {
        let uuid = message.uuid.clone().unwrap_or_else(|| self.ids.uuid());
        let timestamp = timestamp && self.turns == 0;
        self.line(&lines::replay(&self.sim, content, &uuid, timestamp, object! { "isReplay" => true }));
    }

    fn line(&self, line: &Json) {
        self.sim.out.line(line);
    }
}

/// Merges several messages into one, with line breaks between the texts.
fn joined(batch: &[UserMessage]) -> Json {
    if let [message] = batch {
        return message.content.clone();
    }
    if batch.iter().all(|message| message.content.as_str().is_some()) {
        let texts: Vec<&str> = batch.iter().filter_map(|message| message.content.as_str()).collect();
        return Json::String(texts.join("\n"));
    }
    let blocks = batch.iter().flat_map(|message| match &message.content {
        Json::String(text) => vec![object! { "type" => "text", "text" => text }],
        content => content.items().to_vec(),
    });
    Json::Array(blocks.collect())
}
