//! The source of the recording.

use std::fs::File;
use std::io::{self, IsTerminal as _, Read};

use anyhow::Context as _;

use super::Settings;
use crate::exit::UsageError;

pub(super) struct Source {
    pub(super) reader: Box<dyn Read>,
    /// The name to show in messages.
    pub(super) name: String,
    /// In bytes, if known.
    pub(super) length: Option<u64>,
}

pub(super) fn open(settings: &Settings) -> anyhow::Result<Source> {
    let Some(path) = &settings.file else {
        if io::stdin().is_terminal() {
            let hint = "name a file to replay, or pipe one in: weir replay FILE, weir replay < FILE";
            return Err(UsageError(hint.into()).into());
        }
        return Ok(Source {
            reader: Box::new(io::stdin().lock()),
            name: "standard input".into(),
            length: None,
        });
    };
    let name = path.display().to_string();
    let file = File::open(path).map_err(|error| UsageError(format!("cannot open {name}: {error}")))?;
    let metadata = file.metadata().with_context(|| format!("cannot read the metadata of {name}"))?;
    if metadata.is_dir() {
        return Err(UsageError(format!("{name} is a folder; name a recording in it")).into());
    }
    let length = metadata.is_file().then_some(metadata.len());
    Ok(Source { reader: Box::new(file), name, length })
}
