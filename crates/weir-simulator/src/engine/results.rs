//! Results: written, held back, or written incorrectly on request.

use std::sync::Arc;
use std::time::Duration;

use super::Engine;
use crate::cancel::Cancel;
use crate::json::Json;
use crate::misbehave::{Misbehaviour, Point};
use crate::object;
use crate::options::Format;
use crate::turn::{Ended, ResultLine, crash};

impl Engine {
    /// Writes a result, or holds it back: after the end of the input the newer version waits for background
    /// sub-agents before it writes any.
    pub(super) fn result(&mut self, result: ResultLine) {
        self.held.push(result);
        let waits =
            self.sim.queue.input_ended() && self.sim.queue.agents_pending() && !self.sim.profile.is_old();
        if !waits {
            self.flush_results();
        }
    }

    pub(super) fn flush_results(&mut self) {
        for result in std::mem::take(&mut self.held) {
            let line = result.to_json(&self.sim, self.results);
            self.results += 1;
            self.last_is_error = result.is_error(&self.sim);
            self.write_result(line);
        }
    }

    /// Writes a result, or misbehaves if that was requested.
    fn write_result(&mut self, mut line: Json) {
        let sim = Arc::clone(&self.sim);
        sim.silence(Point::Result);
        crash(&sim, Point::Result);
        let take =
            |wanted: &Misbehaviour| sim.take_misbehaviour(|misbehaviour| misbehaviour == wanted).is_some();
        if take(&Misbehaviour::ResultObject) {
            let text = line.str_of("result").unwrap_or_default();
            let content = crate::array![object! { "type" => "text", "text" => text }];
            line.set("result", object! { "role" => "assistant", "content" => content });
        }
        if take(&Misbehaviour::EmptyResult) {
            line.set("result", "");
        }
        if take(&Misbehaviour::TruncatedResult) {
            let text = line.to_string();
            let half = text.as_bytes().get(..text.len() / 2).unwrap_or_default();
            sim.out.raw(half);
            sim.out.close();
            sim.queue.end_after_turn(Some(0));
            return;
        }
        if !take(&Misbehaviour::NoResult) {
            self.line(&line.clone());
        }
        if take(&Misbehaviour::StrayResult) {
            self.line(&line.clone().with("uuid", self.ids.uuid()).with("result", "a stray result"));
        }
        let late = |misbehaviour: &Misbehaviour| matches!(misbehaviour, Misbehaviour::LateResult { .. });
        if let Some(Misbehaviour::LateResult { after }) = sim.take_misbehaviour(late) {
            let again = line.clone().with("uuid", self.ids.uuid()).with("result", "a late result");
            self.late(after, again);
        }
        self.last = Some(line);
    }

    fn late(&self, after: Duration, line: Json) {
        let sim = Arc::clone(&self.sim);
        sim.queue.task_started(false);
        std::thread::spawn(move || {
            // This one is never cancelled.
            _ = Cancel::new().sleep(after);
            sim.out.line(&line);
            sim.queue.task_ended(false, None);
        });
    }

    pub(super) fn save_cost(&mut self) {
        let session = self.sim.session_id();
        let state = self.sim.ledger().cost_state(&self.sim.profile, &session);
        if let Some(file) = self.history.file.as_mut().filter(|_| self.sim.profile.resumes_cost()) {
            file.note(&state);
        }
    }

    /// If only the reply was requested, it is written at the end.
    pub(super) fn print_last(&self) {
        let Some(last) = &self.last else { return };
        match self.sim.options.output {
            Format::Json => self.sim.out.raw(format!("{last}\n").as_bytes()),
            Format::Text => {
                let errors = || last.items_of("errors").first().and_then(Json::as_str);
                let text = last.str_of("result").or_else(errors).unwrap_or("Execution error");
                self.sim.out.raw(format!("{text}\n").as_bytes());
            }
            Format::StreamJson => {}
        }
    }

    /// Some versions first answer a resumed session with an empty result.
    pub(super) fn empty_result_first(&mut self) {
        if self
            .sim
            .take_misbehaviour(|misbehaviour| *misbehaviour == Misbehaviour::EmptyResultFirst)
            .is_some()
        {
            let ended = Ended::LocalCommand { name: None, text: "No response requested.".to_owned() };
            self.result(ResultLine::plain(ended, self.ids.uuid()));
        }
    }
}
