//! Exports a session that is not in memory: it is written while it is folded.
//!
//! Whenever nothing is running, what has arrived so far will not change any more and is written. A turn that
//! exceeds the limits is written up to the first entry in it that is still open.

use std::fmt;

use weir_wire::{ToolUseId, TurnId};

use super::format::ExportForm;
use super::parts::Totals;
use super::walk::Walk;
use crate::view::{AgentState, BlockState, Change, Entry, EntryBody, EntryId, Status, View};

/// Minimum number of entries that are written at once.
const MIN_ENTRIES: usize = 64;
/// Maximum number of entries held, even if something is still running.
const MAX_ENTRIES: usize = 4096;
/// Maximum number of bytes of text held.
const MAX_BYTES: usize = 16 << 20;

/// Writes a session from its changes. It holds what can still change, and only a bounded part of that.
///
/// ```
/// use weir_transcript::export::{ExportForm, Exporter};
/// use weir_transcript::{Fold, FoldOptions};
/// use weir_wire::Decoder;
///
/// let (mut fold, mut decoder, mut text) = (Fold::new(FoldOptions::default()), Decoder::new(), String::new());
/// let mut exporter = Exporter::begin(ExportForm::Markdown, fold.view().clone(), &mut text)?;
/// let line = br#"{"type":"assistant","message":{"id":"m","content":[{"type":"text","text":"Hello"}]}}"#;
/// for change in fold.line_changes(&decoder.decode(line)) {
///     exporter.change(&change, &mut text)?;
/// }
/// exporter.end(&mut text)?;
/// assert!(text.contains("Hello"));
/// # Ok::<(), std::fmt::Error>(())
/// ```
#[derive(Debug)]
pub struct Exporter {
    form: ExportForm,
    /// What is written before and after the entries.
    facts: View,
    /// What is not written yet.
    pending: View,
    bytes: usize,
    walk: Walk,
    files: Totals,
    min_entries: usize,
    max_entries: usize,
}

impl Exporter {
    /// Writes the beginning. `facts` is the final view: its session, its cost and its to-do lists are used, and
    /// of its entries only the first ones.
    ///
    /// # Errors
    /// Errors of the output.
    pub fn begin(form: ExportForm, facts: View, output: &mut dyn fmt::Write) -> Result<Self, fmt::Error> {
        form.writer(&facts, output).head()?;
        let (pending, walk, files) = (View::default(), Walk::default(), Totals::default());
        let (min_entries, max_entries) = (MIN_ENTRIES, MAX_ENTRIES);
        Ok(Self { form, facts, pending, bytes: 0, walk, files, min_entries, max_entries })
    }

    /// Takes a change of the view, and writes what can no longer change.
    ///
    /// # Errors
    /// Errors of the output.
    pub fn change(&mut self, change: &Change<'_>, output: &mut dyn fmt::Write) -> fmt::Result {
        match change {
            // What the fold drops may not be written yet.
            Change::Dropped { .. } => return Ok(()),
            Change::FileChanged(file) => self.files.add(file),
            _ => {}
        }
        self.bytes += weight(change);
        self.pending.apply(change);
        let held = self.pending.entries.len();
        if held >= self.min_entries && is_quiet(&self.pending.status) {
            return self.write(held, output);
        }
        if held < self.max_entries && self.bytes < MAX_BYTES {
            return Ok(());
        }
        let settled = self.pending.entries.iter().take_while(|entry| self.is_settled(entry)).count();
        // If something near the beginning is still open by now, it is written as it is.
        self.write(if settled > held / 2 { settled } else { held }, output)
    }

    /// Writes the rest.
    ///
    /// # Errors
    /// Errors of the output.
    pub fn end(mut self, output: &mut dyn fmt::Write) -> fmt::Result {
        self.write(self.pending.entries.len(), output)?;
        let end = self.walk.end(&self.pending).into_iter().collect();
        self.form.writer(&self.pending, output).passages(end)?;
        self.form.writer(&self.facts, output).foot(&self.files)
    }

    /// Writes the first entries and drops them.
    fn write(&mut self, count: usize, output: &mut dyn fmt::Write) -> fmt::Result {
        let rest = self.pending.entries.split_off(count);
        let mut walk = std::mem::take(&mut self.walk);
        let passages = walk.passages(&self.pending);
        self.form.writer(&self.pending, output).passages(passages)?;
        self.walk = walk;
        let next = self.pending.entries.last().map(|entry| EntryId(entry.id.0 + 1));
        self.pending.entries.extend(rest);
        if let Some(first_entry) = next {
            let running = self.pending.agents.iter().filter(|agent| agent.state == AgentState::Running);
            let keep_agents: Vec<ToolUseId> = running.map(|agent| agent.id.clone()).collect();
            // How the last turn ended is written when the next one begins.
            let of_rest = self.pending.entries.iter().filter(|entry| entry.id >= first_entry);
            let keep_turns = of_rest.filter_map(|entry| entry.turn).collect();
            let first_turn = self.walk.turn.unwrap_or(TurnId(0));
            let most = usize::MAX;
            let dropped = Change::Dropped { first_entry, first_turn, keep_turns, keep_agents, most };
            self.pending.apply(&dropped);
        }
        self.bytes = 0;
        Ok(())
    }

