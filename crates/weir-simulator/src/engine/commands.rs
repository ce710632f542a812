//! Slash commands that the CLI handles itself.

use std::sync::Arc;
use std::time::Duration;

use super::Engine;
use crate::agent::Agent;
use crate::cancel::Cancel;
use crate::history::History;
use crate::json::Json;
use crate::ledger::Tokens;
use crate::object;
use crate::queue::UserMessage;
use crate::sessions::SessionFile;
use crate::sim::Sim;
use crate::turn::{Ended, ResultLine};
use crate::{clock, lines};

impl Engine {
    /// Handles slash commands that the CLI runs itself. Returns whether this was one.
    pub(super) fn command(&mut self, command: &str, message: &UserMessage) -> bool {
        let name = command.split_whitespace().next().unwrap_or_default().to_owned();
        let old = self.sim.profile.is_old();
        let uuids: Vec<String> = message.uuid.iter().cloned().collect();
        let own = name == "compact" || name == "clear" && !old;
        if !own && self.sim.profile.slash_commands().contains(&name.as_str()) {
            return false;
        }
        self.lifecycle(&uuids, "started");
        match name.as_str() {
            "clear" if !old => self.clear(message),
            "compact" => {
                if !self.compact(&uuids, crate::script::first_sleep(command)) {
                    self.lifecycle(&uuids, "cancelled");
                    return true;
                }
            }
            _ => {
                self.before_turn();
                self.line(&lines::init(&self.sim, &self.ids, &[]));
                let text = format!("Unknown skill: {name}");
                let ended = Ended::LocalCommand { name: None, text };
                let turns = if old { 3 } else { 0 };
                let messages = uuids.clone();
                self.result(ResultLine { turns, messages, ..ResultLine::plain(ended, self.ids.uuid()) });
            }
        }
        self.lifecycle(&uuids, "completed");
        true
    }

    fn clear(&mut self, message: &UserMessage) {
        let new_session = self.ids.uuid();
        let reset = object! {
            "type" => "conversation_reset",
            "new_conversation_id" => self.ids.uuid(),
            "uuid" => self.ids.uuid(),
            "trigger" => "clear",
            "user_message_uuid" => message.uuid.clone().unwrap_or_else(|| self.ids.uuid()),
            "timestamp" => clock::timestamp(),
            "session_id" => self.sim.session_id(),
        };
        self.line(&reset);
        self.line(&lines::system(
            &self.sim,
            &self.ids,
            "background_tasks_changed",
            object! { "tasks" => crate::array![] },
        ));
        self.sim.state().session_id.clone_from(&new_session);
        self.sim.ledger().clear();
        self.history = History::default();
        if self.sim.options.persist {
            let file = SessionFile::new(
                &self.sim.project_dir(),
                &new_session,
                &self.sim.cwd_text(),
                &self.sim.profile,
            );
            self.history.file = Some(file);
        }
        let messages: Vec<String> = message.uuid.iter().cloned().collect();
        self.line(&lines::init(&self.sim, &self.ids, &messages));
        let ended = Ended::LocalCommand { name: Some("clear"), text: String::new() };
        self.result(ResultLine { messages, ..ResultLine::plain(ended, self.ids.uuid()) });
    }

