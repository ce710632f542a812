//! Installed real CLIs.

use std::io::Write as _;
use std::path::{Path, PathBuf};

pub use weir_process::Version;

/// The versions tested by default, one per line.
const PINNED: &str = include_str!("../../../../tests/real-cli-versions");
/// Selects other versions to test, separated by commas or spaces.
const VERSIONS_VARIABLE: &str = "WEIR_REAL_CLI_VERSIONS";
/// Skips the tests that need a real CLI.
const SKIP_VARIABLE: &str = "WEIR_SKIP_REAL_CLI";

/// Why there is no real CLI to test with.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RealCliError {
    /// It is not installed.
    #[error(
        "the real CLI {version} is not installed: run `make test` or `scripts/setup-real-cli.sh {version}`, \
         or set {SKIP_VARIABLE}=1 to test without it (looked for {})", path.display()
    )]
    NotInstalled {
        /// The version.
        version: Version,
        /// The expected path of its executable.
        path: PathBuf,
    },
    /// A version is malformed.
    #[error(
        "{text:?} is not a version: write it in full, for example 2.1.9 (from {VERSIONS_VARIABLE} or the command line)"
    )]
    NotAVersion {
        /// The malformed text.
        text: String,
    },
    /// The cache folder is unknown.
    #[error("no cache folder: set HOME, XDG_CACHE_HOME or WEIR_CACHE")]
    NoCache,
}

/// Reads a version that is written in full.
///
/// # Errors
/// If it is not one.
pub fn parse_version(text: &str) -> Result<Version, RealCliError> {
    Version::parse(text)
        .filter(|version| version.to_string() == text)
        .ok_or_else(|| RealCliError::NotAVersion { text: text.to_owned() })
}

/// An installed real CLI.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RealCli {
    /// Its version.
    pub version: Version,
    /// Its executable.
    pub program: PathBuf,
}

impl RealCli {
    /// The versions to test: those from the environment, or else the pinned ones. A short run tests the newest alone.
    ///
    /// # Errors
    /// If one of them is malformed.
    pub fn wanted() -> Result<Vec<Version>, RealCliError> {
        match std::env::var(VERSIONS_VARIABLE) {
            Ok(versions) if !versions.trim().is_empty() => parse_versions(&versions),
            _ => {
                let pinned = PINNED.lines().filter(|line| !line.starts_with('#'));
                let count = if crate::is_long_run() { usize::MAX } else { 1 };
                parse_versions(&pinned.take(count).collect::<Vec<_>>().join(" "))
            }
        }
    }

    /// The wanted versions that are installed.
    pub fn installed() -> Vec<Self> {
        let wanted = Self::wanted().unwrap_or_default();
        wanted.into_iter().filter_map(|version| Self::find(version).ok()).collect()
    }

    /// All wanted versions; empty if the environment says to skip these tests. Then it says so on standard error,
    /// where it is visible even if the test passes.
    ///
    /// # Panics
    /// If one is not installed; the message says how to install it.
    #[track_caller]
    #[expect(clippy::panic, reason = "a test that cannot run should stop")]
    pub fn required() -> Vec<Self> {
        if std::env::var_os(SKIP_VARIABLE).is_some_and(|value| value == "1") {
            // Not `eprintln!`, whose output the test harness captures.
            let _closed_stderr = writeln!(
                std::io::stderr(),
                "NOT TESTED: {SKIP_VARIABLE}=1 is set, so this test did not run against any real CLI"
            );
            return Vec::new();
        }
        let found = Self::wanted().and_then(|wanted| wanted.into_iter().map(Self::find).collect());
        found.unwrap_or_else(|error| panic!("{error}"))
    }

    /// An installed version.
    ///
    /// # Errors
    /// If it is not installed; the message says how to install it.
    pub fn find(version: Version) -> Result<Self, RealCliError> {
        Self::find_in(&cache().ok_or(RealCliError::NoCache)?, version)
    }

    fn find_in(cache: &Path, version: Version) -> Result<Self, RealCliError> {
        let folder = cache.join("claude").join(version.to_string());
        let program = folder.join("node_modules").join(".bin").join("claude");
        if program.is_file() {
            Ok(Self { version, program })
        } else {
            Err(RealCliError::NotInstalled { version, path: program })
        }
    }
}

fn parse_versions(text: &str) -> Result<Vec<Version>, RealCliError> {
    text.split([',', ' ', '\n']).filter(|word| !word.is_empty()).map(parse_version).collect()
}

/// The same folder as in `scripts/common.sh`.
pub(crate) fn cache() -> Option<PathBuf> {
    let folder = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    folder("WEIR_CACHE")
        .or_else(|| folder("XDG_CACHE_HOME").map(|cache| cache.join("weir")))
        .or_else(|| folder("HOME").map(|home| home.join(".cache").join("weir")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_compare_as_numbers() {
        let versions = parse_versions("2.1.325, 2.1.9\n1.0.124").unwrap();
        assert!(versions[0] > versions[1] && versions[1] > versions[2]);
        assert_eq!(versions[0].to_string(), "2.1.325");
        for wrong in ["2.1", "2.1.x", "2.1.9.1", "latest"] {
            let error = parse_versions(wrong).unwrap_err();
            assert!(error.to_string().contains("for example 2.1.9"), "{error}");
        }
    }

    #[test]
    fn the_pinned_versions_are_valid() {
        assert!(
            parse_versions(
                PINNED.lines().filter(|line| !line.starts_with('#')).collect::<Vec<_>>().join(" ").as_str()
            )
            .unwrap()
            .len()
                >= 2
        );
    }

    #[test]
    fn a_missing_cli_says_how_to_install_it() {
        let empty = tempfile::tempdir().unwrap();
        let error = RealCli::find_in(empty.path(), Version::new(2, 1, 9)).unwrap_err();
        let text = error.to_string();
        assert!(text.contains("make test") && text.contains("scripts/setup-real-cli.sh 2.1.9"), "{text}");
        assert!(text.contains("WEIR_SKIP_REAL_CLI=1"), "{text}");
    }
}
