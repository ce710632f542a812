//! Version numbers.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The version of a CLI.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Version {
    /// The first number.
    pub major: u32,
    /// The second number.
    pub minor: u32,
    /// The third number.
    pub patch: u32,
}

impl Version {
    /// A version.
    pub const fn new(major: u32, minor: u32, patch: u32) -> Self {
        Self { major, minor, patch }
    }

    /// Parses the output of `claude --version`, for instance `2.1.325 (Claude Code)`: the first word that is a
    /// version. Surrounding warnings and a suffix such as `-beta.1` are ignored.
    pub fn parse(text: &str) -> Option<Self> {
        text.split_whitespace().find_map(Self::parse_word)
    }

    fn parse_word(word: &str) -> Option<Self> {
        let word = word.strip_prefix('v').unwrap_or(word);
        let numbers = word.split(['-', '+']).next()?;
        let mut parts = numbers.split('.').map(|part| part.parse().ok());
        let version = Self::new(parts.next()??, parts.next()??, parts.next()??);
        parts.next().is_none().then_some(version)
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_cli_prints() {
        assert_eq!(Version::parse("2.1.325 (Claude Code)\n"), Some(Version::new(2, 1, 325)));
        assert_eq!(Version::parse("warning: old node\nv1.0.124-beta.2"), Some(Version::new(1, 0, 124)));
        for nothing in ["", "Claude Code", "2.1", "2.1.x", "1.2.3.4", "127.0.0.1"] {
            assert_eq!(Version::parse(nothing), None, "{nothing}");
        }
        assert!(Version::new(2, 1, 9) < Version::new(2, 1, 61));
        assert_eq!(Version::new(2, 0, 72).to_string(), "2.0.72");
    }
}
