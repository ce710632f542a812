//! Compares two outlines.

use super::differences::{Difference, Rule, matches};
use super::model::Scenario;
use super::table::DIFFERENCES;
use crate::real::Version;

/// How two outlines of one scenario compare.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// Lines that differ: `-` only in the real one, `+` only in the simulated one, `!` expected and in neither. Empty
    /// if they are equal.
    pub unexplained: Vec<String>,
    /// The known differences that had an effect.
    pub known: Vec<&'static Difference>,
    /// Why the scenario is not compared at all.
    pub skipped: Option<&'static str>,
}

impl Comparison {
    /// Whether the table explains every difference.
    pub fn is_equal(&self) -> bool {
        self.unexplained.is_empty()
    }
}

/// The reason to skip a scenario for a version, if any.
pub(super) fn skipped(scenario: &str, version: Version) -> Option<&'static Difference> {
    DIFFERENCES.iter().find(|known| known.rule == Rule::Skip && known.applies(scenario, version))
}

/// Whether a version is known to send the API more requests than a scenario expects.
pub(super) fn asks_for_more(scenario: &str, version: Version) -> bool {
    DIFFERENCES.iter().any(|known| known.rule == Rule::MoreRequests && known.applies(scenario, version))
}

/// Compares the outlines of the real and the simulated CLI, ignoring known differences.
pub fn compare(scenario: &Scenario, version: Version, real: &[String], simulated: &[String]) -> Comparison {
    if let Some(difference) = skipped(scenario.name, version) {
        return Comparison {
            unexplained: Vec::new(),
            known: vec![difference],
            skipped: Some(difference.reason),
        };
    }
    let (mut first, mut second) = (real.to_vec(), simulated.to_vec());
    let mut known = Vec::new();
    for difference in DIFFERENCES.iter().filter(|known| known.applies(scenario.name, version)) {
        let (left, right) = (difference.rule.apply(&first), difference.rule.apply(&second));
        // A rule counts only if it brings the two closer: a line that both have needs no rule.
        if unequal(&left, &right).len() < unequal(&first, &second).len() {
            known.push(difference);
            (first, second) = (left, right);
        }
    }
    let mut unexplained = unequal(&first, &second);
    let shown = |pattern: &str| {
        known.iter().any(|difference| difference.rule.hides(pattern))
            || real.iter().any(|line| matches(pattern, line.trim_start()))
    };
    let missing = scenario.shows.iter().filter(|pattern| !shown(pattern));
    unexplained.extend(missing.map(|pattern| format!("! {pattern}")));
    Comparison { unexplained, known, skipped: None }
}

/// The lines that are not in both, by the longest common subsequence.
fn unequal(first: &[String], second: &[String]) -> Vec<String> {
    // lengths[i][j]: the longest common part after line i of the first and line j of the second.
    let width = second.len() + 1;
    let mut lengths = vec![0_u32; (first.len() + 1) * width];
    let at =
        |lengths: &[u32], row: usize, column: usize| lengths.get(row * width + column).copied().unwrap_or(0);
    for row in (0..first.len()).rev() {
        for column in (0..second.len()).rev() {
            let length = if first.get(row) == second.get(column) {
                at(&lengths, row + 1, column + 1) + 1
            } else {
                at(&lengths, row + 1, column).max(at(&lengths, row, column + 1))
            };
            if let Some(place) = lengths.get_mut(row * width + column) {
                *place = length;
            }
        }
    }
    let (mut row, mut column) = (0, 0);
    let mut lines = Vec::new();
    loop {
        match (first.get(row), second.get(column)) {
            (Some(left), Some(right)) if left == right => (row, column) = (row + 1, column + 1),
            (Some(left), right)
                if right.is_none() || at(&lengths, row + 1, column) >= at(&lengths, row, column + 1) =>
            {
                lines.push(format!("- {left}"));
                row += 1;
            }
            (_, Some(right)) => {
                lines.push(format!("+ {right}"));
                column += 1;
            }
            _ => return lines,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::Process;

    fn lines(text: &str) -> Vec<String> {
        text.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn only_what_differs_is_shown() {
        assert_eq!(unequal(&lines("a b c d"), &lines("a x c d")), ["- b", "+ x"]);
        assert_eq!(unequal(&lines("a b"), &lines("a b c")), ["+ c"]);
        assert_eq!(unequal(&lines("a b"), &lines("a b")), Vec::<String>::new());
        assert_eq!(unequal(&lines("a a b"), &lines("b a")).len(), 3);
    }

    #[test]
    fn a_difference_that_is_not_in_the_table_is_unexplained() {
        let scenario = Scenario::new("made-up", "", Process::default()).shows("s*e").shows("gone*");
        let comparison =
            compare(&scenario, Version::new(2, 1, 325), &lines("same one"), &lines("same other"));
        assert_eq!(comparison.unexplained, ["- one", "+ other", "! gone*"]);
    }
}
