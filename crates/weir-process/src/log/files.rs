//! Names and creates the log files of a process.

use std::io;
use std::sync::Arc;
use std::time::SystemTime;

use weir_base::file::create_private_folder;

use super::folder;
use super::mask::Masker;
use super::options::{LogError, LogOptions, LogPaths};
use super::writer::{LogHealth, LogWriter, Parts};
use crate::clock;
use crate::secrets::Secrets;

/// The logs of a process.
#[derive(Debug)]
pub(crate) struct LogFiles {
    pub(crate) output: LogWriter,
    pub(crate) input: LogWriter,
    pub(crate) stderr: LogWriter,
    pub(crate) paths: Option<LogPaths>,
}

impl LogFiles {
    /// Removes the files of a process that was never started.
    pub(crate) fn discard(self) {
        for path in self.paths.iter().flat_map(|paths| [&paths.output, &paths.input, &paths.stderr]) {
            let _ = std::fs::remove_file(path);
        }
    }
}

/// How many names are tried before giving up.
const ATTEMPTS: usize = 1000;

/// Creates the logs. There are none without options, or if creation fails and logs are not required; the
/// failure is then reported like a later one.
pub(crate) fn create(options: Option<&LogOptions>, secrets: &Secrets) -> Result<LogFiles, LogError> {
    let Some(options) = options else { return Ok(none()) };
    let health = LogHealth::new(options.require);
    match try_create(options, secrets, &health) {
        Ok(files) => Ok(files),
        Err(source) if options.require => Err(LogError { path: options.directory.clone(), source }),
        Err(source) => {
            health.report(&options.directory, source);
            Ok(without_files(|| LogWriter::failed(&health)))
        }
    }
}

fn try_create(options: &LogOptions, secrets: &Secrets, health: &Arc<LogHealth>) -> io::Result<LogFiles> {
    create_private_folder(&options.directory)?;
    let stamp = clock::file_stamp(SystemTime::now());
    let name = format!("{stamp}-{}-{}", plain(&options.mode), plain(&options.name));
    for attempt in 1..=ATTEMPTS {
        let stem = if attempt == 1 { name.clone() } else { format!("{name}-{attempt}") };
        let stem = options.directory.join(stem);
        let parts = |suffix| Parts {
            stem: stem.clone(),
            suffix,
            part_bytes: options.part_bytes,
            parts_kept: options.parts_kept,
            current: 1,
        };
        let output = parts("ndjson");
        let file = match output.open(1) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
            Err(error) => return Err(error),
        };
        let (input, stderr) = (parts("in.ndjson"), parts("stderr"));
        let paths = LogPaths { output: output.path(1), input: input.path(1), stderr: stderr.path(1) };
        let (input_file, stderr_file) = (input.open(1)?, stderr.open(1)?);
        if let Some(limits) = &options.folder_limits {
            folder::make_room(&options.directory, limits, SystemTime::now());
        }
        let masker = || (!secrets.is_empty()).then(|| Masker::new(secrets));
        return Ok(LogFiles {
            output: LogWriter::new(file, output, masker(), health),
            input: LogWriter::new(input_file, input, masker(), health),
            stderr: LogWriter::new(stderr_file, stderr, masker(), health),
            paths: Some(paths),
        });
    }
    Err(io::Error::new(io::ErrorKind::AlreadyExists, "all log file names tried already exist"))
}

/// A name that is valid on every file system: never empty, hidden or too long.
fn plain(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    let plain: String = text.chars().take(80).map(|c| if is_plain(c) { c } else { '_' }).collect();
    if plain.trim_matches('.').is_empty() { "unnamed".to_owned() } else { plain }
}

/// Logging is off.
pub(crate) fn none() -> LogFiles {
    without_files(LogWriter::none)
}

fn without_files(writer: impl Fn() -> LogWriter) -> LogFiles {
    LogFiles { output: writer(), input: writer(), stderr: writer(), paths: None }
}
