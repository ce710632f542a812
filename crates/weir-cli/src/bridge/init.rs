//! Writes a commented configuration.

use std::fs::OpenOptions;
use std::io::{ErrorKind, Write as _};
use std::path::Path;

use anyhow::Context as _;
use weir_bridge::config::SAMPLE;

use crate::exit::{Exit, UsageError, tell};

/// Writes the sample, and the workspace that it names. Nothing is overwritten.
pub(super) fn init(file: &Path) -> anyhow::Result<Exit> {
    let created = OpenOptions::new().write(true).create_new(true).open(file);
    let mut written = match created {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            let text = format!("{} already exists; name another file, or remove it first", file.display());
            return Err(UsageError(text).into());
        }
        created => created.with_context(|| format!("cannot write {}", file.display()))?,
    };
    written.write_all(SAMPLE.as_bytes()).with_context(|| format!("cannot write {}", file.display()))?;
    let workspace = file.with_file_name("workspace");
    std::fs::create_dir_all(&workspace).with_context(|| format!("cannot create {}", workspace.display()))?;
    tell(&format!(
        "wrote {}: enable a channel in it, then run `weir bridge check --config {}`",
        file.display(),
        file.display()
    ));
    Ok(Exit::Success)
}
