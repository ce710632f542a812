//! Checks the folders that Weir reads and writes.

use std::path::Path;

use super::report::Report;
use super::settings::Settings;
use crate::folders;
use crate::screen::{plural, short_path};
use weir_session::transcripts::Transcripts;

pub(super) fn check(settings: &Settings, report: &mut Report) {
    writable("state", settings.state.as_deref(), "WEIR_STATE_DIR", report);
    writable("cache", folders::cache().as_deref(), "WEIR_CACHE_DIR", report);
    let Some(config) = folders::cli_config() else {
        report.warn("history", "the CLI's transcript folder is unknown", "set HOME");
        return;
    };
    let shown = short_path(&config.display().to_string());
    match Transcripts::below(&config).all() {
        Ok(found) => {
            let count = plural(found.len() as u64, "session");
            report.good("history", format!("{shown} ({count}, see `weir sessions`)"));
        }
        Err(error) => {
            report.warn("history", error.to_string(), "`weir sessions` needs to read it");
        }
    }
}

fn writable(name: &'static str, folder: Option<&Path>, variable: &str, report: &mut Report) {
    let Some(folder) = folder else {
        report.warn(name, "no folder found, so nothing is kept", format!("set HOME or {variable}"));
        return;
    };
    let shown = short_path(&folder.display().to_string());
    match try_writing(folder) {
        Ok(()) => {
            report.good(name, format!("{shown} (writable)"));
        }
        Err(error) => {
            let advice = format!("make it writable, or set {variable} to a folder that is");
            report.fail(name, format!("{shown} cannot be written: {error}"), advice);
        }
    }
}

fn try_writing(folder: &Path) -> std::io::Result<()> {
    weir_base::file::create_private_folder(folder)?;
    tempfile::NamedTempFile::new_in(folder)?.close()
}
