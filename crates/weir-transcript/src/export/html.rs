//! A session as one HTML file.

use std::fmt::{self, Write};

use weir_base::html::escape;

use super::clean::{one_line, plain};
use super::format::Format;
use super::outline::Item;
use super::parts::{Finder, ToolParts, Totals};
use super::rich_text::to_html;
use super::words;
use crate::view::{
    BlockState, Entry, EntryBody, Notice, ToolCall, ToolDetail, Turn, UserEntry, UserSource, View,
};

const STYLE: &str = include_str!("style.css");
/// Nothing is loaded and nothing runs, even if something gets past the escaping.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";

pub(super) struct Writer<'w, 'v> {
    output: &'w mut dyn Write,
    view: &'v View,
    finder: Finder<'v>,
}

impl<'v> Format<'v> for Writer<'_, 'v> {
    fn head(&mut self) -> fmt::Result {
        let title = words::title(self.view);
        let title = escape(&title);
        write!(
            self.output,
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
             <meta name=\"referrer\" content=\"no-referrer\">\n<title>{title}</title>\n\
             <style>\n{STYLE}</style>\n</head>\n<body>\n<header>\n<h1>{title}</h1>\n<dl>\n"
        )?;
        for (name, value) in words::facts(self.view) {
            writeln!(self.output, "<div><dt>{name}</dt><dd>{}</dd></div>", escape(&value))?;
        }
        if let Some(cost) = self.view.cost.usd {
            writeln!(self.output, "<div><dt>Cost</dt><dd>{}</dd></div>", weir_base::money::dollars(cost))?;
        }
        writeln!(self.output, "</dl>\n</header>\n<main>")?;
        if self.view.dropped_entries > 0 {
            let dropped = words::number(self.view.dropped_entries);
            writeln!(
                self.output,
                "<p class=\"notice\">The first {dropped} entries are not in this export.</p>"
            )?;
        }
        Ok(())
    }

    fn unasked_turn(&mut self, words: &str) -> fmt::Result {
        writeln!(self.output, "<p class=\"notice\">Claude {}</p>", escape(words))
    }

    fn item(&mut self, item: &Item<'v>) -> fmt::Result {
        let entry = item.entry;
        match &entry.body {
            EntryBody::User(user) => self.user(entry, user),
            EntryBody::Text(text) => {
                let class = if text.error.is_some() { "claude bad" } else { "claude" };
                let speaker = if entry.parent.is_some() { "Sub-agent" } else { "Claude" };
                writeln!(self.output, "<section class=\"{class}\">{}", label(speaker, entry))?;
                writeln!(self.output, "<div class=\"text\">{}</div>", to_html(&text.text))?;
                self.cut_off(text.state)?;
                writeln!(self.output, "</section>")
            }
            EntryBody::Thinking(thinking) if thinking.text.trim().is_empty() => Ok(()),
            EntryBody::Thinking(thinking) => self.folded("thinking", "<b>Thinking</b>", |writer| {
                writeln!(writer.output, "<div class=\"text\">{}</div>", to_html(&thinking.text))
            }),
            EntryBody::Tool(tool) => self.tool(entry, tool, &item.inside),
            EntryBody::Hook(hook) => {
                let outcome = hook.outcome.as_deref().unwrap_or("running");
                let summary = format!(
                    "<b>Hook</b> <code>{}</code> <span>{}</span>",
                    escape(&one_line(&hook.name)),
                    escape(outcome)
                );
                self.folded("tool", &summary, |writer| writer.block(&plain(&hook.output)))
            }
            EntryBody::Notice { notice } => self.notice(notice),
            EntryBody::Unknown(unknown) => {
                let name = unknown.type_name.as_deref().map(one_line).unwrap_or_default();
                let summary = format!(
                    "<b>Not understood</b> <code>{}</code> <span>{}</span>",
                    escape(&name),
                    words::unknown(unknown.reason)
                );
                self.folded("tool", &summary, |writer| writer.block(&plain(&unknown.raw)))
            }
        }
    }

    fn turn_end(&mut self, turn: &Turn, words: &str) -> fmt::Result {
        let class = if turn.state.is_error() { "turn bad" } else { "turn" };
        writeln!(self.output, "<p class=\"{class}\">{}</p>", escape(words))
    }

