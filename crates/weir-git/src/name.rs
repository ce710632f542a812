//! Names of branches and revisions that came from outside. Pure.
//!
//! A name that is accepted here cannot be taken for an option, a range, a path or an expression. It still has to be
//! resolved by git, which knows what exists.

use std::fmt;

/// No branch needs more bytes, and file systems allow 255 for a part of it.
const MAX_LENGTH: usize = 200;

/// A name that git would refuse, or take for something else.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("invalid {what} `{}`: {reason}", name.escape_debug())]
pub struct NameError {
    what: &'static str,
    name: String,
    reason: &'static str,
}

/// The name of a branch, without `refs/heads/`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct BranchName(String);

/// What a person names as a revision: a branch, also a remote one, a tag, a full reference, `HEAD`, or the id of a commit.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct RevisionName(String);

impl BranchName {
    /// Takes a name, if it can be that of a branch.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn new(name: &str) -> Result<Self, NameError> {
        let wrong = |reason| NameError { what: "branch name", name: name.to_owned(), reason };
        if name == "HEAD" || name.starts_with("refs/") {
            return Err(wrong("choose another name"));
        }
        check(name).map_err(wrong)?;
        Ok(Self(name.to_owned()))
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The full name of the reference, which git takes for nothing else.
    pub fn reference(&self) -> String {
        format!("refs/heads/{}", self.0)
    }
}

impl RevisionName {
    /// Takes a name, if it names one revision and nothing else.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn new(name: &str) -> Result<Self, NameError> {
        check(name).map_err(|reason| NameError { what: "revision", name: name.to_owned(), reason })?;
        Ok(Self(name.to_owned()))
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for BranchName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for RevisionName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The rules of `git check-ref-format --branch`, without its expressions.
fn check(name: &str) -> Result<(), &'static str> {
    if name.is_empty() || name.len() > MAX_LENGTH {
        return Err("it must have 1 to 200 bytes");
    }
    if name.starts_with('-') {
        return Err("it must not begin with `-`");
    }
    if name.chars().any(|letter| letter.is_control() || " ~^:?*[\\".contains(letter)) {
        return Err("it must not contain control characters, spaces or any of ~^:?*[\\");
    }
    if name == "@" || name.contains("@{") || name.contains("..") {
        return Err("it must not be an expression");
    }
    let is_part = |part: &str| {
        !part.is_empty() && !part.starts_with('.') && !part.ends_with('.') && !part.ends_with(".lock")
    };
    if !name.split('/').all(is_part) {
        return Err("no part of it may be empty, begin or end with a dot, or end with `.lock`");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn common_names_are_accepted() {
        for name in ["main", "feature/login-2", "weir/a_b", "v1.2.3", "ünïcode", "a@b", "fix#12"] {
            assert_eq!(BranchName::new(name).map(|name| name.to_string()), Ok(name.to_owned()));
        }
        for name in ["origin/main", "HEAD", "refs/tags/v1", "0123abcd"] {
            assert!(RevisionName::new(name).is_ok(), "{name}");
        }
    }

    #[test]
    fn no_name_is_an_option_a_range_a_path_or_an_expression() {
        for name in [
            "",
            "-",
            "--upload-pack=x",
            "-x",
            "a b",
            "a..b",
            "a...b",
            "a~1",
            "a^",
            "^a",
            "a:b",
            ":/text",
            "a?",
            "a*",
            "a[b",
            "a\\b",
            "@",
            "@{-1}",
            "a@{1}",
            "/a",
            "a/",
            "a//b",
            ".a",
            "a/.b",
            "a.lock",
            "a.lock/b",
            "a.",
            "a\nb",
            "a\0b",
            "a\u{7f}",
            "../x",
        ] {
            assert!(BranchName::new(name).is_err(), "{name:?}");
            assert!(RevisionName::new(name).is_err(), "{name:?}");
        }
        for name in ["HEAD", "refs/heads/x"] {
            assert!(BranchName::new(name).is_err(), "{name:?}");
        }
        assert!(BranchName::new(&"a".repeat(201)).is_err());
    }

    proptest::proptest! {
        /// Whatever is accepted, git accepts as well.
        #[test]
        fn git_agrees(name in "[-a.@{}~^:/ \\\\*é]{1,8}") {
            if BranchName::new(&name).is_ok() {
                let folder = tempfile::tempdir().unwrap();
                weir_testkit::git(folder.path(), &["check-ref-format", &format!("refs/heads/{name}")]);
            }
        }
    }
}
