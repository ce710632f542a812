//! `weir loop report`.

use std::io::Write as _;
use std::path::PathBuf;

use weir_loop::report::{
    html, markdown, pull_request as pull_request_of, pull_requests as pull_requests_of, report,
};
use weir_loop::shell::{Folders, write_reports};
use weir_loop::state::{RunState, load, load_archived};
use weir_loop::tasks::TaskId;
use weir_process::Secrets;

use super::Place;
use crate::exit::{Exit, UsageError, tell};

/// How a report is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    Markdown,
    Html,
    Json,
}

/// Prints the schema of the report.
pub(super) fn schema() -> anyhow::Result<Exit> {
    writeln!(std::io::stdout().lock(), "{:#}", weir_loop::report::schema())?;
    Ok(Exit::Success)
}

pub(super) fn run(place: &Place, form: Form, name: Option<&str>) -> anyhow::Result<Exit> {
    let run = find(&place.folders, name)?;
    if name.is_none() {
        for problem in write_reports(&place.folders, &run, &Secrets::new()) {
            tell(&format!("weir: {problem}"));
        }
    }
    let text = match form {
        Form::Markdown => markdown(&run),
        Form::Html => html(&run),
        Form::Json => format!("{}\n", serde_json::to_string_pretty(&report(&run))?),
    };
    std::io::stdout().lock().write_all(text.as_bytes())?;
    Ok(Exit::Success)
}

/// Prints a text for a pull request.
pub(super) fn pull_request(place: &Place, task: Option<&str>, as_json: bool) -> anyhow::Result<Exit> {
    let run = find(&place.folders, None)?;
    if let Some(name) = task
        && run.task(&TaskId::new(name)).is_none_or(|record| record.receipt.is_none())
    {
        return Err(UsageError(format!(
            "task {name} has no commit; `weir loop status` shows which are done"
        ))
        .into());
    }
    let request = pull_request_of(&run, task)
        .ok_or_else(|| UsageError("no task of the run is done, so there is nothing to request".to_owned()))?;
    let mut out = std::io::stdout().lock();
    match as_json {
        true => writeln!(out, "{}", serde_json::to_string_pretty(&request)?)?,
        false => writeln!(out, "{}\n\n{}", request.title, request.body.trim_end())?,
    }
    Ok(Exit::Success)
}

/// Prints a text for a pull request for each task that is done.
pub(super) fn pull_requests(place: &Place, as_json: bool) -> anyhow::Result<Exit> {
    let requests = pull_requests_of(&find(&place.folders, None)?);
    if requests.is_empty() {
        return Err(
            UsageError("no task of the run is done, so there is nothing to request".to_owned()).into()
        );
    }
    let mut out = std::io::stdout().lock();
    if as_json {
        writeln!(out, "{}", serde_json::to_string_pretty(&requests)?)?;
        return Ok(Exit::Success);
    }
    for request in &requests {
        let branch = request.branch.as_deref().unwrap_or(&request.commit);
        let base = request.base.as_deref().unwrap_or("HEAD");
        writeln!(out, "# {}\n\n{branch} into {base}\n\n{}\n", request.title, request.body.trim_end())?;
    }
    Ok(Exit::Success)
}

/// The state of a run by its id or the beginning of it, or of the last run.
pub(super) fn find(folders: &Folders, name: Option<&str>) -> anyhow::Result<RunState> {
    let current = load(&folders.state())?;
    let is_meant = |run: &RunState| name.is_none_or(|name| run.run_id.starts_with(name));
    if let Some(run) = current.filter(is_meant) {
        return Ok(run);
    }
    let mut files = archives(folders);
    files.retain(|path| {
        let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
        name.is_none_or(|name| stem.starts_with(name))
    });
    let none = || {
        UsageError(
            name.map_or_else(|| "no run found here".to_owned(), |name| format!("no run {name} found here")),
        )
    };
    let Some(path) = files.last() else { return Err(none().into()) };
    load_archived(path)?.ok_or_else(|| none().into())
}

/// The files of the runs that are over, the oldest first.
fn archives(folders: &Folders) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folders.runs()).into_iter().flatten();
    let mut files: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    files.sort_by_key(|path| std::fs::metadata(path).and_then(|file| file.modified()).ok());
    files
}

/// How many earlier runs a forecast is made from.
const MAX_PAST: usize = 10;

/// The last runs that are over, as far as they can be read.
pub(super) fn archived(folders: &Folders) -> Vec<RunState> {
    let files = archives(folders);
    let last = files.iter().rev().take(MAX_PAST);
    last.filter_map(|path| load_archived(path).ok().flatten()).collect()
}