    fn foot(&mut self, files: &Totals) -> fmt::Result {
        writeln!(self.output, "</main>\n<footer>")?;
        if !files.rows().is_empty() {
            writeln!(self.output, "<h2>Files changed</h2>\n<ul class=\"files\">")?;
            for (path, added, removed) in files.rows() {
                let path = one_line(path);
                writeln!(
                    self.output,
                    "<li><code>{}</code> <ins>+{added}</ins> <del>−{removed}</del></li>",
                    escape(&path)
                )?;
            }
            writeln!(self.output, "</ul>")?;
        }
        for list in self.view.todos.iter().filter(|list| !list.items.is_empty()) {
            writeln!(self.output, "<h2>To do</h2>\n<ul class=\"todos\">")?;
            for todo in &list.items {
                let (class, mark) = match todo.status.as_str() {
                    "completed" => ("done", "✓"),
                    "in_progress" => ("now", "▸"),
                    _ => ("open", "○"),
                };
                writeln!(self.output, "<li class=\"{class}\">{mark} {}</li>", escape(&one_line(&todo.text)))?;
            }
            writeln!(self.output, "</ul>")?;
        }
        self.costs()?;
        writeln!(self.output, "</footer>\n</body>\n</html>")
    }
}

impl<'w, 'v> Writer<'w, 'v> {
    pub(super) fn new(view: &'v View, output: &'w mut dyn Write) -> Self {
        Self { output, view, finder: Finder::new(view) }
    }

    fn notice(&mut self, notice: &Notice) -> fmt::Result {
        let text = words::notice(notice);
        let is_bad =
            matches!(notice, Notice::ProcessEnded { .. } | Notice::Error { .. } | Notice::ApiRetry { .. });
        if text.trim().contains('\n') {
            return self.block(&plain(&text));
        }
        let class = if is_bad { "notice bad" } else { "notice" };
        writeln!(self.output, "<p class=\"{class}\">{}</p>", escape(&one_line(&text)))
    }

    fn cut_off(&mut self, state: BlockState) -> fmt::Result {
        match state {
            BlockState::Complete => Ok(()),
            BlockState::Streaming => writeln!(self.output, "<p class=\"notice\">still writing</p>"),
            BlockState::Aborted => writeln!(self.output, "<p class=\"notice bad\">cut off</p>"),
        }
    }

    fn user(&mut self, entry: &Entry, user: &UserEntry) -> fmt::Result {
        let (class, name) = match user.source {
            UserSource::Host if user.automatic => {
                return self
                    .folded("tool", "<b>Resumed by Weir</b>", |writer| writer.block(&plain(&user.text)));
            }
            UserSource::Host => ("you", "You"),
            UserSource::Agent => ("task", "Task"),
            UserSource::Cli => {
                return self
                    .folded("tool", "<b>Note from the CLI</b>", |writer| writer.block(&plain(&user.text)));
            }
        };
        writeln!(self.output, "<section class=\"{class}\">{}", label(name, entry))?;
        writeln!(self.output, "<div class=\"text said\">{}</div>", escape(plain(&user.text).trim()))?;
        if user.images + user.documents > 0 {
            let count = user.images + user.documents;
            writeln!(self.output, "<p class=\"notice\">{count} images or documents</p>")?;
        }
        writeln!(self.output, "</section>")
    }

