//! Generates names for tasks without one.

use std::collections::BTreeSet;

use super::TaskId;

/// Length at which a generated name is cut, in bytes.
const MAX_NAME_LENGTH: usize = 48;

/// Generates names that are not used yet.
#[derive(Debug, Default)]
pub(super) struct Namer {
    used: BTreeSet<String>,
}

impl Namer {
    /// Registers a given name. Duplicates are reported later.
    pub(super) fn given(&mut self, name: &str) -> TaskId {
        self.used.insert(name.to_owned());
        TaskId::new(name)
    }

    /// Generates a name from a title.
    pub(super) fn make_from(&mut self, title: &str) -> TaskId {
        let slug = slug(title);
        let mut name = slug.clone();
        let mut number = 2;
        while !self.used.insert(name.clone()) {
            name = format!("{slug}-{number}");
            number += 1;
        }
        TaskId::new(name)
    }
}

/// `Add a --json flag` becomes `add-a-json-flag`.
pub(super) fn slug(title: &str) -> String {
    let mut slug = String::new();
    for letter in title.chars() {
        if letter.is_alphanumeric() {
            slug.extend(letter.to_lowercase());
        } else if !slug.is_empty() && !slug.ends_with('-') {
            slug.push('-');
        }
        if slug.len() >= MAX_NAME_LENGTH {
            break;
        }
    }
    let slug = slug.trim_matches('-');
    if slug.is_empty() { "task".to_owned() } else { slug.to_owned() }
}

/// Whether a name can be part of file and branch names.
pub(super) fn is_plain(name: &str) -> bool {
    let is_plain = |letter: char| letter.is_alphanumeric() || matches!(letter, '-' | '_' | '.');
    !name.is_empty()
        && name.len() <= 80
        && !name.starts_with(['-', '.'])
        && !name.contains("..")
        && name.chars().all(is_plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_short_plain_and_not_used_twice() {
        let mut namer = Namer::default();
        assert_eq!(namer.make_from("Add a `--json` flag!").as_str(), "add-a-json-flag");
        assert_eq!(namer.make_from("Add a --json flag").as_str(), "add-a-json-flag-2");
        assert_eq!(namer.make_from("…").as_str(), "task");
        assert!(namer.make_from(&"long ".repeat(40)).as_str().len() <= 50);
        assert!(is_plain("US-001") && !is_plain("../x") && !is_plain("a b") && !is_plain("-x"));
    }
}
