//! Checks commands that cannot run in a test: everything they name has to exist.

use crate::blocks::{path, text};
use crate::common::Place;

/// Fails unless the targets, files, packages and options that a command names exist. `at` is its location and the reason
/// why it cannot run.
pub(crate) fn check(place: &Place, at: &str, command: &str) {
    let words = words(command);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let start = words.iter().position(|word| !word.contains('=')).unwrap();
    let (variables, words) = words.split_at(start);
    for variable in variables {
        let name = variable.split('=').next().unwrap();
        assert!(text("Makefile").contains(name), "{at}: the Makefile does not use {name}");
    }
    match words[0] {
        "make" => make(at, &words[1..]),
        "cargo" => cargo(at, &words[1..]),
        "weir" => options(place, at, &words[1..]),
        "docker" => {
            let file = words.iter().skip_while(|word| **word != "-f").nth(1).unwrap();
            assert!(path(file).is_file(), "{at}: {file} not found");
        }
        program if program.starts_with("scripts/") => script(at, words),
        "env" => {
            let inner = words.iter().find_map(|word| word.strip_prefix("$(scripts/")).unwrap();
            let inner = format!("scripts/{}", inner.trim_end_matches(')'));
            script(at, &inner.split_whitespace().collect::<Vec<_>>());
        }
        // Built by the command before it.
        program if program.starts_with("target/debug/") => {
            let name = program.rsplit('/').next().unwrap();
            assert!(is_program("weir-testkit", name), "{at}: no program {name} found");
        }
        other => panic!("{at}: no check defined for {other}"),
    }
}

/// The words of a command, without quotes.
fn words(command: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut quote = None;
    for letter in command.chars() {
        match quote {
            None if letter.is_whitespace() => words.push(String::new()),
            None if letter == '"' || letter == '\'' => quote = Some(letter),
            Some(open) if open == letter => quote = None,
            _ => words.last_mut().unwrap().push(letter),
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

fn make(at: &str, words: &[&str]) {
    let makefile = text("Makefile");
    for word in words {
        match word.split_once('=') {
            Some((variable, _)) => {
                let used = makefile.contains(&format!("$({variable}"))
                    || makefile.contains(&format!("{variable} ?="));
                assert!(used, "{at}: the Makefile does not use {variable}");
            }
            None => {
                let rule = format!("{word}:");
                assert!(makefile.lines().any(|line| line.starts_with(&rule)), "{at}: no target {word}");
            }
        }
    }
}

fn script(at: &str, words: &[&str]) {
    use std::os::unix::fs::PermissionsExt as _;

    let file = words[0];
    let metadata = std::fs::metadata(path(file)).unwrap_or_else(|error| panic!("{at}: {file}: {error}"));
    assert!(metadata.permissions().mode() & 0o111 != 0, "{at}: {file} cannot be run");
    let source = text(file);
    for option in words.iter().filter(|word| word.starts_with("--")) {
        assert!(source.contains(option), "{at}: {file} does not know {option}");
    }
}

fn cargo(at: &str, words: &[&str]) {
    let after = |flag: &str| words.iter().skip_while(|word| **word != flag).nth(1).copied();
    let Some(package) = after("-p") else {
        assert!(["build", "test", "run", "insta"].contains(&words[0]), "{at}: no check defined for it");
        return;
    };
    let folder = ["crates", ""].map(|folder| path(folder).join(package));
    let folder = folder.iter().find(|folder| folder.is_dir());
    let folder = folder.unwrap_or_else(|| panic!("{at}: no package {package} found"));
    if let Some(program) = after("--bin") {
        assert!(is_program(package, program), "{at}: no program {program} found");
    }
    if let Some(test) = after("--test") {
        let tests = folder.join("tests");
        assert!(
            tests.join(test).is_dir() || tests.join(format!("{test}.rs")).is_file(),
            "{at}: no test {test}"
        );
    }
}

fn is_program(package: &str, name: &str) -> bool {
    let source = path("crates").join(package);
    let listed =
        std::fs::read_to_string(source.join("Cargo.toml")).unwrap().contains(&format!("name = \"{name}\""));
    listed || source.join(format!("src/bin/{name}.rs")).is_file()
}

/// Checks that the help of `weir` lists the options.
fn options(place: &Place, at: &str, words: &[&str]) {
    let ours: Vec<&str> = words.iter().copied().take_while(|word| *word != "--").collect();
    let subcommands = ours.iter().take_while(|word| word.chars().all(|letter| letter.is_ascii_lowercase()));
    let mut arguments: Vec<&str> = subcommands.copied().collect();
    // The last words may be arguments: use the longest command that has a help text.
    let help = loop {
        let done = place.weir(&[arguments.as_slice(), &["--help"]].concat());
        if done.code == Some(0) {
            break done.text().to_owned();
        }
        assert!(arguments.pop().is_some(), "{at}: unknown weir command");
    };
    assert!(!arguments.is_empty(), "{at}: unknown weir command");
    for option in ours.iter().filter(|word| word.starts_with("--")) {
        let name = option.split('=').next().unwrap();
        let is_known = help.split([' ', '\n', ',', '[']).any(|word| word == name);
        assert!(is_known, "{at}: `weir {}` has no option {name}", arguments.join(" "));
    }
}
