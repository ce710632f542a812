//! Ends a run: writes its report, and marks it as over.

use std::io::Write as _;

use weir_process::Secrets;

use super::folders::Folders;
use super::git::remove;
use crate::report::{html_parts, markdown_parts};
use crate::state::{RunState, StateError, StateWriter, stream_atomically};

/// Writes `report.md` and `report.html`. Returns the errors: a report that cannot be written does not change how a run
/// ended.
pub fn write_reports(folders: &Folders, run: &RunState, secrets: &Secrets) -> Vec<String> {
    let markdown = write_report(folders, "md", markdown_parts(run), secrets);
    let html = write_report(folders, "html", html_parts(run), secrets);
    [markdown, html].into_iter().filter_map(Result::err).collect()
}

fn write_report(
    folders: &Folders,
    extension: &str,
    mut parts: impl Iterator<Item = String>,
    secrets: &Secrets,
) -> Result<(), String> {
    let path = folders.report(extension);
    let written = stream_atomically(&path, |file| {
        parts.try_for_each(|part| file.write_all(secrets.mask(&part).as_bytes()))
    });
    written.map_err(|error| format!("cannot write {}: {error}", path.display()))
}

/// Writes the reports of a run that has ended, and then records that it is over. Until then the next start ends it
/// again.
pub(super) fn conclude(
    folders: &Folders,
    run: &mut RunState,
    secrets: &Secrets,
) -> Result<Vec<String>, StateError> {
    let problems = write_reports(folders, run, secrets);
    run.is_unreported = false;
    StateWriter::new(folders.state()).write(run)?;
    if run.end().is_some_and(|end| !end.can_resume()) {
        // Nothing in them is needed any more. What cannot be removed is removed by the next run.
        let _ = remove(&folders.worktrees());
        let _ = remove(&folders.checks);
        let _ = remove(&folders.indexes());
    }
    Ok(problems)
}
