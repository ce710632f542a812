//! What the checks found.

use std::io::Write as _;

use serde::Serialize;
use serde_json::Value;

use crate::screen::{Style, clean, plural};

/// What all checks found.
#[derive(Debug, Serialize)]
pub(super) struct Report {
    ok: bool,
    checks: Vec<Line>,
    /// Whether lines are printed as they come.
    #[serde(skip)]
    prints: bool,
}

/// What one check found.
#[derive(Debug, Serialize)]
pub(super) struct Line {
    /// What was looked at.
    name: &'static str,
    status: Status,
    message: String,
    /// What to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    advice: Option<String>,
    /// The same for programs.
    #[serde(skip_serializing_if = "Value::is_null")]
    details: Value,
}

/// How it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Status {
    Ok,
    /// It works, but may not be what is wanted.
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
            // Where it cannot be written, the exit code still tells.
            let _ = std::io::stdout().write_all(line.text(Style::for_stdout()).as_bytes());
        }
        self.checks.push_mut(line)
    }

    pub(super) fn is_well(&self) -> bool {
        self.ok
    }

    pub(super) fn verdict(&self, style: Style) -> String {
        let count = |status| self.checks.iter().filter(|line| line.status == status).count() as u64;
        match (count(Status::Failed), count(Status::Warning)) {
            (0, 0) => style.good("All is well."),
            (0, warnings) => style.good(&format!("All is well, with {}.", plural(warnings, "warning"))),
            (failures, _) => style.bad(&format!("{} to solve.", plural(failures, "problem"))),
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
