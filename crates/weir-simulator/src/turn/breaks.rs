//! Connections that fail before the response is complete, and how the versions recover.

use super::api_error::{self, ApiFailure};
use super::{End, Run};
use crate::ledger::Tokens;
use crate::lines;
use crate::script::{Break, Step};
use crate::tools::Call;
use crate::{array, object};

impl Run<'_> {
    /// Plays a step, after the failures that precede it.
    pub(super) fn play_despite_breaks(
        &mut self,
        step: &Step,
        key: &str,
        model: String,
    ) -> Result<Vec<Call>, End> {
        let key = format!("{key} break");
        let mut attempt = 0;
        while let Some(failure) = step.breaks {
            let tried = self.tried(&key);
            if step.times.is_some_and(|times| tried > times) {
                break;
            }
            match failure {
                // Retried without a stream.
                Break::Error => return self.play_whole(step, model, true),
                Break::Stream if self.sim.profile.is_old() => {
                    let text = step.text.clone().unwrap_or_default();
                    self.half_a_stream(
                        &text.chars().take(text.chars().count() / 2).collect::<String>(),
                        step,
                        &model,
                    );
                    return self.play_whole(step, model, false);
                }
                Break::Connection | Break::Stream => {}
            }
            if attempt >= self.sim.settings.max_retries {
                return Err(self.give_up());
            }
            attempt += 1;
            let wait = api_error::delay(&[], attempt, self.agent.ids.number());
            self.wait_for_try(attempt, wait, None, "unknown")?;
        }
        self.play(step, model)
    }

    fn give_up(&mut self) -> End {
        let failure = ApiFailure {
            status: None,
            kind: "connection_error".to_owned(),
            text: "API Error: Connection error.".to_owned(),
            name: "unknown",
            request_id: None,
        };
        self.say_failure(&failure);
        End::Failed(failure)
    }

    /// Plays a response that came in one piece, outside the stream. The older version does not count its cost; the
    /// newer one counts the beginning of the stream among its tokens.
    fn play_whole(&mut self, step: &Step, model: String, counts_beginning: bool) -> Result<Vec<Call>, End> {
        let old = self.sim.profile.is_old();
        let calls = self.play_without_stream(step, model, !old)?;
        if !old && counts_beginning {
            let tokens = Tokens::of(&step.full_usage());
            self.tokens.add(Tokens { output: 1, ..tokens });
        }
        Ok(calls)
    }

    /// The older version reports on the model's behalf that a response was too long.
    pub(super) fn say_limit(&mut self) {
        let text = "API Error: Claude's response exceeded the 32000 output token maximum. To configure this behavior, set the CLAUDE_CODE_MAX_OUTPUT_TOKENS environment variable.";
        let content = array![object! { "type" => "text", "text" => text }];
        let message = api_error::synthetic(content, &self.sim.profile, self.agent.ids.uuid());
        let uuid = self.agent.ids.uuid();
        self.sim.out.line(&lines::assistant(self.sim, &self.agent, message, &uuid, object! {}));
    }
}
