//! The files that a gate's command names, and the files that those run or include: they define the gate as well. Pure.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

/// Words before the name of a file that is run or included.
const RUNS: [&str; 15] = [
    "source", ".", "sh", "bash", "zsh", "dash", "exec", "python", "python3", "node", "ruby", "perl",
    "include", "-include", "env",
];

/// The files of a project that a command names, and all that those run or include. `read` gives the text of a file of the
/// project, if there is one.
pub(super) fn named_by(command: &[String], read: &dyn Fn(&Path) -> Option<String>) -> BTreeSet<PathBuf> {
    let mut found = BTreeSet::new();
    let mut open: Vec<(PathBuf, String)> = Vec::new();
    let add = |path: PathBuf, found: &mut BTreeSet<PathBuf>| {
        let text = read(&path)?;
        found.insert(path.clone()).then_some((path, text))
    };
    for word in command.iter().flat_map(|word| words(word)) {
        // Also as the value of a flag: `--config=ci/check.toml`.
        let value = word.split_once('=').map(|(_, value)| value);
        for name in [Some(word), value].into_iter().flatten() {
            open.extend(plain(Path::new(name)).and_then(|path| add(path, &mut found)));
        }
    }
    while let Some((path, text)) = open.pop() {
        let folder = path.parent().unwrap_or(Path::new("")).to_owned();
        for name in run_by(&text) {
            for base in [Path::new(""), &folder] {
                open.extend(plain(&base.join(&name)).and_then(|path| add(path, &mut found)));
            }
        }
    }
    found
}

/// The words of a text, without quotes and the signs of a shell.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|letter: char| letter.is_whitespace() || "\"'`;|&()<>,".contains(letter))
        .filter(|word| !word.is_empty())
}

/// The names that a script runs or includes.
fn run_by(text: &str) -> Vec<String> {
    let mut names = Vec::new();
    for line in text.lines() {
        let line = line.trim_start();
        let line = line.strip_prefix("#!").map_or_else(|| line.split(" #").next().unwrap_or(line), |_| "");
        if line.starts_with('#') {
            continue;
        }
        let mut before = "";
        for word in words(line) {
            let name = word
                .trim_start_matches("$(dirname $0)/")
                .trim_start_matches("${0%/*}/")
                .trim_start_matches("$here/")
                .trim_start_matches("$DIR/");
            let is_run = RUNS.contains(&before) || name.starts_with("./") || name.starts_with("../");
            if is_run && name.contains(['/', '.']) || RUNS.contains(&before) {
                names.push(name.to_owned());
            }
            if !word.starts_with('-') {
                before = word;
            }
        }
    }
    names
}

/// The path without `.` and `..`. `None` if it leads outside.
fn plain(path: &Path) -> Option<PathBuf> {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir if plain.pop() => {}
            Component::Normal(name) => plain.push(name),
            _ => return None,
        }
    }
    (!plain.as_os_str().is_empty()).then_some(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_command_names_and_what_that_runs() {
        let read = |path: &Path| {
            let text = match path.to_str()? {
                "ci/check.sh" => {
                    "#!/bin/sh\n# sh src/not-this.sh\n. ./ci/lib.sh\nexec python3 -u tools/run.py --all && ../up.sh\n"
                }
                "ci/lib.sh" => "source more.sh\n",
                "ci/more.sh" | "up.sh" | "tools/run.py" | "conf.toml" => "",
                "src/not-this.sh" => "",
                _ => return None,
            };
            Some(text.to_owned())
        };
        let named = |words: &[&str]| {
            let words: Vec<String> = words.iter().map(ToString::to_string).collect();
            named_by(&words, &read).into_iter().map(|path| path.display().to_string()).collect::<Vec<_>>()
        };
        assert_eq!(
            named(&["sh", "ci/check.sh"]),
            ["ci/check.sh", "ci/lib.sh", "ci/more.sh", "tools/run.py", "up.sh"]
        );
        assert_eq!(named(&["run", "--config=./conf.toml"]), ["conf.toml"]);
        assert_eq!(named(&["sh", "-c", "x; ./up.sh>/dev/null"]), ["up.sh"]);
        assert!(named(&["cat", "/ci/check.sh", "../ci/check.sh"]).is_empty());
    }
}
