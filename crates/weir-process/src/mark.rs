//! The marks by which processes are recognised as ours.
//!
//! Each launch and each Weir process has a random id. Both go into one environment variable that every descendant
//! inherits, whatever process group, session or parent it ends up with. Ids are appended to what the variable
//! held before: a Weir that runs as a tool of another one leaves the outer marks in place.
//!
//! A descendant can clear its environment. Resource limits it inherits all the same, so on Linux both ids also make
//! a number that is set as the limit of a launch's CPU time under real-time scheduling: tens of thousands of years,
//! which limits nothing. Nobody else sets such a limit.

use std::ffi::{OsStr, OsString};
use std::sync::OnceLock;

use serde::{Deserialize, Serialize};

/// The environment variable that holds the marks.
pub(crate) const VARIABLE: &str = "WEIR_MARKS";

/// A random id that is part of the environment of everything it marks.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Mark(String);

impl Mark {
    pub(crate) fn random() -> Self {
        Self(uuid::Uuid::new_v4().simple().to_string())
    }

    /// The mark of this Weir process, the same for its whole life.
    pub(crate) fn of_this_process() -> &'static Self {
        static MARK: OnceLock<Mark> = OnceLock::new();
        MARK.get_or_init(Self::random)
    }

    /// A mark that was written down earlier, if it looks like one. Anything shorter would match by chance.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        (text.len() == 32 && text.bytes().all(|b| b.is_ascii_hexdigit())).then(|| Self(text.to_owned()))
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    /// A number that follows from the mark, below `bound`.
    fn number(&self, bound: u64) -> u64 {
        // 15 hexadecimal digits of 32, all of which are random.
        let digits = self.0.get(..15).unwrap_or_default();
        u64::from_str_radix(digits, 16).unwrap_or_default() % bound
    }
}

/// The marks of a launch as a resource limit: nine decimal digits for the Weir process, nine for the launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct LimitMark(u64);

impl LimitMark {
    const LAUNCHES: u64 = 1_000_000_000;

    /// The number of a launch of this process.
    pub(crate) fn of(launch: &Mark) -> Self {
        Self(Self::of_process() * Self::LAUNCHES + launch.number(Self::LAUNCHES))
    }

    /// The first nine digits of all numbers of this process. Together they fit into 63 bits.
    pub(crate) fn of_process() -> u64 {
        100_000_000 + Mark::of_this_process().number(822_337_203)
    }

    #[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "there are no such limits elsewhere"))]
    pub(crate) fn value(self) -> u64 {
        self.0
    }
}

/// The value of [`VARIABLE`] for a child: what was there, this process, and the launch.
pub(crate) fn value(inherited: Option<&OsStr>, launch: &Mark) -> OsString {
    let mut value = OsString::new();
    if let Some(inherited) = inherited.filter(|inherited| !inherited.is_empty()) {
        value.push(inherited);
        value.push(":");
    }
    value.push(&Mark::of_this_process().0);
    value.push(":");
    value.push(&launch.0);
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outer_marks_stay() {
        let launch = Mark::random();
        let value = value(Some(OsStr::new("outer")), &launch).into_string().unwrap();
        assert_eq!(value, format!("outer:{}:{}", Mark::of_this_process().as_str(), launch.as_str()));
        assert!(Mark::parse(launch.as_str()) == Some(launch));
        assert!(Mark::parse("outer").is_none());
    }

    #[test]
    fn a_limit_begins_with_the_process_and_fits_into_63_bits() {
        let launch = Mark::random();
        let number = LimitMark::of(&launch);
        assert_eq!(number, LimitMark::of(&launch));
        assert!(number.value().to_string().starts_with(&LimitMark::of_process().to_string()));
        assert_eq!(number.value().to_string().len(), 18);
        assert!(i64::try_from(number.value()).is_ok());
    }
}
