//! Known differences and their rules. The differences themselves are in the table.
//!
//! Outlines of the real CLI and the simulated CLI are compared after the rules were applied to both.

use super::table::IMITATED;
use crate::real::Version;

/// An accepted difference between the simulated CLI and a real one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Difference {
    /// Where it occurs.
    pub scope: Scope,
    /// How it is handled.
    pub rule: Rule,
    /// Whether it occurs only sometimes.
    pub chance: bool,
    /// Why it exists.
    pub reason: &'static str,
}

/// Where a difference occurs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scope {
    /// The scenario, or `*` for all.
    pub scenario: &'static str,
    /// The versions that have it.
    pub versions: Versions,
}

/// A set of versions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Versions {
    /// All of them.
    All,
    /// A range, both ends included.
    Between(Version, Version),
    /// Those that the simulated CLI does not imitate exactly.
    NotImitated,
}

impl Versions {
    /// Whether a version is in the set.
    pub fn contain(self, version: Version) -> bool {
        match self {
            Self::All => true,
            Self::Between(from, to) => (from..=to).contains(&version),
            Self::NotImitated => !IMITATED.contains(&version),
        }
    }
}

/// How a difference is handled. In patterns `*` matches any text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rule {
    /// Removes matching lines.
    Omit(&'static str),
    /// Replaces matching lines by this line.
    Rewrite(&'static str, &'static str),
    /// Sorts matching lines: their order is random.
    Sort(&'static str),
    /// The CLI sends the API more requests than the scenario expects, so they are not counted.
    MoreRequests,
    /// The scenario does not apply to the version.
    Skip,
}

impl Difference {
    /// Whether it can occur in a scenario with a version.
    pub fn applies(&self, scenario: &str, version: Version) -> bool {
        let Scope { scenario: wanted, versions } = self.scope;
        matches(wanted, scenario) && versions.contain(version)
    }
}

impl Rule {
    /// Whether it removes or rewrites a line that a scenario must show.
    pub(super) fn hides(&self, line: &str) -> bool {
        matches!(self, Self::Omit(pattern) | Self::Rewrite(pattern, _) if matches(pattern, line))
    }

    /// The lines without the difference.
    pub fn apply(&self, lines: &[String]) -> Vec<String> {
        match self {
            Self::Omit(pattern) => lines.iter().filter(|line| !matches(pattern, line)).cloned().collect(),
            Self::Rewrite(pattern, instead) => {
                let rewrite =
                    |line: &String| if matches(pattern, line) { (*instead).to_owned() } else { line.clone() };
                lines.iter().map(rewrite).collect()
            }
            Self::Sort(pattern) => {
                let mut sorted: Vec<&String> = lines.iter().filter(|line| matches(pattern, line)).collect();
                sorted.sort();
                let mut sorted = sorted.into_iter();
                let in_order = |line: &String| {
                    let line = if matches(pattern, line) { sorted.next().unwrap_or(line) } else { line };
                    line.clone()
                };
                lines.iter().map(in_order).collect()
            }
            Self::MoreRequests | Self::Skip => lines.to_vec(),
        }
    }
}

/// Whether a text matches a pattern, in which `*` matches any text.
pub(super) fn matches(pattern: &str, text: &str) -> bool {
    let Some((start, rest)) = pattern.split_once('*') else { return pattern == text };
    let Some(mut text) = text.strip_prefix(start) else { return false };
    let mut pieces = rest.split('*').peekable();
    while let Some(piece) = pieces.next() {
        if pieces.peek().is_none() {
            return text.ends_with(piece);
        }
        let Some((_, after)) = text.split_once(piece) else { return false };
        text = after;
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_any_text() {
        for (pattern, text, fits) in [
            ("*", "anything", true),
            ("a*", "abc", true),
            ("*c", "abc", true),
            ("a*c", "ac", true),
            ("a*b*c", "axxbxxc", true),
            ("a*b*c", "axxcxxb", false),
            ("a*b", "ab c", false),
            ("abc", "abcd", false),
            ("*ab", "abab", true),
        ] {
            assert_eq!(matches(pattern, text), fits, "{pattern} {text}");
        }
    }

    #[test]
    fn rules_change_only_the_lines_that_fit() {
        let lines: Vec<String> = ["x 2", "keep", "x 1"].map(str::to_owned).into();
        assert_eq!(Rule::Omit("x *").apply(&lines), ["keep"]);
        assert_eq!(Rule::Rewrite("x *", "y").apply(&lines), ["y", "keep", "y"]);
        assert_eq!(Rule::Sort("x *").apply(&lines), ["x 1", "keep", "x 2"]);
    }

    #[test]
    fn a_scope_is_a_scenario_and_some_versions() {
        let versions = Versions::Between(Version::new(2, 0, 0), Version::new(2, 1, 9));
        let scope = Scope { scenario: "hello*", versions };
        let difference = Difference { scope, rule: Rule::Skip, chance: false, reason: "" };
        assert!(difference.applies("hello", Version::new(2, 1, 9)));
        assert!(!difference.applies("hello", Version::new(2, 1, 61)));
        assert!(!difference.applies("other", Version::new(2, 1, 9)));
        assert!(Versions::NotImitated.contain(Version::new(2, 1, 61)));
        assert!(!Versions::NotImitated.contain(Version::new(2, 1, 9)));
    }
}
