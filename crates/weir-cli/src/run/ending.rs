//! The end of a run: the last output, messages to the user, and the exit code.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use serde::Serialize;
use serde_json::Value;
use weir_base::money::dollars;
use weir_process::Secrets;
use weir_session::{Facts, SessionError, TurnEnd};
use weir_transcript::{Denial, RunSummary};

use super::settings::Form;
use super::show::Show;
use crate::exit::{self, Exit};
use crate::explain::explain;
use crate::screen::{clean, cost_of, odd_end, one_line, plural, seconds};

/// How a run ended.
pub(super) struct Ending {
    pub(super) result: Result<Arc<TurnEnd>, SessionError>,
    pub(super) interrupted: bool,
    pub(super) facts: Facts,
    pub(super) took: Duration,
    pub(super) timeout: Option<Duration>,
    /// The cost limit. A CLI version that cannot end a turn at a limit may exceed it.
    pub(super) max_cost_usd: Option<f64>,
    /// Whether the answer must be a value.
    pub(super) has_schema: bool,
    pub(super) secrets: Secrets,
    /// The warning to show if a log was requested but could not be written.
    pub(super) missing_log: Option<String>,
}

/// The one object of `-o json`.
#[derive(Serialize)]
struct Report {
    #[serde(flatten)]
    summary: RunSummary,
    /// Why the run failed.
    error: Option<String>,
    /// What was odd despite a good answer.
    warning: Option<String>,
    /// The answer as a value, if a schema was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    structured_output: Option<Value>,
}

impl Ending {
    /// Prints the remaining output and messages, and returns the exit code.
    pub(super) fn tell(&self, show: &mut Show, form: Form) -> anyhow::Result<Exit> {
        let error = self.error().or_else(|| self.over_budget(show));
        let warning = self.warning(show).filter(|_| error.is_none());
        let said = self.result.as_ref().ok().filter(|end| !end.is_error()).map(|end| end.text.as_str());
        show.end_text(said).context("cannot write the answer")?;
        if let Some(value) = self.value().filter(|_| form == Form::Value) {
            show.print(&value.to_string()).context("cannot write the answer")?;
        }
        if form == Form::Json {
            let report = self.report(show, error.clone(), warning.clone());
            show.print(&serde_json::to_string_pretty(&report)?).context("cannot write the summary")?;
        }
        let has_failed = error.is_some();
        for line in error.into_iter().chain(warning) {
            exit::tell(&format!("weir: {line}"));
        }
        if self.interrupted {
            exit::tell("weir: interrupted");
        } else if let Some(logs) = self.facts.logs.as_ref().filter(|_| has_failed) {
            exit::tell(&format!("weir: the raw log is {}", logs.output.display()));
        }
        if self.result.as_ref().is_ok_and(|end| end.is_degraded()) {
            show.progress.line("weir: the result was empty; the answer is the text up to that point");
        }
        let is_reported = matches!(self.result, Err(SessionError::Log(_)));
        if let Some(missing) = self.missing_log.as_ref().filter(|_| !is_reported) {
            exit::tell(&format!("weir: {missing}"));
        }
        for denial in self.denials() {
            exit::tell(&self.secrets.mask(&advice(denial)));
        }
        if self.facts.processes > 0 {
            let line = self.last_line(show);
            show.progress.line(&line);
        }
        Ok(self.exit(show))
    }

    fn exit(&self, show: &Show) -> Exit {
        match &self.result {
            _ if self.interrupted => Exit::Interrupted,
            Ok(_) if self.misses_value() => Exit::NoResult,
            Ok(_) => match show.summary.outcome(&show.view).into() {
                Exit::Success if self.over_budget(show).is_some() => Exit::BudgetExhausted,
                exit => exit,
            },
            Err(error) => Exit::from(error),
        }
    }

    /// The error of a run that has exceeded its cost limit.
    fn over_budget(&self, show: &Show) -> Option<String> {
        let (spent, limit) = show.view.cost.usd.zip(self.max_cost_usd)?;
        let is_over = spent > limit && self.result.as_ref().is_ok_and(|end| !end.is_error());
        is_over.then(|| {
            let (spent, limit) = (dollars(spent), dollars(limit));
            format!(
                "the run has cost {spent}, which is over its limit of {limit}; no more messages can be sent"
            )
        })
    }

