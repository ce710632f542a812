//! Marks that identify processes as ours.
//!
//! Each launch and each Weir process has a random id. Both go into an environment variable that every
//! descendant inherits, whatever process group, session or parent it ends up with. Ids are appended to the
//! inherited value: a Weir that runs as a tool of another one keeps the outer marks.
//!
//! A descendant can clear its environment, but it still inherits resource limits. On Linux both ids therefore
//! also form a number that is set as a launch's limit on CPU time under real-time scheduling: tens of thousands
//! of years, which limits nothing and which no other program sets.

use std::ffi::{OsStr, OsString};
use std::sync::OnceLock;

use serde::{Deserialize, Serialize};

/// The environment variable that holds the marks.
pub(crate) const VARIABLE: &str = "WEIR_MARKS";

/// A random id in the environment of every process that it marks.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Mark(String);

impl Mark {
    pub(crate) fn random() -> Self {
        Self(uuid::Uuid::new_v4().simple().to_string())
    }

    /// The mark of this Weir process, constant for its lifetime.
    pub(crate) fn of_this_process() -> &'static Self {
        static MARK: OnceLock<Mark> = OnceLock::new();
        MARK.get_or_init(Self::random)
    }

    /// A recorded mark, if it is well-formed. A shorter text could match by chance.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        (text.len() == 32 && text.bytes().all(|b| b.is_ascii_hexdigit())).then(|| Self(text.to_owned()))
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    /// A number below `bound`, derived from the mark.
    fn number(&self, bound: u64) -> u64 {
        // 15 of 32 hexadecimal digits, all random.
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

    /// The limit for a launch of this process.
    pub(crate) fn of(launch: &Mark) -> Self {
        Self(Self::of_process() * Self::LAUNCHES + launch.number(Self::LAUNCHES))
    }

    /// The leading nine digits of all limits of this process. With the digits of the launch they fit into 63
    /// bits.
    pub(crate) fn of_process() -> u64 {
        100_000_000 + Mark::of_this_process().number(822_337_203)
    }

    #[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "only Linux has such limits"))]
    pub(crate) fn value(self) -> u64 {
        self.0
    }
}

/// The value of [`VARIABLE`] for a child: the inherited value, this process, and the launch.
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
