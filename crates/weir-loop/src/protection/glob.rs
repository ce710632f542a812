//! Patterns of paths: `*` and `?` within a name, `**` over folders, `[a-z]`, `{one,other}`. Pure.

use std::path::{Component, Path};

/// A pattern of paths. It covers the paths that it matches, and everything below them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pattern {
    text: String,
    /// Without braces: any of these.
    choices: Vec<Vec<String>>,
}

impl Pattern {
    /// Reads a pattern. It is relative to the workspace; `./` before it and `/` after it make no difference.
    pub fn new(text: &str) -> Self {
        let parts = |choice: String| {
            let parts = choice.split('/').filter(|part| !part.is_empty() && *part != ".");
            parts.map(str::to_owned).collect()
        };
        Self { text: text.to_owned(), choices: alternatives(text).into_iter().map(parts).collect() }
    }

    /// The pattern as it was written.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Whether it covers a path: matches it, or a folder that it is in.
    pub fn covers(&self, path: &Path) -> bool {
        self.covers_names(path, str::to_owned)
    }

    /// The same, also if the path is written with other capitals: some systems do not tell them apart, so a checkout there
    /// would put one file in the place of the other.
    pub fn covers_in_any_case(&self, path: &Path) -> bool {
        self.covers_names(path, str::to_lowercase)
    }

    fn covers_names(&self, path: &Path, form: fn(&str) -> String) -> bool {
        let names = path.components().filter(|part| *part != Component::CurDir);
        let names: Vec<String> = names.map(|part| form(&part.as_os_str().to_string_lossy())).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        self.choices.iter().any(|parts| {
            let parts: Vec<String> = parts.iter().map(|part| form(part)).collect();
            !parts.is_empty() && covers(&parts.iter().map(String::as_str).collect::<Vec<_>>(), &names)
        })
    }
}

/// Whether parts of a pattern match the first names of a path, and there may be more names below.
fn covers(parts: &[&str], names: &[&str]) -> bool {
    match parts.split_first() {
        None => true,
        // At the end it stands for everything below, which has to exist.
        Some((&"**", [])) => !names.is_empty(),
        Some((&"**", rest)) => {
            (0..=names.len()).any(|skip| covers(rest, names.get(skip..).unwrap_or_default()))
        }
        Some((part, rest)) => {
            names.split_first().is_some_and(|(name, below)| is_match(part, name) && covers(rest, below))
        }
    }
}

/// Whether a part of a pattern matches a name.
fn is_match(part: &str, name: &str) -> bool {
    let (part, name): (Vec<char>, Vec<char>) = (part.chars().collect(), name.chars().collect());
    let (mut at, mut seen) = (0, 0);
    // Where to continue after the last star, if what follows it does not match.
    let mut star: Option<(usize, usize)> = None;
    while seen < name.len() {
        let step = match part.get(at) {
            Some('*') => {
                star = Some((at + 1, seen));
                at += 1;
                continue;
            }
            Some(_) => one(part.get(at..).unwrap_or_default(), name.get(seen).copied()),
            None => None,
        };
        if let Some(length) = step {
            at += length;
            seen += 1;
        } else if let Some((after, from)) = star {
            star = Some((after, from + 1));
            (at, seen) = (after, from + 1);
        } else {
            return false;
        }
    }
    part.get(at..).unwrap_or_default().iter().all(|letter| *letter == '*')
}

/// The length of the beginning of a pattern that matches one letter.
fn one(part: &[char], letter: Option<char>) -> Option<usize> {
    let letter = letter?;
    match part {
        ['?', ..] => Some(1),
        ['[', rest @ ..] => {
            let end = rest.iter().skip(1).position(|close| *close == ']')? + 1;
            let inside = rest.get(..end)?;
            let (is_not, inside) = match inside {
                ['!' | '^', more @ ..] => (true, more),
                more => (false, more),
            };
            (is_in(inside, letter) != is_not).then_some(end + 2)
        }
        ['\\', plain, ..] => (*plain == letter).then_some(2),
        [plain, ..] => (*plain == letter).then_some(1),
        [] => None,
    }
}

fn is_in(set: &[char], letter: char) -> bool {
    match set {
        [from, '-', to, rest @ ..] => (*from..=*to).contains(&letter) || is_in(rest, letter),
        [one, rest @ ..] => *one == letter || is_in(rest, letter),
        [] => false,
    }
}

/// Most alternatives of one pattern: braces multiply.
const MAX_ALTERNATIVES: usize = 256;

/// The pattern without braces, once for each choice.
fn alternatives(text: &str) -> Vec<String> {
    let mut done = Vec::new();
    let mut open = vec![text.to_owned()];
    while let Some(text) = open.pop() {
        let inside = text.find('{').and_then(|from| Some((from, text.get(from..)?.find('}')? + from)));
        match inside {
            Some((from, to)) if open.len() + done.len() < MAX_ALTERNATIVES => {
                let (before, after) =
                    (text.get(..from).unwrap_or_default(), text.get(to + 1..).unwrap_or_default());
                let choices = text.get(from + 1..to).unwrap_or_default().split(',');
                open.extend(choices.map(|choice| format!("{before}{choice}{after}")));
            }
            _ => done.push(text),
        }
    }
    done
}

#[cfg(test)]
mod tests {
    use super::*;

    fn covers(pattern: &str, path: &str) -> bool {
        Pattern::new(pattern).covers(Path::new(path))
    }

    #[test]
    fn a_plain_path_covers_itself_and_everything_below() {
        for pattern in ["tests", "tests/", "./tests", "tests/**", "{tests,other}"] {
            assert!(covers(pattern, "tests/a.rs") && covers(pattern, "tests/a/b.rs"), "{pattern}");
            assert!(!covers(pattern, "tests2/a.rs") && !covers(pattern, "src/tests/a.rs"), "{pattern}");
        }
        assert!(covers("tests", "tests") && !covers("tests/**", "tests") && !covers("", "tests"));
    }

    #[test]
    fn stars_stay_in_a_name_and_double_stars_do_not() {
        assert!(covers("*.toml", "weir.toml") && !covers("*.toml", "a/weir.toml"));
        assert!(covers("**/*.toml", "weir.toml") && covers("**/*.toml", "a/b/weir.toml"));
        assert!(
            covers("**/tests", "a/tests/b/c") && covers("a/**/z", "a/z") && covers("a/**/z", "a/b/c/z/q")
        );
        assert!(covers("src/*.test.?s", "src/a.b.test.ts") && !covers("src/*.test.?s", "src/a.test.tsx"));
        assert!(covers("a*b*c", "aXbYbZc") && !covers("a*b*c", "aXbYbZ"));
    }

    #[test]
    fn other_capitals_are_the_same_file_on_some_systems() {
        let pattern = Pattern::new("**/{tests,Makefile}");
        let covers = |path: &str| pattern.covers_in_any_case(Path::new(path));
        assert!(covers("Tests/a.sh") && covers("a/TESTS/b") && covers("makefile") && covers("MAKEFILE"));
        assert!(!covers("tests2/a") && !pattern.covers(Path::new("Tests/a.sh")));
    }

    #[test]
    fn sets_and_choices() {
        assert!(
            covers("[a-c]x", "bx") && !covers("[!a-c]x", "bx") && covers("[]]", "]") && covers(r"\*", "*")
        );
        assert!(!covers(r"\*", "a") && !covers("[", "a"));
        assert!(covers("{a,b}.{js,ts}", "b.js") && !covers("{a,b}.{js,ts}", "b.rs"));
        assert!(!covers(&"{a,b}".repeat(40), "x"), "does not grow without bound");
    }
}
