//! Duration, parallelism and seed of a run.

use std::path::PathBuf;
use std::time::Duration;

/// Duration, parallelism and seed of a run.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The program that becomes the simulated CLI if its first argument is [`crate::SIMULATED`].
    pub program: PathBuf,
    /// How long to run.
    pub time: Duration,
    /// Determines everything else.
    pub seed: u64,
    /// Number of sessions at a time.
    pub jobs: u64,
    /// Plays this one seed repeatedly instead of many.
    pub only: Option<u64>,
}

/// An environment variable with an invalid value.
#[derive(Debug)]
pub struct SettingsError(String);

impl std::fmt::Display for SettingsError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for SettingsError {}

impl Settings {
    /// Reads the environment: `SOAK_SECONDS` (600), `SOAK_SEED` (the time), `SOAK_JOBS` (8), `SOAK_ONLY`.
    ///
    /// # Errors
    /// If a variable is not a number.
    pub fn from_environment(program: PathBuf) -> Result<Self, SettingsError> {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        Ok(Self {
            program,
            time: Duration::from_secs(number("SOAK_SECONDS")?.unwrap_or(600)),
            seed: number("SOAK_SEED")?.unwrap_or(now.as_secs()),
            jobs: number("SOAK_JOBS")?.unwrap_or(8).max(1),
            only: number("SOAK_ONLY")?,
        })
    }
}

fn number(name: &str) -> Result<Option<u64>, SettingsError> {
    let Ok(text) = std::env::var(name) else { return Ok(None) };
    if text.is_empty() {
        return Ok(None);
    }
    let wrong = |_| SettingsError(format!("{name} must be a whole number, for example 600, not {text:?}"));
    text.parse().map(Some).map_err(wrong)
}