    /// Why the run failed, for people.
    fn error(&self) -> Option<String> {
        let text = match &self.result {
            _ if self.interrupted => return None,
            Err(error) => explain(error, self.timeout),
            Ok(end) if end.is_error() => {
                let result = end.turn.result.as_ref();
                let errors = result.map(|result| result.errors.join("; ")).unwrap_or_default();
                let subtype =
                    || result.map_or_else(|| "no result".to_owned(), |result| result.subtype.clone());
                let why = [errors, end.text.clone()].into_iter().find(|why| !why.trim().is_empty());
                format!("the run failed: {}", why.unwrap_or_else(subtype))
            }
            Ok(end) if self.misses_value() => {
                let said = one_line(&end.text, 200);
                format!("the answer is not a value that matches the schema; the model said: {said}")
            }
            Ok(_) => return None,
        };
        Some(clean(&self.secrets.mask(&text)).into_owned())
    }

    /// The answer as a value, if a schema was given.
    fn value(&self) -> Option<Value> {
        let end = self.result.as_ref().ok().filter(|end| self.has_schema && !end.is_error())?;
        end.value().ok()
    }

    fn misses_value(&self) -> bool {
        let is_good = self.result.as_ref().is_ok_and(|end| !end.is_error());
        self.has_schema && is_good && self.value().is_none()
    }

    /// A warning if the CLI ended abnormally after a good answer.
    fn warning(&self, show: &Show) -> Option<String> {
        let is_good = self.result.as_ref().is_ok_and(|end| !end.turn.state.is_cut_short());
        let text = show.odd_end.as_ref().filter(|_| is_good).and_then(odd_end)?;
        Some(clean(&self.secrets.mask(&text)).into_owned())
    }

    fn report(&self, show: &Show, error: Option<String>, warning: Option<String>) -> Report {
        let mut summary = show.summary.summary(&show.view);
        // A run that a limit interrupted was not interrupted by the user.
        summary.interrupted = self.interrupted || (summary.interrupted && error.is_none());
        summary.is_error = error.is_some() || (summary.is_error && !summary.interrupted);
        if let Some(logs) = &self.facts.logs {
            summary.raw_log = Some(logs.output.display().to_string());
            summary.stderr_log = Some(logs.stderr.display().to_string());
        }
        Report { summary, error, warning, structured_output: self.value() }
    }

    fn denials(&self) -> &[Denial] {
        let result = self.result.as_ref().ok().and_then(|end| end.turn.result.as_ref());
        result.map(|result| result.denials.as_slice()).unwrap_or_default()
    }

    /// A one-line summary.
    fn last_line(&self, show: &Show) -> String {
        let session = &show.view.session;
        let cost = cost_of(show.view.cost.usd, self.interrupted || self.result.is_err());
        let mut parts = vec![plural(show.summary.tools(), "tool call"), cost, seconds(self.took)];
        if let Some(source) = session.api_key_source.as_deref().filter(|source| *source != "none") {
            parts.push(format!("key from {}", one_line(source, 60)));
        }
        if let Some(id) = &session.id {
            parts.push(format!("session {}", one_line(id.as_str(), 60)));
        }
        if session.forked {
            parts.push("a new session, not the requested one".to_owned());
        }
        format!("weir: {}", parts.join(", "))
    }
}

/// Says what was not allowed, and which rule would allow it.
fn advice(denial: &Denial) -> String {
    let tool = one_line(&denial.tool_name, 80);
    let command = denial.tool_input.get("command").and_then(Value::as_str);
    let what = command.map_or_else(|| denial.tool_input.to_string(), str::to_owned);
    // A comma or a quote would have to be quoted twice; naming the whole tool is easier to get right.
    let is_plain = |command: &&str| !command.contains([',', '\'', '\n', '(', ')']);
    let rule = match command.filter(is_plain) {
        Some(command) => format!("'{tool}({command})'"),
        None => tool.clone(),
    };
    format!("weir: not allowed: {tool} {}; --allowed-tools {rule} would allow it", one_line(&what, 200))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn advice_names_the_narrowest_rule_that_is_easy_to_type() {
        let denial =
            |tool: &str, input| Denial { tool_name: tool.into(), tool_use_id: None, tool_input: input };
        assert_eq!(
            advice(&denial("Bash", json!({"command": "touch x"}))),
            "weir: not allowed: Bash touch x; --allowed-tools 'Bash(touch x)' would allow it"
        );
        assert!(
            advice(&denial("Bash", json!({"command": "echo 'a,b'"})))
                .ends_with("--allowed-tools Bash would allow it")
        );
        assert!(advice(&denial("Write", json!({"file_path": "/x"}))).contains("--allowed-tools Write would"));
    }
}
