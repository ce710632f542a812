//! What belongs to the end of a run: its report, and the mark that it is over.

use weir_process::Secrets;

use super::folders::Folders;
use crate::report::{html, markdown};
use crate::state::{RunState, StateError, StateWriter, write_atomically};

/// Writes `report.md` and `report.html`. Gives what could not be written: that does not change how a run ended.
pub fn write_reports(folders: &Folders, run: &RunState, secrets: &Secrets) -> Vec<String> {
    let mut problems = Vec::new();
    for (extension, text) in [("md", markdown(run)), ("html", html(run))] {
        let path = folders.report(extension);
        if let Err(error) = write_atomically(&path, secrets.mask(&text).as_bytes()) {
            problems.push(format!("{} cannot be written: {error}", path.display()));
        }
    }
    problems
}

/// Writes the reports of a run that has ended, and then down that it is over. Until then the next start comes to its
/// end again.
pub(super) fn conclude(
    folders: &Folders,
    run: &mut RunState,
    secrets: &Secrets,
) -> Result<Vec<String>, StateError> {
    let problems = write_reports(folders, run, secrets);
    run.is_unreported = false;
    StateWriter::new(folders.state()).write(run)?;
    Ok(problems)
}