    fn is_settled(&self, entry: &Entry) -> bool {
        match &entry.body {
            EntryBody::Text(text) => text.state != BlockState::Streaming,
            EntryBody::Thinking(thinking) => thinking.state != BlockState::Streaming,
            EntryBody::Tool(tool) => {
                let agent = self.pending.agent(&tool.id);
                tool.state.is_settled() && agent.is_none_or(|agent| agent.state != AgentState::Running)
            }
            EntryBody::Hook(hook) => hook.outcome.is_some(),
            _ => true,
        }
    }
}

/// Whether nothing is running.
fn is_quiet(status: &Status) -> bool {
    matches!(status, Status::Idle | Status::Ended)
}

/// Roughly how many bytes a change adds to what is held.
fn weight(change: &Change<'_>) -> usize {
    match change {
        Change::TextAppended { text, .. } => text.len(),
        Change::TextReplaced { text, .. } => text.len(),
        Change::InputAppended { json, .. } => json.len(),
        Change::ToolEnded { output, .. } => output.text.as_text().raw().len(),
        Change::FileChanged(file) => file.diff.len(),
        Change::EntryAdded(entry) | Change::EntryReplaced(entry) => match &entry.body {
            EntryBody::User(user) => user.text.len(),
            EntryBody::Text(text) => text.text.len(),
            EntryBody::Thinking(thinking) => thinking.text.len(),
            EntryBody::Tool(tool) => tool.input.as_raw().bytes().len(),
            _ => 0,
        },
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use weir_wire::Decoder;

    use super::*;
    use crate::{Fold, FoldOptions};

    /// A recorded session repeated several times, each time with its own ids.
    fn lines(name: &str, times: usize) -> Vec<Vec<u8>> {
        let path =
            format!("{}/../../tests/fixtures/captures/2.1.325/{name}.out.ndjson", env!("CARGO_MANIFEST_DIR"));
        let recorded = std::fs::read_to_string(path).unwrap();
        let renamed = |time: usize| {
            recorded.replace("toolu_", &format!("toolu_{time}_")).replace("msg_", &format!("msg_{time}_"))
        };
        let all: Vec<String> = (0..times).map(renamed).collect();
        all.iter().flat_map(|text| text.lines()).map(|line| line.as_bytes().to_vec()).collect()
    }

    fn whole(form: ExportForm, view: &View) -> String {
        let mut text = String::new();
        form.write(view, &mut text).unwrap();
        text
    }

    /// The export in parts, and the largest number of entries held on the way.
    fn streamed(
        form: ExportForm,
        lines: &[Vec<u8>],
        facts: &View,
        (min, max): (usize, usize),
    ) -> (String, usize) {
        let (mut fold, mut decoder) = (Fold::new(FoldOptions::default()), Decoder::new());
        let mut text = String::new();
        let mut exporter = Exporter::begin(form, facts.clone(), &mut text).unwrap();
        (exporter.min_entries, exporter.max_entries) = (min, max);
        let mut held = 0;
        for line in lines {
            for change in fold.line_changes(&decoder.decode(line)) {
                exporter.change(&change, &mut text).unwrap();
                held = held.max(exporter.pending.entries.len());
            }
        }
        exporter.end(&mut text).unwrap();
        (text, held)
    }

    #[test]
    fn an_export_in_parts_equals_the_whole() {
        for name in
            ["tools", "two-turns", "subagents-parallel", "subagent-background", "write-overwrite-edit"]
        {
            let lines = lines(name, 3);
            let (mut fold, mut decoder) = (Fold::new(FoldOptions::default()), Decoder::new());
            for line in &lines {
                fold.line(&decoder.decode(line), &mut |_, _| {});
            }
            for form in [ExportForm::Markdown, ExportForm::Html] {
                let (parts, _) = streamed(form, &lines, fold.view(), (1, MAX_ENTRIES));
                assert_eq!(parts, whole(form, fold.view()), "{name}");
            }
        }
    }

    #[test]
    fn an_endless_turn_is_not_held() {
        let mut lines = lines("tools", 400);
        lines.retain(|line| !line.windows(15).any(|part| part == b"\"type\":\"result\""));
        let (text, held) = streamed(ExportForm::Markdown, &lines, &View::default(), (8, 100));
        assert!(held <= 101, "{held}");
        assert!(text.lines().count() > 1000);
    }
}
