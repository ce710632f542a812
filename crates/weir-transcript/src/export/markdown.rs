//! A session as Markdown.

use std::fmt::{self, Write};

use weir_base::html::escape;

use super::clean::{fence, one_line, plain};
use super::format::Format;
use super::outline::Item;
use super::parts::{Finder, ToolParts, Totals};
use super::rich_text::safe_markdown;
use super::words;
use crate::view::{BlockState, Entry, EntryBody, ToolCall, ToolDetail, Turn, UserEntry, UserSource, View};

pub(super) struct Writer<'w, 'v> {
    output: &'w mut dyn Write,
    view: &'v View,
    finder: Finder<'v>,
}

impl<'v> Format<'v> for Writer<'_, 'v> {
    fn head(&mut self) -> fmt::Result {
        writeln!(self.output, "# {}\n", literal(&words::title(self.view)))?;
        for (name, value) in words::facts(self.view) {
            writeln!(self.output, "- {name}: {}", code(&value))?;
        }
        if self.view.dropped_entries > 0 {
            let dropped = words::number(self.view.dropped_entries);
            writeln!(self.output, "\n*The first {dropped} entries are not in this export.*")?;
        }
        Ok(())
    }

    fn unasked_turn(&mut self, words: &str) -> fmt::Result {
        writeln!(self.output, "\n*Claude {}*", literal(words))
    }

    fn item(&mut self, item: &Item<'v>) -> fmt::Result {
        let entry = item.entry;
        match &entry.body {
            EntryBody::User(user) => self.user(entry, user),
            EntryBody::Text(text) => {
                self.speaker("Claude", entry)?;
                writeln!(self.output, "\n{}", safe_markdown(&text.text))?;
                self.cut_off(text.state)
            }
            EntryBody::Thinking(thinking) if thinking.text.trim().is_empty() => Ok(()),
            EntryBody::Thinking(thinking) => {
                self.folded("Thinking", |writer| writer.quoted(&thinking.text))?;
                self.cut_off(thinking.state)
            }
            EntryBody::Tool(tool) => self.tool(entry, tool, &item.inside),
            EntryBody::Hook(hook) => {
                let outcome = hook.outcome.as_deref().unwrap_or("running");
                let summary = format!("Hook {} · {}", escape(&one_line(&hook.name)), escape(outcome));
                self.folded(&summary, |writer| writer.fenced("text", &plain(&hook.output)))
            }
            EntryBody::Notice { notice } => {
                let text = words::notice(notice);
                if text.trim().contains('\n') {
                    return self.fenced("text", &plain(&text));
                }
                writeln!(self.output, "\n*{}*", literal(&one_line(&text)))
            }
            EntryBody::Unknown(unknown) => {
                let name = unknown.type_name.as_deref().map(one_line).unwrap_or_default();
                let summary = format!("Not understood: {} {}", words::unknown(unknown.reason), escape(&name));
                self.folded(summary.trim(), |writer| writer.fenced("text", &plain(&unknown.raw)))
            }
        }
    }

    fn turn_end(&mut self, _: &Turn, words: &str) -> fmt::Result {
        writeln!(self.output, "\n*Turn: {}*", literal(words))
    }

    fn foot(&mut self, files: &Totals) -> fmt::Result {
        self.files(files)?;
        self.todos()?;
        self.costs()
    }
}

impl<'w, 'v> Writer<'w, 'v> {
    pub(super) fn new(view: &'v View, output: &'w mut dyn Write) -> Self {
        Self { output, view, finder: Finder::new(view) }
    }

    fn speaker(&mut self, name: &str, entry: &Entry) -> fmt::Result {
        let clock = entry.at.and_then(words::clock).map(|clock| format!(" · {clock}")).unwrap_or_default();
        let agent = entry.parent.as_ref().filter(|_| name == "Claude").map_or("", |_| " (sub-agent)");
        writeln!(self.output, "\n**{name}{agent}**{clock}")
    }

    fn cut_off(&mut self, state: BlockState) -> fmt::Result {
        match state {
            BlockState::Complete => Ok(()),
            BlockState::Streaming => writeln!(self.output, "\n*(still writing)*"),
            BlockState::Aborted => writeln!(self.output, "\n*(cut off)*"),
        }
    }

    fn user(&mut self, entry: &Entry, user: &UserEntry) -> fmt::Result {
        match user.source {
            UserSource::Host if user.automatic => {
                return self.folded("Resumed by Weir", |writer| writer.quoted(&user.text));
            }
            UserSource::Host => self.speaker("You", entry)?,
            UserSource::Agent => self.speaker("Task", entry)?,
            UserSource::Cli => return self.folded("Note from the CLI", |writer| writer.quoted(&user.text)),
        }
        self.quoted(&user.text)?;
        match user.images + user.documents {
            0 => Ok(()),
            count => writeln!(self.output, "\n*({count} images or documents)*"),
        }
    }

