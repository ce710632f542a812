//! The output of `/help`, `/cost`, `/model` and `/tools`.

use std::fmt::Write as _;

use serde_json::Value;
use weir_session::SessionError;
use weir_transcript::{Cost, ToolCall, View};

use super::Chat;
use super::command::COMMANDS;
use crate::explain::explain;
use crate::screen::{Style, Table, clean, dollars, headline, one_line, short_path};

/// Maximum number of listed tool calls.
const MAX_CALLS: usize = 30;

/// The list of commands.
pub(super) fn help() -> String {
    let mut text = String::new();
    for (usage, what) in COMMANDS {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "  {usage:<18} {what}");
    }
    text.push_str("The CLI's own commands, such as /compact, are passed on to it.\n");
    text.push_str(
        "A line that ends with a backslash continues on the next one; pasted lines stay together.\n",
    );
    text.push_str("Ctrl-C interrupts the turn, a second Ctrl-C quits; Ctrl-D quits.\n");
    text
}

impl Chat {
    /// Shows the folder, the CLI and the account, on a terminal.
    pub(super) async fn greet(&mut self) -> anyhow::Result<()> {
        if !self.settings.edits || self.settings.quiet {
            return Ok(());
        }
        let facts = self.session.facts().await.unwrap_or_default();
        let said = |path: &str| facts.introduction.pointer(path).and_then(Value::as_str).map(str::to_owned);
        let mut parts = vec![short_path(&self.settings.cwd().display().to_string())];
        parts.extend(said("/claude_code_version").map(|version| format!("claude {version}")));
        parts.extend(self.settings.session.spec.model.clone());
        let source = said("/account/apiKeySource").filter(|source| source != "none");
        parts.extend(said("/account/email").or(source.map(|source| format!("key from {source}"))));
        let style = Style::for_stdout();
        let line = one_line(&parts.join(" · "), 200);
        self.print(&format!("{} {}\n", style.bold("weir chat"), style.faint(&line)))?;
        self.print(&format!("{}\n", style.faint("/help lists the commands, Ctrl-D quits")))?;
        self.show_past()
    }

    pub(super) async fn cost(&mut self) -> anyhow::Result<()> {
        let view = self.session.view().await.unwrap_or_default();
        self.print(&cost(&view.cost))
    }

    pub(super) async fn model(&mut self, name: Option<String>) -> anyhow::Result<()> {
        let Some(name) = name else {
            let facts = self.session.facts().await.unwrap_or_default();
            let current = self.display.lock().view.session.model.clone();
            let current = current.or_else(|| self.settings.session.spec.model.clone());
            return self.print(&models(current.as_deref(), &facts.introduction));
        };
        match self.session.set_model(Some(name.clone())).await {
            // Without a process, the next one is started with this model.
            Ok(()) | Err(SessionError::NotRunning) => {
                self.settings.session.spec.model = Some(name.clone());
                self.print(&format!("The model is now {}.\n", one_line(&name, 100)))
            }
            Err(error) => {
                self.complain(&explain(&error, None));
                Ok(())
            }
        }
    }

    pub(super) async fn tools(&mut self, number: Option<String>) -> anyhow::Result<()> {
        let view = self.session.view().await.unwrap_or_default();
        let Some(number) = number else {
            return self.print(&calls(&view));
        };
        let tool = number.parse::<usize>().ok().and_then(|number| nth_call(&view, number));
        match tool {
            Some(tool) => self.print(&call(tool)),
            None => {
                self.complain(&format!("no tool call {number}; /tools lists them"));
                Ok(())
            }
        }
    }
}

fn cost(cost: &Cost) -> String {
    let mut text = format!("{} so far, by the CLI's estimate\n", dollars(cost.usd));
    if cost.models.is_empty() {
        return text;
    }
    let mut table = Table::new(&["MODEL", "INPUT", "CACHED", "OUTPUT", "COST"]);
    for model in &cost.models {
        table.row([
            one_line(&model.model, 60),
            (model.input_tokens + model.cache_creation_tokens).to_string(),
            model.cache_read_tokens.to_string(),
            model.output_tokens.to_string(),
            dollars(Some(model.usd)),
        ]);
    }
    for line in table.lines(Style::for_stdout(), None) {
        let _ = writeln!(text, "{line}");
    }
    text
}

fn models(current: Option<&str>, introduction: &Value) -> String {
    let mut text = match current {
        Some(model) => format!("The model is {}.\n", one_line(model, 100)),
        None => "The model is the CLI's default.\n".to_owned(),
    };
    for model in introduction.get("models").and_then(Value::as_array).into_iter().flatten() {
        let part = |name: &str| model.get(name).and_then(Value::as_str).unwrap_or_default();
        let about = [part("displayName"), part("description")].map(|part| one_line(part, 70)).join("  ");
        let _ = writeln!(text, "  {:<18} {about}", one_line(part("value"), 40));
    }
    text
}

/// The calls, numbered from the first one still in the view.
fn calls(view: &View) -> String {
    let mut text = String::new();
    let all: Vec<_> = view.tools().collect();
    let hidden = all.len().saturating_sub(MAX_CALLS);
    for (number, (entry, tool)) in all.iter().enumerate().skip(hidden) {
        let state = serde_json::to_value(tool.state).ok();
        let state = state.as_ref().and_then(Value::as_str).unwrap_or_default().replace('_', " ");
        let _ = writeln!(text, "{:>4}  {}  ({state})", number + 1, headline(entry, tool).trim_start());
    }
    if all.is_empty() {
        text.push_str("No tool calls yet.\n");
    }
    if !view.session.tools.is_empty() {
        let _ = writeln!(text, "Available tools: {}", clean(&view.session.tools.join(", ")));
    }
    text
}

fn nth_call(view: &View, number: usize) -> Option<&ToolCall> {
    let place = number.checked_sub(1)?;
    view.tools().nth(place).map(|(_, tool)| tool)
}

/// One call with its input and output.
fn call(tool: &ToolCall) -> String {
    let style = Style::for_stdout();
    let input = serde_json::to_value(&tool.input).and_then(|input| serde_json::to_string_pretty(&input));
    let mut text = format!("{}\n{}\n", style.bold(&clean(&tool.name)), clean(&input.unwrap_or_default()));
    if let Some(output) = &tool.output {
        let _ = writeln!(text, "{}", style.faint("output"));
        let _ = writeln!(text, "{}", clean(output.text.to_string().trim_end()));
        if let Some(tail) = &output.tail {
            let _ = writeln!(text, "{}\n{}", style.faint("…"), clean(tail.to_string().trim_end()));
        }
    }
    text
}