    fn tool(&mut self, entry: &Entry, tool: &'v ToolCall, inside: &[Item<'v>]) -> fmt::Result {
        let parts = self.finder.tool(entry, tool);
        let mut summary = format!("<b>{}</b>", escape(&parts.name));
        if !parts.title.is_empty() {
            write!(summary, " <code>{}</code>", escape(&parts.title))?;
        }
        if let [file] = parts.files.as_slice() {
            let (added, removed) = (file.added, file.removed);
            write!(summary, " <span><ins>+{added}</ins> <del>−{removed}</del></span>")?;
        }
        if !parts.remarks.is_empty() {
            write!(summary, " <span>{}</span>", escape(&parts.remarks.join(" · ")))?;
        }
        let class = match (parts.is_error, parts.agent.is_some()) {
            (true, _) => "tool bad",
            (false, true) => "tool agent",
            (false, false) => "tool",
        };
        self.folded(class, &summary, |writer| writer.tool_body(&parts, inside))
    }

    fn tool_body(&mut self, parts: &ToolParts<'v>, inside: &[Item<'v>]) -> fmt::Result {
        if let Some((_, text)) = &parts.input {
            self.block(text)?;
        }
        self.detail(parts.detail)?;
        for file in &parts.files {
            writeln!(self.output, "<p class=\"path\">{}</p>", escape(&one_line(&file.path)))?;
            self.diff(&plain(&file.diff))?;
        }
        if let Some(prompt) = parts.shown_prompt(inside) {
            let prompt = plain(prompt);
            writeln!(
                self.output,
                "<section class=\"task\"><div class=\"text said\">{}</div></section>",
                escape(&prompt)
            )?;
        }
        for item in inside {
            self.item(item)?;
        }
        if let Some(output) = parts.shown_output(inside) {
            self.block(output)?;
        }
        match parts.images {
            0 => Ok(()),
            count => writeln!(self.output, "<p class=\"notice\">{count} images</p>"),
        }
    }

    fn detail(&mut self, detail: &ToolDetail) -> fmt::Result {
        match detail {
            ToolDetail::Questions { questions, answers } => {
                for question in questions {
                    writeln!(
                        self.output,
                        "<p class=\"question\">{}</p>",
                        escape(&plain(&question.question))
                    )?;
                    let answer = words::answer(answers.as_ref(), &question.question);
                    let answer = answer.unwrap_or_else(|| "not answered".to_owned());
                    writeln!(self.output, "<p class=\"answer\">{}</p>", escape(&plain(&answer)))?;
                }
                Ok(())
            }
            ToolDetail::Plan { text, .. } => {
                writeln!(self.output, "<div class=\"text\">{}</div>", to_html(text))
            }
            ToolDetail::Command { stderr, .. } => self.block(&plain(stderr)),
            _ => Ok(()),
        }
    }

    fn folded(
        &mut self,
        class: &str,
        summary: &str,
        body: impl FnOnce(&mut Self) -> fmt::Result,
    ) -> fmt::Result {
        writeln!(self.output, "<details class=\"{class}\"><summary>{summary}</summary><div class=\"body\">")?;
        body(self)?;
        writeln!(self.output, "</div></details>")
    }

    fn block(&mut self, text: &str) -> fmt::Result {
        if text.trim().is_empty() {
            return Ok(());
        }
        // HTML drops a line feed right after the tag, so an extra one is written.
        writeln!(self.output, "<pre>\n{}</pre>", escape(text.trim_end()))
    }

    fn diff(&mut self, diff: &str) -> fmt::Result {
        write!(self.output, "<pre class=\"diff\">")?;
        // Skips the two lines that name the file, which is named above.
        let heads =
            diff.lines().zip(["--- ", "+++ "]).take_while(|(line, head)| line.starts_with(head)).count();
        for line in diff.lines().skip(heads) {
            let tag = match line.as_bytes().first() {
                Some(b'+') => "ins",
                Some(b'-') => "del",
                Some(b'@') => "i",
                _ => "span",
            };
            write!(self.output, "<{tag}>{}\n</{tag}>", escape(line))?;
        }
        writeln!(self.output, "</pre>")
    }

    fn costs(&mut self) -> fmt::Result {
        let cost = &self.view.cost;
        writeln!(self.output, "<h2>Cost</h2>")?;
        let Some(total) = cost.usd else {
            return writeln!(self.output, "<p>Not known.</p>");
        };
        writeln!(self.output, "<p>{} by the CLI's estimate.</p>", weir_base::money::dollars(total))?;
        let rows = words::cost_rows(cost);
        if rows.is_empty() {
            return Ok(());
        }
        let heads = words::COST_HEADS.map(|head| format!("<th>{head}</th>")).concat();
        writeln!(self.output, "<div class=\"wide\"><table>\n<tr>{heads}</tr>")?;
        for row in rows {
            let cells = row.map(|cell| format!("<td>{}</td>", escape(&cell))).concat();
            writeln!(self.output, "<tr>{cells}</tr>")?;
        }
        writeln!(self.output, "</table></div>")
    }
}

fn label(name: &str, entry: &Entry) -> String {
    let clock = entry.at.and_then(words::clock).map(|clock| format!(" <time>{clock}</time>"));
    format!("<p class=\"who\">{name}{}</p>", clock.unwrap_or_default())
}
