//! The marks by which processes are recognised as ours.
//!
//! Each launch and each Weir process has a random id. Both go into one environment variable that every descendant
//! inherits, whatever process group, session or parent it ends up with. Ids are appended to what the variable
//! held before: a Weir that runs as a tool of another one leaves the outer marks in place.

use std::ffi::{OsStr, OsString};
use std::sync::OnceLock;

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
}
