//! Asks a CLI for its version and its flags, once.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use weir_base::file::{Replace, create_private_folder};

use super::{Capabilities, Version, help};
use crate::brief::{self, Answer};
use crate::environment::Environment;

/// Older builds take five seconds on an idle machine.
const PATIENCE: Duration = Duration::from_secs(30);

/// Why the version of a CLI could not be determined.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProbeError {
    /// The file cannot be read.
    #[error("cannot inspect {}: {source}", program.display())]
    File {
        /// The program.
        program: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// The program does not run.
    #[error("{} --version could not be run: {reason}", program.display())]
    NotRun {
        /// The program.
        program: PathBuf,
        /// Why it could not be run.
        reason: String,
    },
    /// It runs but prints no version.
    #[error(
        "{} --version printed no version ({exit}): {said:?}. Is this the claude CLI? Set WEIR_CLAUDE to its path if not",
        program.display()
    )]
    NoVersion {
        /// The program.
        program: PathBuf,
        /// How it ended.
        exit: String,
        /// The start of what it printed.
        said: String,
    },
}

/// Identifies a file: an updated CLI has a different fingerprint.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Fingerprint {
    size: u64,
    /// Nanoseconds since 1970.
    modified: u64,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Known {
    fingerprint: Fingerprint,
    version: Version,
    flags: Option<BTreeSet<String>>,
}

impl Known {
    fn capabilities(&self) -> Capabilities {
        Capabilities::of(self.version).with_flags(self.flags.clone())
    }
}

/// Remembers what CLIs support, in memory and, if a file is given, across restarts.
#[derive(Debug, Default)]
pub struct ProbeCache {
    file: Option<PathBuf>,
    known: Mutex<BTreeMap<PathBuf, Known>>,
}

impl ProbeCache {
    /// A cache in memory only.
    pub fn in_memory() -> Self {
        Self::default()
    }

    /// A cache that is kept in a file. An unreadable file counts as empty.
    pub fn in_file(file: impl Into<PathBuf>) -> Self {
        let file = file.into();
        let known = std::fs::read(&file).ok().and_then(|text| serde_json::from_slice(&text).ok());
        Self { file: Some(file), known: Mutex::new(known.unwrap_or_default()) }
    }

    /// What this CLI supports. Runs it with `--version` and `--help` if it is not known yet or has changed.
    pub async fn probe(&self, program: &Path, environment: &Environment) -> Result<Capabilities, ProbeError> {
        let fingerprint = fingerprint(program)
            .map_err(|source| ProbeError::File { program: program.to_owned(), source })?;
        if let Some(known) = self.lock().get(program).filter(|known| known.fingerprint == fingerprint) {
            return Ok(known.capabilities());
        }
        let (version, help) = tokio::join!(
            brief::ask(program, &["--version"], environment, PATIENCE),
            brief::ask(program, &["--help"], environment, PATIENCE),
        );
        let version = version
            .map_err(|error| ProbeError::NotRun { program: program.to_owned(), reason: error.to_string() })?;
        let version = Version::parse(&version.text).ok_or_else(|| no_version(program, &version))?;
        let flags = help.ok().map(|help| help::flags(&help.text)).filter(|flags| flags.contains("--print"));
        let known = Known { fingerprint, version, flags };
        let capabilities = known.capabilities();
        self.lock().insert(program.to_owned(), known);
        self.save();
        Ok(capabilities)
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<PathBuf, Known>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A failure is ignored: the CLI is then simply probed again next time.
    fn save(&self) {
        let Some(file) = &self.file else { return };
        let Ok(text) = serde_json::to_vec(&*self.lock()) else { return };
        let _ = file.parent().map_or(Ok(()), create_private_folder);
        let _ = Replace::new().quick().contended().bytes(file, &text);
    }
}

fn fingerprint(program: &Path) -> io::Result<Fingerprint> {
    let metadata = std::fs::metadata(program)?;
    let modified = metadata.modified()?.duration_since(UNIX_EPOCH).unwrap_or_default();
    Ok(Fingerprint { size: metadata.len(), modified: u64::try_from(modified.as_nanos()).unwrap_or(u64::MAX) })
}

fn no_version(program: &Path, answer: &Answer) -> ProbeError {
    let said = if answer.text.trim().is_empty() { &answer.stderr } else { &answer.text };
    ProbeError::NoVersion {
        program: program.to_owned(),
        exit: answer.exit.to_string(),
        said: said.trim().chars().take(200).collect(),
    }
}