    /// The model summarises the conversation, which costs a request and takes this long. Returns whether it finished
    /// without an interruption.
    fn compact(&mut self, messages: &[String], takes: Duration) -> bool {
        let (sim, ids) = (Arc::clone(&self.sim), Arc::clone(&self.ids));
        let old = sim.profile.is_old();
        self.line(&lines::status(&sim, &ids, "status", object! { "status" => "compacting" }));
        if sim.queue.current().unwrap_or_default().sleep(takes).is_err() {
            self.compaction_interrupted(messages);
            return false;
        }
        let model = sim.state().model.clone();
        let usual = Tokens { input: 100, output: 50, ..Tokens::default() };
        sim.ledger().charge(&sim.profile, &model, usual);
        let done = object! { "status" => Json::Null };
        let done = if old { done } else { done.with("compact_result", "success") };
        self.line(&lines::status(&sim, &ids, "status", done));
        self.line(&lines::init(&sim, &ids, messages));
        let metadata = object! { "trigger" => "manual", "pre_tokens" => 1200 };
        let mut boundary = object! {
            "type" => "system",
            "subtype" => "compact_boundary",
            "session_id" => sim.session_id(),
            "uuid" => ids.uuid(),
            "compact_metadata" => if old { metadata } else { metadata.with("post_tokens", 2561).with("duration_ms", 1) },
        };
        if !old {
            boundary.set("logical_parent_uuid", ids.uuid());
        }
        self.line(&boundary);
        let summary = summary_text(&sim);
        if let Some(file) = &mut self.history.file {
            file.note(&object! { "type" => "compact-reset" });
        }
        self.history.messages.clear();
        self.history.user(Json::from(summary.as_str()), &ids.uuid(), object! {});
        let mut extra = object! { "isReplay" => false };
        if !old {
            extra.set("isSynthetic", true);
        }
        self.line(&lines::replay(&sim, &Json::from(summary), &ids.uuid(), true, extra));
        let said = Json::from("<local-command-stdout>Compacted </local-command-stdout>");
        self.line(&lines::replay(&sim, &said, &ids.uuid(), true, object! { "isReplay" => true }));
        let ended = Ended::LocalCommand { name: Some("compact"), text: String::new() };
        let (turns, messages) = (if old { 9 } else { 0 }, messages.to_vec());
        self.result(ResultLine { turns, messages, ..ResultLine::plain(ended, ids.uuid()) });
        true
    }

    /// The CLI reports success anyway.
    fn compaction_interrupted(&mut self, messages: &[String]) {
        let (sim, ids) = (Arc::clone(&self.sim), Arc::clone(&self.ids));
        self.line(&lines::status(&sim, &ids, "status", object! { "status" => Json::Null }));
        self.line(&lines::init(&sim, &ids, messages));
        if sim.profile.is_old() {
            let said = Json::from("<local-command-stderr>Error: Compaction canceled.</local-command-stderr>");
            self.line(&lines::replay(&sim, &said, &ids.uuid(), true, object! { "isReplay" => true }));
        } else {
            let agent = Agent::new(None, Arc::clone(&ids), Cancel::new());
            let text = object! { "type" => "text", "text" => "Compaction canceled." };
            let message = object! {
                "id" => ids.uuid(),
                "type" => "message",
                "role" => "assistant",
                "model" => "<synthetic>",
                "content" => crate::array![text],
            };
            self.line(&lines::assistant(&sim, &agent, message, &ids.uuid(), object! {}));
        }
        let ended = Ended::LocalCommand { name: Some("compact"), text: String::new() };
        let (turns, messages) = (if sim.profile.is_old() { 5 } else { 0 }, messages.to_vec());
        self.result(ResultLine { turns, messages, ..ResultLine::plain(ended, ids.uuid()) });
    }
}

fn summary_text(sim: &Sim) -> String {
    let details = format!(
        "If you need specific details from before compaction (like exact code snippets, error messages, or content you generated), read the full transcript at: {}",
        sim.transcript_path()
    );
    let intro = "This session is being continued from a previous conversation that ran out of context. The summary below covers the earlier portion of the conversation.";
    let summary = "Summary:\n1. Primary Request: a scripted test.\n2. Current Work: none.";
    if sim.profile.is_old() {
        return format!("{intro}\n\nAnalysis:\nShort.\n{summary}\n\n{details}");
    }
    format!(
        "{intro}\n\n<system-reminder>\n<tools-used-before-summary></tools-used-before-summary>\n</system-reminder>\n{summary}\n\n{details}\nContinue the conversation from where it left off without asking the user any further questions. Resume directly — do not acknowledge the summary, do not recap what was happening, do not preface with \"I'll continue\" or similar. Pick up the last task as if the break never happened."
    )
}
