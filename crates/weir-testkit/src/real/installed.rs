//! Which real CLIs are there.

use std::fmt;
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// The versions that are tested unless somebody says otherwise, one a line.
const PINNED: &str = include_str!("../../../../tests/real-cli-versions");
/// Names other versions to test, with commas or spaces between them.
const VERSIONS_VARIABLE: &str = "WEIR_REAL_CLI_VERSIONS";
/// Leaves out the tests that need a real CLI.
const SKIP_VARIABLE: &str = "WEIR_SKIP_REAL_CLI";

/// Why there is no real CLI to test with.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RealCliError {
    /// It was not installed.
    #[error(
        "the real CLI {version} is not installed: run `make test` or `scripts/setup-real-cli.sh {version}`, \
         or set {SKIP_VARIABLE}=1 to test without it (looked for {})", path.display()
    )]
    NotInstalled {
        /// The version.
        version: Version,
        /// Where it should be.
        path: PathBuf,
    },
    /// A version is not written like one.
    #[error(
        "{text:?} is not a version: write it in full, for example 2.1.9 (from {VERSIONS_VARIABLE} or the command line)"
    )]
    NotAVersion {
        /// What was written.
        text: String,
    },
    /// There is nowhere to look.
    #[error("there is no folder for the cache: set HOME, XDG_CACHE_HOME or WEIR_CACHE")]
    NoCache,
}

/// A version of the CLI. Versions compare as numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version {
    /// The first number.
    pub major: u32,
    /// The second.
    pub minor: u32,
    /// The third.
    pub patch: u32,
}

impl Version {
    /// A version from its three numbers.
    pub const fn new(major: u32, minor: u32, patch: u32) -> Self {
        Self { major, minor, patch }
    }
}

impl std::str::FromStr for Version {
    type Err = RealCliError;

    fn from_str(text: &str) -> Result<Self, RealCliError> {
        let mut numbers = text.split('.').map(|number| number.parse().ok());
        match (numbers.next(), numbers.next(), numbers.next(), numbers.next()) {
            (Some(Some(major)), Some(Some(minor)), Some(Some(patch)), None) => {
                Ok(Self { major, minor, patch })
            }
            _ => Err(RealCliError::NotAVersion { text: text.to_owned() }),
        }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

/// A real CLI that is installed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RealCli {
    /// Its version.
    pub version: Version,
    /// Its executable.
    pub program: PathBuf,
}

impl RealCli {
    /// The versions to test: those that the environment names, else the pinned ones.
    ///
    /// # Errors
    /// If one of them is not a version.
    pub fn wanted() -> Result<Vec<Version>, RealCliError> {
        match std::env::var(VERSIONS_VARIABLE) {
            Ok(versions) if !versions.trim().is_empty() => parse_versions(&versions),
            _ => parse_versions(
                &PINNED.lines().filter(|line| !line.starts_with('#')).collect::<Vec<_>>().join(" "),
            ),
        }
    }

    /// Those of the wanted versions that are installed.
    pub fn installed() -> Vec<Self> {
        let wanted = Self::wanted().unwrap_or_default();
        wanted.into_iter().filter_map(|version| Self::find(version).ok()).collect()
    }

    /// The wanted versions, all of them. None at all if the environment says that tests do without: then this says
    /// so on the standard error, where it is seen also when the test passes.
    ///
    /// # Errors
    /// If one is not installed; the message says how to install it.
    pub fn required() -> Result<Vec<Self>, RealCliError> {
        if std::env::var_os(SKIP_VARIABLE).is_some_and(|value| value == "1") {
            // Not `eprintln!`, which the test harness keeps to itself.
            let _nobody_reads = writeln!(
                std::io::stderr(),
                "NOT TESTED: {SKIP_VARIABLE}=1 is set, so this test did not run against any real CLI"
            );
            return Ok(Vec::new());
        }
        Self::wanted()?.into_iter().map(Self::find).collect()
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
    text.split([',', ' ', '\n']).filter(|word| !word.is_empty()).map(str::parse).collect()
}

/// The same folder as in `scripts/setup-real-cli.sh`.
fn cache() -> Option<PathBuf> {
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
    fn the_pinned_versions_can_be_read() {
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
