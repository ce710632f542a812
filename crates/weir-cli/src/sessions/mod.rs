//! `weir sessions`: live and past sessions.

mod adopt;
mod export;
mod list;
mod live;
mod settings;

use std::io::Write as _;

use anyhow::Context as _;

use crate::exit::Exit;
use crate::runtime;
use crate::screen::{Style, date, one_line, plural, short_path, story};
pub(crate) use live::live;
pub(crate) use settings::Settings;
use settings::{Change, Places, Task};
use weir_session::transcripts::{LoadedTranscript, TranscriptFile, Transcripts};

pub(crate) fn run(settings: &Settings) -> anyhow::Result<Exit> {
    let places = &settings.places;
    match &settings.task {
        Task::List(list) => list::print(list, places, now())?,
        Task::Show { id, json } => show(id, *json, places)?,
        Task::Adopt { id, way, data } => {
            return runtime::block_on(adopt::run(id, *way, data.clone(), places));
        }
        Task::Change { id, change } => self::change(id, change, places)?,
        Task::Export { id, form, file } => export::run(id, *form, file.as_deref(), places)?,
    }
    Ok(Exit::Success)
}

fn show(id: &str, json: bool, places: &Places) -> anyhow::Result<()> {
    let transcripts = places.transcripts()?;
    let (found, loaded) = read(&transcripts, id)?;
    let (view, report) = loaded.view();
    let mut out = std::io::stdout().lock();
    if json {
        serde_json::to_writer(&mut out, &view).map_err(std::io::Error::from)?;
        return Ok(writeln!(out)?);
    }
    let style = Style::for_stdout();
    let fact = |name: &str, value: &str| {
        format!("{} {}\n", style.faint(&format!("{name:<9}")), one_line(value, 200))
    };
    let mut text = fact("session", &found.id);
    let past = transcripts.summary(found).context("cannot read the transcript")?;
    let facts = [
        ("title", past.glance.title.clone()),
        ("tag", past.glance.tag.clone()),
        ("folder", past.glance.cwd.as_deref().map(short_path)),
        ("branch", past.glance.git_branch.clone()),
        ("model", view.session.model.clone()),
        ("version", past.glance.version.clone()),
        ("started", past.glance.started_at.and_then(|at| u64::try_from(at / 1000).ok()).map(date)),
        ("file", Some(short_path(&past.found.path.display().to_string()))),
    ];
    for (name, value) in facts {
        text.push_str(&value.map(|value| fact(name, &value)).unwrap_or_default());
    }
    if let Some(live) = places.live().into_iter().find(|live| live.id == past.found.id) {
        text.push_str(&fact("live", &live.in_words()));
    }
    if report.skipped_branches > 0 {
        let count = plural(report.skipped_branches, "attempt");
        text.push_str(&fact("omitted", &format!("{count} on abandoned branches")));
    }
    text.push_str(&story(&view, None, style));
    Ok(out.write_all(text.as_bytes())?)
}

/// Changes a session that no process has.
fn change(id: &str, change: &Change, places: &Places) -> anyhow::Result<()> {
    let found = places.transcripts()?.find(id)?;
    let _lock = places.lock(&found.id)?;
    let done = match change {
        Change::Title(title) => found.rename(title).map(|()| "renamed"),
        Change::Tag(tag) => found.tag(tag.as_deref()).map(|()| "tagged"),
        Change::Delete => found.delete().map(|()| "deleted"),
    };
    Ok(writeln!(std::io::stdout().lock(), "{} {}", done?, found.id)?)
}

/// The files of a session.
fn read(transcripts: &Transcripts, id: &str) -> anyhow::Result<(TranscriptFile, LoadedTranscript)> {
    let found = transcripts.find(id)?;
    let loaded =
        LoadedTranscript::read(&found).with_context(|| format!("cannot read {}", found.path.display()))?;
    Ok((found, loaded))
}

/// Seconds since 1970.
fn now() -> u64 {
    u64::try_from(weir_base::time::now_ms() / 1000).unwrap_or_default()
}
