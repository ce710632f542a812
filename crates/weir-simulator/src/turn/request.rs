//! One request to the imaginary model: which step is played, and the errors before it.

use std::time::Duration;

use super::api_error::{self, ApiFailure};
use super::{End, Run, misdeeds};
use crate::json::Json;
use crate::lines;
use crate::misbehave::{self, Point};
use crate::object;
use crate::persona;
use crate::script::{self, Picked, Step};
use crate::tools::Call;

impl Run<'_> {
    /// Calls the model and writes its response. Returns the tool calls in it.
    pub(super) fn request(&mut self) -> Result<Vec<Call>, End> {
        let stopped = |reason| End::Stopped { reason, in_tool: false };
        self.agent.cancel.check().map_err(stopped)?;
        let Picked { step, key } = self.pick();
        self.requesting();
        if self.agent.is_main() {
            self.sim.silence(Point::Turn);
            super::crash(self.sim, Point::Turn);
        }
        match misbehave::read(&step.misbehave) {
            Ok(list) => self.sim.add_misbehaviours(list),
            Err(error) => self.sim.out.error(&format!("{error}\n")),
        }
        misdeeds::play(self.sim, &self.agent).map_err(stopped)?;
        self.agent.cancel.sleep(step.sleep).map_err(stopped)?;
        let model = self.sim.state().model.clone();
        self.try_until_it_works(&step, &key, &model)?;
        self.play_despite_breaks(&step, &key, model)
    }

    /// The step: from the last script in the conversation, a script file, or the persona.
    fn pick(&mut self) -> Picked {
        if let Some(picked) = script::pick(self.history.messages.iter()) {
            return picked;
        }
        let answers = self.answers_since_message();
        if let Some((script, before)) = &self.script {
            let place = answers.saturating_sub(*before);
            let step = script.steps.get(place).cloned().unwrap_or_else(|| Step::text(script::OVER));
            return Picked { step, key: format!("{}#{place}", script.source) };
        }
        let step = persona::step(self.sim, &self.agent, &self.history.messages, answers);
        Picked { step, key: format!("persona#{answers}") }
    }

    /// Number of responses since the last message that is not a tool result.
    fn answers_since_message(&self) -> usize {
        let is_message = |message: &&Json| {
            let content = message.get("content").unwrap_or(&Json::Null);
            message.str_of("role") == Some("user") && !script::texts(content).is_empty()
        };
        let after = self.history.messages.iter().rev().take_while(|message| !is_message(message));
        after.filter(|message| message.str_of("role") == Some("assistant")).count()
    }

    fn requesting(&self) {
        if self.sim.options.partial_messages && self.agent.is_main() && !self.sim.profile.is_old() {
            let mut status = object! { "status" => "requesting" };
            if !self.messages.is_empty() && self.user_lines == 0 {
                status.set("user_message_uuids", self.messages.clone());
            }
            self.sim.out.line(&lines::status(self.sim, &self.agent.ids, "status", status));
        }
    }

    /// Plays the errors of a step, with retries and waits, until it works or fails permanently.
    fn try_until_it_works(&mut self, step: &Step, key: &str, model: &str) -> Result<(), End> {
        let Some(error) = &step.error else { return Ok(()) };
        let limit = api_error::retries(error, &self.sim.profile, self.sim.settings.max_retries);
        let mut attempt = 0;
        loop {
            let seen = self.tried(key);
            if error.times.is_some_and(|times| seen > times) {
                return Ok(());
            }
            if attempt >= limit {
                let request_id = self.agent.ids.api_request();
                let gateway = &self.sim.settings.gateway;
                let failure =
                    api_error::failure(error, &self.sim.profile, model, request_id, attempt, gateway);
                self.say_failure(&failure);
                return Err(End::Failed(failure));
            }
            attempt += 1;
            let wait = api_error::delay(&error.headers, attempt, self.agent.ids.number());
            self.wait_for_try(attempt, wait, Some(error.status), api_error::name(error))?;
        }
    }

    /// Counts an attempt at a step.
    pub(super) fn tried(&self, key: &str) -> u64 {
        let mut state = self.sim.state();
        let tries = state.tries.entry(key.to_owned()).or_default();
        *tries += 1;
        *tries
    }

    /// Reports the next attempt, if the version does so, and waits for it.
    pub(super) fn wait_for_try(
        &self,
        attempt: u64,
        wait: Duration,
        status: Option<u16>,
        name: &str,
    ) -> Result<(), End> {
        if self.sim.profile.reports_retries() {
            let retry = object! {
                "attempt" => attempt,
                "max_retries" => self.sim.settings.max_retries,
                "retry_delay_ms" => u64::try_from(wait.as_millis()).unwrap_or(u64::MAX),
                "error_status" => status.map(u32::from),
                "error" => name,
            };
            self.sim.out.line(&lines::status(self.sim, &self.agent.ids, "api_retry", retry));
        }
        let wait = wait.mul_f64(self.sim.settings.retry_scale);
        self.agent.cancel.sleep(wait).map_err(|reason| End::Stopped { reason, in_tool: false })
    }

    /// Tells the user on the model's behalf that the API failed.
    pub(super) fn say_failure(&mut self, failure: &ApiFailure) {
        let profile = &self.sim.profile;
        let message = api_error::message(failure, profile, self.agent.ids.uuid());
        let mut extra = object! { "error" => failure.name };
        if !profile.is_old() {
            extra = extra.with_some("request_id", failure.request_id.as_deref()).with_all(object! {
                "is_api_error_message" => true,
                "api_error_status" => failure.status.map(u32::from),
                "api_error_type" => failure.kind.as_str(),
            });
        }
        let uuid = self.agent.ids.uuid();
        self.history.save_block(&message, &uuid);
        let content = message.get("content").map(Json::items).unwrap_or_default().to_vec();
        self.history.assistant(content);
        self.text.clone_from(&failure.text);
        self.stop_reason = Some("stop_sequence".to_owned());
        if self.agent.shows_text(self.sim) {
            self.sim.out.line(&lines::assistant(self.sim, &self.agent, message, &uuid, extra));
        }
    }
}
