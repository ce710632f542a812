//! The files that no task may change, because they say how work is checked. Pure.
//!
//! They are what the configuration lists, what decides about the checks of the project's ecosystems, and everything that
//! a gate's command names or runs. Patterns hold for files that do not exist yet as well. A task may be allowed to touch
//! some of them, and then the report says so.

mod ecosystem;
mod glob;
mod named;

use std::path::{Path, PathBuf};

pub use ecosystem::Ecosystem;
pub use glob::Pattern;

use crate::config::Config;

/// The files that a task may not change.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Protection {
    patterns: Vec<Pattern>,
    allowed: Vec<Pattern>,
}

impl Protection {
    /// What a configuration protects in a project. `read` gives the text of a file of the project, if there is one.
    pub fn of(config: &Config, config_file: Option<&Path>, read: &dyn Fn(&Path) -> Option<String>) -> Self {
        let listed = config.protected_paths(config_file);
        let mut patterns: Vec<Pattern> =
            listed.iter().map(|path| Pattern::new(&path.to_string_lossy())).collect();
        let named = config
            .gates
            .iter()
            .chain(&config.setup_as_gates())
            .flat_map(|gate| named::named_by(&gate.command, read))
            .collect::<Vec<PathBuf>>();
        patterns.extend(named.iter().map(|path| Pattern::new(&escaped(path))));
        if !config.gates.is_empty() {
            let built_in = config.ecosystems().into_iter().flat_map(|kind| kind.patterns().iter());
            patterns.extend(ecosystem::ALWAYS.iter().chain(built_in).map(|text| Pattern::new(text)));
        }
        Self { patterns, allowed: Vec::new() }
    }

    /// The same, for a task that may touch what these patterns match.
    #[must_use]
    pub fn allowing(&self, touch: &[String]) -> Self {
        let allowed = touch.iter().map(|text| Pattern::new(text)).collect();
        Self { allowed, ..self.clone() }
    }

    /// Whether a file may not be changed.
    pub fn covers(&self, path: &Path) -> bool {
        self.is_listed(path) && !self.is_exempt(path)
    }

    /// Whether a file may be changed only because the task is allowed to.
    pub fn is_allowed(&self, path: &Path) -> bool {
        self.is_listed(path) && self.is_exempt(path)
    }

    /// The pattern that protects a file.
    pub fn why(&self, path: &Path) -> Option<&str> {
        let found =
            self.patterns.iter().find(|pattern| pattern.covers_in_any_case(path)).map(Pattern::as_str);
        found.filter(|_| !self.is_exempt(path))
    }

    fn is_listed(&self, path: &Path) -> bool {
        self.patterns.iter().any(|pattern| pattern.covers_in_any_case(path))
    }

    fn is_exempt(&self, path: &Path) -> bool {
        self.allowed.iter().any(|pattern| pattern.covers(path))
    }
}

/// The patterns of a configuration that match none of the files of a project, each with its key.
pub fn unmatched(config: &Config, files: &[PathBuf]) -> Vec<(String, String)> {
    let listed = config.protected.iter().map(|path| ("loop.protected".to_owned(), path));
    let gates = config.gates.iter().flat_map(|gate| {
        gate.files.iter().map(move |path| (format!("files of the gate {:?}", gate.name), path))
    });
    let is_unmatched = |(_, path): &(String, &PathBuf)| {
        let pattern = Pattern::new(&path.to_string_lossy());
        !files.iter().any(|file| pattern.covers(file))
    };
    let words = |(place, path): (String, &PathBuf)| (place, path.display().to_string());
    listed.chain(gates).filter(is_unmatched).map(words).collect()
}

/// A path as a pattern that matches only it.
fn escaped(path: &Path) -> String {
    let text = path.to_string_lossy();
    text.chars().fold(String::with_capacity(text.len()), |mut text, letter| {
        // A brace cannot be written, and matches as any letter.
        match letter {
            '{' | '}' => text.push('?'),
            '*' | '?' | '[' | '\\' => text.extend(['\\', letter]),
            letter => text.push(letter),
        }
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::parse;

    const GATES: &str = "[loop]\nprotected = [\"docs/*.md\"]\n[[loop.gates]]\nname = \"test\"\ncommand = [\"python3\", \"-m\", \"pytest\"]\nfiles = [\"checks\"]\n";

    fn protection() -> Protection {
        Protection::of(&parse(GATES).unwrap(), Some(Path::new("weir.toml")), &|_| None)
    }

    #[test]
    fn what_decides_about_checks_is_protected_also_if_it_is_new() {
        let covers = |path: &str| protection().covers(Path::new(path));
        for path in [
            "weir.toml",
            "docs/a.md",
            "checks/x",
            "tests/a.py",
            "a/tests/b.py",
            "conftest.py",
            "a/b/conftest.py",
            "pytest.ini",
            "pyproject.toml",
            "pytest.py",
            "pytest/__init__.py",
            "sitecustomize.py",
            "test_a.py",
            "a/b_test.py",
            ".github/workflows/ci.yml",
            "setup.cfg",
            "requirements-dev.txt",
            "evil.pth",
        ] {
            assert!(covers(path), "{path}");
        }
        for path in ["src/a.py", "docs/b/a.md", "contest.py", "attest.py", "README.md", "testing.md"] {
            assert!(!covers(path), "{path}");
        }
    }

    #[test]
    fn a_task_may_be_allowed_to_touch_some_of_it() {
        let protection = protection().allowing(&["tests/new_*.py".to_owned()]);
        assert!(protection.is_allowed(Path::new("tests/new_a.py")));
        assert!(
            !protection.covers(Path::new("tests/new_a.py")) && protection.covers(Path::new("tests/a.py"))
        );
        assert!(!protection.is_allowed(Path::new("src/a.py")));
    }

    #[test]
    fn a_pattern_that_matches_nothing_is_found() {
        let config = parse(GATES).unwrap();
        let found = unmatched(&config, &[PathBuf::from("docs/a.md")]);
        assert_eq!(found, [("files of the gate \"test\"".to_owned(), "checks".to_owned())]);
    }
}