    fn tool(&mut self, entry: &Entry, tool: &'v ToolCall, inside: &[Item<'v>]) -> fmt::Result {
        let parts = self.finder.tool(entry, tool);
        let mut summary = format!("<b>{}</b>", escape(&parts.name));
        if !parts.title.is_empty() {
            summary.push_str(&format!(" <code>{}</code>", escape(&parts.title)));
        }
        for remark in &parts.remarks {
            summary.push_str(&format!(" · {}", escape(remark)));
        }
        self.folded(&summary, |writer| writer.tool_body(&parts, inside))
    }

    fn tool_body(&mut self, parts: &ToolParts<'v>, inside: &[Item<'v>]) -> fmt::Result {
        if let Some((language, text)) = &parts.input {
            self.fenced(language, text)?;
        }
        self.detail(parts.detail)?;
        for file in &parts.files {
            writeln!(self.output, "\n{} +{} −{}", code(&one_line(&file.path)), file.added, file.removed)?;
            self.fenced("diff", &plain(&file.diff))?;
        }
        if let Some(prompt) = parts.shown_prompt(inside) {
            writeln!(self.output, "\n**Task**")?;
            self.quoted(prompt)?;
        }
        for item in inside {
            self.item(item)?;
        }
        if let Some(output) = parts.shown_output(inside) {
            self.fenced("text", output)?;
        }
        match parts.images {
            0 => Ok(()),
            count => writeln!(self.output, "\n*({count} images)*"),
        }
    }

    fn detail(&mut self, detail: &ToolDetail) -> fmt::Result {
        match detail {
            ToolDetail::Questions { questions, answers } => {
                for question in questions {
                    writeln!(self.output, "\n**{}**\n", literal(&one_line(&question.question)))?;
                    let answer = words::answer(answers.as_ref(), &question.question);
                    match answer {
                        Some(answer) => writeln!(self.output, "> {}", literal(&one_line(&answer)))?,
                        None => writeln!(self.output, "*not answered*")?,
                    }
                }
                Ok(())
            }
            ToolDetail::Plan { text, .. } => writeln!(self.output, "\n{}", safe_markdown(text)),
            ToolDetail::Command { stderr, .. } if !stderr.trim().is_empty() => {
                self.fenced("text", &plain(stderr))
            }
            _ => Ok(()),
        }
    }

    /// The blank lines make the renderer treat the inside as Markdown again.
    fn folded(&mut self, summary: &str, body: impl FnOnce(&mut Self) -> fmt::Result) -> fmt::Result {
        write!(self.output, "\n<details><summary>{summary}</summary>\n")?;
        body(self)?;
        write!(self.output, "\n</details>\n")
    }

    fn quoted(&mut self, text: &str) -> fmt::Result {
        writeln!(self.output)?;
        for line in safe_markdown(text).lines() {
            writeln!(self.output, "{}", format!("> {line}").trim_end())?;
        }
        Ok(())
    }

    fn fenced(&mut self, language: &str, text: &str) -> fmt::Result {
        if text.trim().is_empty() {
            return Ok(());
        }
        let fence = fence(text);
        write!(self.output, "\n{fence}{language}\n{}\n{fence}\n", text.trim_end_matches('\n'))
    }

    fn files(&mut self, files: &Totals) -> fmt::Result {
        if files.rows().is_empty() {
            return Ok(());
        }
        writeln!(self.output, "\n## Files changed\n")?;
        for (path, added, removed) in files.rows() {
            writeln!(self.output, "- {} +{added} −{removed}", code(&one_line(path)))?;
        }
        Ok(())
    }

    fn todos(&mut self) -> fmt::Result {
        for list in self.view.todos.iter().filter(|list| !list.items.is_empty()) {
            writeln!(self.output, "\n## To do\n")?;
            for todo in &list.items {
                let mark = if todo.status == "completed" { 'x' } else { ' ' };
                writeln!(self.output, "- [{mark}] {}", literal(&one_line(&todo.text)))?;
            }
        }
        Ok(())
    }

    fn costs(&mut self) -> fmt::Result {
        let cost = &self.view.cost;
        writeln!(self.output, "\n## Cost\n")?;
        let Some(total) = cost.usd else {
            return writeln!(self.output, "Not known.");
        };
        writeln!(self.output, "{} by the CLI's estimate.", weir_base::money::dollars(total))?;
        let rows = words::cost_rows(cost);
        if rows.is_empty() {
            return Ok(());
        }
        writeln!(self.output, "\n| {} |", words::COST_HEADS.join(" | "))?;
        writeln!(self.output, "|---|--:|--:|--:|--:|--:|")?;
        for row in rows {
            writeln!(self.output, "| {} |", row.map(|cell| literal(&cell)).join(" | "))?;
        }
        Ok(())
    }
}

/// A single-line text with everything escaped that has a meaning in Markdown or HTML.
fn literal(text: &str) -> String {
    let mut literal = String::with_capacity(text.len());
    for c in text.chars() {
        if matches!(c, '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '#' | '|' | '~' | '&') {
            literal.push('\\');
        }
        literal.push(c);
    }
    literal
}

/// A single-line text as code.
fn code(text: &str) -> String {
    let longest = fence(text).len() - 1;
    let marks = if text.contains('`') { "`".repeat(longest.max(1) + 1) } else { "`".to_owned() };
    if text.contains('`') { format!("{marks} {text} {marks}") } else { format!("{marks}{text}{marks}") }
}
