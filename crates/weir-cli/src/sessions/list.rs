//! Lists sessions.

use std::collections::HashSet;
use std::io::{self, Write};

use serde::Serialize;
use weir_transcript::import::MessageCount;

use super::live::Live;
use super::settings::{List, Places};
use crate::screen::{Style, Table, ago, clean, one_line, short_path, width};
use weir_session::transcripts::{PastSession, TranscriptFile, Transcripts};

/// A listed session, as `--json` prints it.
#[derive(Debug, Serialize)]
struct Row {
    id: String,
    live: Option<Live>,
    cwd: Option<String>,
    title: Option<String>,
    tag: Option<String>,
    first_prompt: Option<String>,
    /// In milliseconds since 1970.
    started_at: Option<i64>,
    updated_at: Option<i64>,
    messages: Option<u64>,
    /// Whether there may be more messages than counted.
    messages_at_least: bool,
    version: Option<String>,
    git_branch: Option<String>,
    file: Option<String>,
}

pub(super) fn print(list: &List, places: &Places, now: u64) -> anyhow::Result<()> {
    let rows = rows(list, places)?;
    let mut out = io::BufWriter::new(io::stdout().lock());
    if list.json {
        for row in &rows {
            serde_json::to_writer(&mut out, row).map_err(io::Error::from)?;
            writeln!(out)?;
        }
        return Ok(out.flush()?);
    }
    if rows.is_empty() {
        let what = if list.live_only { "no live sessions" } else { "no sessions" };
        crate::exit::tell(&format!("weir: {what} found"));
        return Ok(());
    }
    let width = width();
    for line in table(&rows, now, width.is_some()).lines(Style::for_stdout(), width) {
        writeln!(out, "{line}")?;
    }
    Ok(out.flush()?)
}

/// Live sessions first, then past ones, newest first.
fn rows(list: &List, places: &Places) -> anyhow::Result<Vec<Row>> {
    let transcripts = places.transcripts()?;
    let mut live = places.live();
    let mut found = match &list.cwd {
        Some(cwd) => transcripts.of_folder(cwd)?,
        None => transcripts.all()?,
    };
    let names: HashSet<&str> = live.iter().map(|live| live.id.as_str()).collect();
    // A stable sort: live sessions keep their order.
    found.sort_by_key(|found| !names.contains(found.id.as_str()));
    if list.live_only {
        found.retain(|found| names.contains(found.id.as_str()));
    }
    let mut rows = Vec::new();
    for found in found {
        if list.limit.is_some_and(|limit| rows.len() >= limit) {
            break;
        }
        let id = found.id.clone();
        let is_elsewhere = |past: &PastSession| {
            let cwd = past.glance.cwd.as_deref().map(std::path::Path::new);
            list.cwd.as_deref().zip(cwd).is_some_and(|(wanted, cwd)| wanted != cwd)
        };
        // A transcript that has since been removed is skipped.
        let Some(past) = look(&transcripts, found).filter(|past| !is_elsewhere(past)) else { continue };
        let place = live.iter().position(|live| live.id == id);
        rows.push(row(past, place.map(|place| live.swap_remove(place))));
    }
    // A live session may not have a transcript yet, in which case its folder is unknown.
    if list.cwd.is_none() {
        let unwritten = live.into_iter().filter(|live| !rows.iter().any(|row| row.id == live.id));
        let unwritten: Vec<Row> = unwritten.map(unwritten_row).collect();
        rows.splice(0..0, unwritten);
    }
    Ok(rows)
}

fn look(transcripts: &Transcripts, found: TranscriptFile) -> Option<PastSession> {
    transcripts.summary(found).ok().filter(|past| !past.glance.is_agent)
}

fn row(past: PastSession, live: Option<Live>) -> Row {
    let PastSession { found, glance } = past;
    let (messages, messages_at_least) = match glance.messages {
        MessageCount::Exactly(count) => (count, false),
        MessageCount::AtLeast(count) => (count, true),
    };
    Row {
        live,
        cwd: glance.cwd,
        title: glance.title,
        tag: glance.tag,
        first_prompt: glance.first_prompt,
        started_at: glance.started_at,
        updated_at: glance.updated_at.or_else(|| i64::try_from(found.modified() * 1000).ok()),
        messages: Some(messages),
        messages_at_least,
        version: glance.version,
        git_branch: glance.git_branch,
        file: Some(found.path.display().to_string()),
        id: found.id,
    }
}

fn unwritten_row(live: Live) -> Row {
    Row {
        id: live.id.clone(),
        updated_at: i64::try_from(live.since * 1000).ok(),
        live: Some(live),
        cwd: None,
        title: None,
        tag: None,
        first_prompt: None,
        started_at: None,
        messages: None,
        messages_at_least: false,
        version: None,
        git_branch: None,
        file: None,
    }
}

/// The table. On a terminal ids are shortened, which leaves room for the rest.
fn table(rows: &[Row], now: u64, is_short: bool) -> Table {
    let mut table = Table::new(&["ID", "LAST", "MSGS", "FOLDER", "ABOUT"]);
    for row in rows {
        let updated = row.updated_at.and_then(|at| u64::try_from(at / 1000).ok());
        let last = match (&row.live, updated) {
            (Some(_), _) => "live".to_owned(),
            (None, Some(at)) => ago(now.saturating_sub(at)),
            (None, None) => String::new(),
        };
        let more = if row.messages_at_least { "+" } else { "" };
        let messages = row.messages.map(|count| format!("{count}{more}")).unwrap_or_default();
        let folder = row.cwd.as_deref().map(|cwd| tail(&clean(&short_path(cwd)), 24)).unwrap_or_default();
        let about = row.title.as_deref().or(row.first_prompt.as_deref()).unwrap_or_default();
        let id = row.id.get(..8).filter(|_| is_short).unwrap_or(&row.id);
        table.row([one_line(id, 36), last, messages, folder, one_line(about, 120)]);
    }
    table
}

/// Shortens a long path at its beginning, because its end says more.
fn tail(text: &str, max_length: usize) -> String {
    let length = text.chars().count();
    if length <= max_length {
        return text.to_owned();
    }
    std::iter::once('…').chain(text.chars().skip(length - max_length + 1)).collect()
}
