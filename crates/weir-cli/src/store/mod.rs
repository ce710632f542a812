//! `weir store`: maintains the file with all sessions.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use serde::Serialize;
use serde_json::json;
use weir_process::Lock;
use weir_store::{Compacted, FileReport, Restored, back_up, check_file, compact, restore};

use crate::engine::DATABASE;
use crate::exit::{Exit, UsageError, tell};
use crate::opts::{StoreCommand, StoreOpts, StorePlaceOpts};
use crate::serve::{acquire, data_directory};

pub(crate) fn run(opts: StoreOpts) -> anyhow::Result<Exit> {
    match opts.command {
        StoreCommand::Check(place) => check(&Place::resolve(place)?),
        StoreCommand::Compact(place) => compacted(&Place::resolve(place)?),
        StoreCommand::Backup { file, place } => backup(&Place::resolve(place)?, &file),
        StoreCommand::Restore { file, place } => restored(&Place::of_any(place)?, &file),
    }
}

/// The file in a data folder, and the output format.
struct Place {
    data: PathBuf,
    file: PathBuf,
    json: bool,
}

impl Place {
    /// The place, if the file exists.
    fn resolve(opts: StorePlaceOpts) -> anyhow::Result<Self> {
        let place = Self::of_any(opts)?;
        if !place.file.is_file() {
            let text = format!(
                "no sessions found in {}; choose the data folder with --data-dir, as for `weir serve`",
                place.data.display()
            );
            return Err(UsageError(text).into());
        }
        Ok(place)
    }

    fn of_any(opts: StorePlaceOpts) -> anyhow::Result<Self> {
        let data = data_directory(opts.data)?;
        Ok(Self { file: data.join(DATABASE), data, json: opts.json })
    }

    /// Locks out servers, loops and bridges, or reports which one is running.
    fn lock(&self, purpose: &str) -> anyhow::Result<[Lock; 2]> {
        let locked = |path: PathBuf| {
            acquire(&self.data, &path, purpose).with_context(|| {
                format!("{purpose} cannot be used while another process uses this data folder; stop it first")
            })
        };
        Ok([
            locked(self.data.join("server.lock"))?,
            locked(self.data.join("state").join("locks").join("host.lock"))?,
        ])
    }

    fn print(&self, value: &impl Serialize, words: &str) -> anyhow::Result<()> {
        let mut out = std::io::stdout().lock();
        if self.json {
            writeln!(out, "{}", serde_json::to_string(value)?)?;
        } else {
            writeln!(out, "{words}")?;
        }
        Ok(())
    }
}

fn check(place: &Place) -> anyhow::Result<Exit> {
    let report = check_file(&place.file)?;
    let is_sound = report.problems.is_empty();
    let verdict = if is_sound { "intact" } else { "damaged" };
    let mut words = format!("{} is {verdict}: {}", place.file.display(), contents(&report));
    if report.format < report.newest_format {
        let (old, new) = (report.format, report.newest_format);
        words.push_str(&format!("\nits format is {old}; the next start of a server upgrades it to {new}"));
    }
    for problem in &report.problems {
        words.push_str(&format!("\n  {problem}"));
    }
    place.print(&json!({"ok": is_sound, "file": place.file, "report": report}), &words)?;
    if is_sound {
        return Ok(Exit::Success);
    }
    tell("weir: restore a backup with `weir store restore FILE`, which keeps this file under another name");
    Ok(Exit::ErrorResult)
}

fn contents(report: &FileReport) -> String {
    format!("{} sessions, {} events, {}", report.sessions, report.events, size(report.bytes))
}

fn compacted(place: &Place) -> anyhow::Result<Exit> {
    let _locks = place.lock("weir store compact")?;
    let done = compact(&place.file)?;
    let Compacted { before, after, short_of, .. } = done;
    let mut words = format!("{} was {} and is now {}", place.file.display(), size(before), size(after));
    if let Some(short) = short_of {
        words.push_str(&format!(
            "\nit was not rewritten: that would need {} more of free disk space",
            size(short)
        ));
    }
    place.print(&json!({"ok": true, "file": place.file, "result": done}), &words)?;
    Ok(Exit::Success)
}

fn backup(place: &Place, target: &Path) -> anyhow::Result<Exit> {
    let done = back_up(&place.file, target)?;
    let (sessions, events) = (done.sessions, done.events);
    let words =
        format!("{} has {sessions} sessions, {events} events, {}", target.display(), size(done.bytes));
    place.print(&json!({"ok": true, "file": target, "result": done}), &words)?;
    Ok(Exit::Success)
}

fn restored(place: &Place, backup: &Path) -> anyhow::Result<Exit> {
    if !backup.is_file() {
        return Err(UsageError(format!("no backup {} found", backup.display())).into());
    }
    weir_base::file::create_private_folder(&place.data)
        .with_context(|| format!("cannot create {}", place.data.display()))?;
    let _locks = place.lock("weir store restore")?;
    let done = restore(backup, &place.file)?;
    let Restored { report, kept, .. } = &done;
    let mut words = format!("{} has {}", place.file.display(), contents(report));
    if let Some(kept) = kept {
        words.push_str(&format!(
            "\nthe old file is now {}; delete it when you no longer need it",
            kept.display()
        ));
    }
    place.print(&json!({"ok": true, "file": place.file, "result": done}), &words)?;
    Ok(Exit::Success)
}

/// A size for people.
fn size(bytes: u64) -> String {
    match bytes {
        0..10_000 => format!("{bytes} bytes"),
        10_000..10_000_000 => format!("{} kB", bytes / 1_000),
        10_000_000..10_000_000_000 => format!("{} MB", bytes / 1_000_000),
        _ => format!("{:.1} GB", bytes as f64 / 1e9),
    }
}
