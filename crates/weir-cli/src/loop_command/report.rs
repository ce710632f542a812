//! `weir loop report`.

use std::io::Write as _;
use std::path::PathBuf;

use weir_loop::report::{html, markdown};
use weir_loop::shell::{Folders, write_reports};
use weir_loop::state::{RunState, load, load_archived};
use weir_process::Secrets;

use super::Place;
use crate::exit::{Exit, UsageError, tell};

pub(super) fn run(place: &Place, as_html: bool, name: Option<&str>) -> anyhow::Result<Exit> {
    let run = find(&place.folders, name)?;
    if name.is_none() {
        for problem in write_reports(&place.folders, &run, &Secrets::new()) {
            tell(&format!("weir: {problem}"));
        }
    }
    let text = if as_html { html(&run) } else { markdown(&run) };
    std::io::stdout().lock().write_all(text.as_bytes())?;
    Ok(Exit::Success)
}

/// The state of a run by its id or the beginning of it, or of the last run.
pub(super) fn find(folders: &Folders, name: Option<&str>) -> anyhow::Result<RunState> {
    let current = load(&folders.state())?;
    let is_meant = |run: &RunState| name.is_none_or(|name| run.run_id.starts_with(name));
    if let Some(run) = current.filter(is_meant) {
        return Ok(run);
    }
    let entries = std::fs::read_dir(folders.runs()).into_iter().flatten();
    let mut files: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    files.retain(|path| {
        let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
        name.is_none_or(|name| stem.starts_with(name))
    });
    files.sort_by_key(|path| std::fs::metadata(path).and_then(|file| file.modified()).ok());
    let none = || {
        UsageError(
            name.map_or_else(|| "no run found here".to_owned(), |name| format!("no run {name} found here")),
        )
    };
    let Some(path) = files.last() else { return Err(none().into()) };
    load_archived(path)?.ok_or_else(|| none().into())
}
