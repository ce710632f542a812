//! Builds the environment of the CLI.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::fmt;

use crate::secrets::looks_secret;

/// Variables that are never inherited: they tell a CLI that it runs inside another one.
///
/// With `CLAUDECODE` some versions refuse to start. The others are set by a CLI for its tools, or were set for
/// that CLI itself: `CLAUDE_CODE_ENTRYPOINT` makes a CLI believe it is part of another program,
/// `CLAUDE_CODE_CHILD_SESSION` that it is a child of another session. They can still be set explicitly.
const NEVER_INHERITED: [&str; 7] = [
    "CLAUDECODE",
    "CLAUDE_CODE_CHILD_SESSION",
    "CLAUDE_CODE_ENTRYPOINT",
    "CLAUDE_CODE_SESSION_ATTENDED",
    "CLAUDE_CODE_SESSION_ID",
    "CLAUDE_CODE_SSE_PORT",
    "CLAUDE_PID",
];

/// The environment of the CLI.
///
/// `Debug` hides the values of variables whose names look secret.
#[derive(Clone, PartialEq, Eq)]
pub struct Environment {
    base: Base,
    set: BTreeMap<OsString, OsString>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Base {
    /// Everything except these.
    Without(BTreeSet<OsString>),
    /// Nothing but these.
    Only(BTreeSet<OsString>),
}

impl Default for Environment {
    fn default() -> Self {
        Self::inherit()
    }
}

impl Environment {
    /// Our own environment, without the variables that tell a CLI that it runs inside another one.
    pub fn inherit() -> Self {
        Self { base: Base::Without(BTreeSet::new()), set: BTreeMap::new() }
    }

    /// Only these variables of our own environment.
    pub fn only<N: Into<OsString>>(names: impl IntoIterator<Item = N>) -> Self {
        Self { base: Base::Only(names.into_iter().map(Into::into).collect()), set: BTreeMap::new() }
    }

    /// Nothing of our own environment.
    pub fn empty() -> Self {
        Self { base: Base::Only(BTreeSet::new()), set: BTreeMap::new() }
    }

    /// Does not inherit this variable.
    #[must_use]
    pub fn exclude(mut self, name: impl Into<OsString>) -> Self {
        let name = name.into();
        self.set.remove(&name);
        match &mut self.base {
            Base::Without(names) => {
                names.insert(name);
            }
            Base::Only(names) => {
                names.remove(&name);
            }
        }
        self
    }

    /// Sets a variable, overriding an inherited value.
    #[must_use]
    pub fn set(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.set.insert(name.into(), value.into());
        self
    }

    /// Sets a variable unless it is set already; an inherited value does not count.
    #[must_use]
    pub fn set_default(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.set.entry(name.into()).or_insert_with(|| value.into());
        self
    }

    /// The variables of a child, given the parent's. Pure.
    pub fn resolve(
        &self,
        ours: impl IntoIterator<Item = (OsString, OsString)>,
    ) -> BTreeMap<OsString, OsString> {
        let mut resolved: BTreeMap<OsString, OsString> =
            ours.into_iter().filter(|(name, _)| self.inherits(name)).collect();
        resolved.extend(self.set.iter().map(|(name, value)| (name.clone(), value.clone())));
        resolved
    }

    fn inherits(&self, name: &OsStr) -> bool {
        if NEVER_INHERITED.iter().any(|never| name == *never) {
            return false;
        }
        match &self.base {
            Base::Without(names) => !names.contains(name),
            Base::Only(names) => names.contains(name),
        }
    }
}

impl fmt::Debug for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let set: BTreeMap<_, _> = self
            .set
            .iter()
            .map(|(name, value)| {
                let secret = looks_secret(&name.to_string_lossy());
                (name, if secret { OsStr::new("[masked]") } else { value.as_os_str() })
            })
            .collect();
        f.debug_struct("Environment").field("base", &self.base).field("set", &set).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolved(environment: &Environment) -> Vec<String> {
        let ours = [
            ("PATH", "/bin"),
            ("CLAUDECODE", "1"),
            ("CLAUDE_CODE_ENTRYPOINT", "cli"),
            ("HOME", "/home/u"),
            ("ANTHROPIC_API_KEY", "k"),
        ];
        environment
            .resolve(ours.map(|(name, value)| (name.into(), value.into())))
            .iter()
            .map(|(name, value)| format!("{}={}", name.display(), value.display()))
            .collect()
    }

    #[test]
    fn inherits_all_but_the_marks_of_another_session() {
        assert_eq!(resolved(&Environment::inherit()), ["ANTHROPIC_API_KEY=k", "HOME=/home/u", "PATH=/bin"]);
    }

    #[test]
    fn excluded_is_not_inherited() {
        let environment = Environment::inherit().exclude("ANTHROPIC_API_KEY");
        assert_eq!(resolved(&environment), ["HOME=/home/u", "PATH=/bin"]);
    }

    #[test]
    fn an_allowlist_lets_nothing_else_through() {
        let environment = Environment::only(["PATH", "CLAUDECODE"]).set("LANG", "C");
        assert_eq!(resolved(&environment), ["LANG=C", "PATH=/bin"]);
        assert_eq!(resolved(&Environment::empty()), [""; 0]);
    }

    #[test]
    fn set_wins_even_over_what_is_never_inherited() {
        let environment = Environment::inherit().exclude("HOME").set("HOME", "/tmp/x").set("CLAUDECODE", "2");
        assert_eq!(
            resolved(&environment),
            ["ANTHROPIC_API_KEY=k", "CLAUDECODE=2", "HOME=/tmp/x", "PATH=/bin"]
        );
    }

    #[test]
    fn debug_masks_what_looks_secret() {
        let environment = Environment::inherit().set("MY_TOKEN", "hunter2").set("LANG", "C");
        let debug = format!("{environment:?}");
        assert!(!debug.contains("hunter2"), "{debug}");
        assert!(debug.contains("\"LANG\": \"C\""), "{debug}");
    }
}
