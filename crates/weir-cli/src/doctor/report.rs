//! The report of the checks.

use std::io::Write as _;

use serde::Serialize;
use serde_json::Value;

use crate::screen::{Style, clean, plural};

/// The results of all checks.
#[derive(Debug, Serialize)]
pub(super) struct Report {
    ok: bool,
    checks: Vec<Line>,
    /// Whether lines are printed as they are added.
    #[serde(skip)]
    prints: bool,
}

/// The result of one check.
#[derive(Debug, Serialize)]
pub(super) struct Line {
    /// What was checked.
    name: &'static str,
    status: Status,
    message: String,
    /// What to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    advice: Option<String>,
    /// The message as data, for programs.
    #[serde(skip_serializing_if = "Value::is_null")]
    details: Value,
}

/// The status of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Status {
    Ok,
    /// It works, but may not be intended.
    Warning,
    Failed,
}

impl Report {
    pub(super) fn new(prints: bool) -> Self {
        Self { ok: true, checks: Vec::new(), prints }
    }

    pub(super) fn good(&mut self, name: &'static str, message: impl Into<String>) -> &mut Line {
        self.add(name, Status::Ok, message.into(), None)
    }

    pub(super) fn warn(
        &mut self,
        name: &'static str,
        message: impl Into<String>,
        advice: impl Into<String>,
    ) -> &mut Line {
        self.add(name, Status::Warning, message.into(), Some(advice.into()))
    }

    pub(super) fn fail(
        &mut self,
        name: &'static str,
        message: impl Into<String>,
        advice: impl Into<String>,
    ) -> &mut Line {
        self.ok = false;
        self.add(name, Status::Failed, message.into(), Some(advice.into()))
    }

    fn add(
        &mut self,
        name: &'static str,
        status: Status,
        message: String,
        advice: Option<String>,
    ) -> &mut Line {
        let line = Line { name, status, message, advice, details: Value::Null };
        if self.prints {
            // If it cannot be written, the exit code still shows the result.
            let _ = std::io::stdout().write_all(line.text(Style::for_stdout()).as_bytes());
        }
        self.checks.push_mut(line)
    }

    pub(super) fn is_ok(&self) -> bool {
        self.ok
    }

    pub(super) fn verdict(&self, style: Style) -> String {
        let count = |status| self.checks.iter().filter(|line| line.status == status).count() as u64;
        match (count(Status::Failed), count(Status::Warning)) {
            (0, 0) => style.good("No problems found."),
            (0, warnings) => style.good(&format!("No problems found, {}.", plural(warnings, "warning"))),
            (failures, _) => style.bad(&format!("{} found.", plural(failures, "problem"))),
        }
    }
}

impl Line {
    pub(super) fn with(&mut self, details: Value) {
        self.details = details;
    }

    fn text(&self, style: Style) -> String {
        let mark = match self.status {
            Status::Ok => style.good("✓"),
            Status::Warning => style.careful("!"),
            Status::Failed => style.bad("✗"),
        };
        let name = style.bold(&format!("{:<10}", self.name));
        let rest = |text: &str| clean(text).trim_end().replace('\n', "\n             ");
        let mut text = format!("{mark} {name} {}\n", rest(&self.message));
        if let Some(advice) = &self.advice {
            text.push_str(&format!("             {}\n", style.faint(&rest(advice))));
        }
        text
    }
}
