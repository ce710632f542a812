//! Detects the kind of project, the checks that it has and what decides about them, for `weir loop init`. Looks at file
//! names, runs nothing.

use std::path::{Path, PathBuf};

use crate::config::{Gate, Setup, Time};
use crate::protection::{Ecosystem, Pattern};

/// Folders in which projects keep their tests.
const TEST_FOLDERS: [&str; 14] = [
    "test",
    "tests",
    "spec",
    "specs",
    "e2e",
    "features",
    "testing",
    "t",
    "__tests__",
    "integration",
    "fixtures",
    "testdata",
    "checks",
    "ci",
];

/// What was found in a project.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Detected {
    /// Its checks.
    pub gates: Vec<Gate>,
    /// Its ecosystems, whose tests, manifests and configuration are protected.
    pub ecosystems: Vec<Ecosystem>,
    /// Folders of tests that are not those of an ecosystem.
    pub protected: Vec<PathBuf>,
    /// Programs that prepare a folder.
    pub setup: Vec<Setup>,
    /// Folders that gates may keep.
    pub caches: Vec<PathBuf>,
}

/// Looks at a workspace.
pub fn detect(workspace: &Path) -> Detected {
    let gates = gates(workspace);
    let has = |name: &str| workspace.join(name).is_file();
    let mut ecosystems: Vec<Ecosystem> =
        gates.iter().filter_map(|gate| Ecosystem::of_command(&gate.command)).collect();
    ecosystems.sort();
    ecosystems.dedup();
    let is_known = |folder: &str| {
        let inside = Path::new(folder).join("x");
        ecosystems.iter().flat_map(|kind| kind.patterns()).any(|text| Pattern::new(text).covers(&inside))
    };
    let has_files = |folder: &str| {
        let entries = std::fs::read_dir(workspace.join(folder)).into_iter().flatten();
        entries.filter_map(Result::ok).any(|entry| entry.path().is_file())
    };
    let protected = TEST_FOLDERS.into_iter().filter(|folder| has_files(folder) && !is_known(folder));
    let protected = protected.map(PathBuf::from).collect();
    let mut caches = Vec::new();
    if has("Cargo.toml") || has("pom.xml") {
        caches.push(PathBuf::from("target"));
    }
    Detected { gates, protected, setup: node_setup(workspace), caches, ecosystems }
}

/// How a Node project gets its packages: exactly those of its lock file.
fn node_setup(workspace: &Path) -> Vec<Setup> {
    let locks: [(&str, &[&str]); 4] = [
        ("package-lock.json", &["npm", "ci"]),
        ("pnpm-lock.yaml", &["pnpm", "install", "--frozen-lockfile"]),
        ("yarn.lock", &["yarn", "install", "--frozen-lockfile"]),
        ("bun.lock", &["bun", "install", "--frozen-lockfile"]),
    ];
    let found = locks.into_iter().find(|(lock, _)| workspace.join(lock).is_file());
    let setup = |(lock, command): (&str, &[&str])| Setup {
        command: command.iter().map(ToString::to_string).collect(),
        timeout: Time::minutes(15),
        files: vec![PathBuf::from(lock), PathBuf::from("package.json")],
        caches: vec![PathBuf::from("node_modules")],
    };
    found.map(setup).into_iter().collect()
}

/// Proposes gates for a workspace.
fn gates(workspace: &Path) -> Vec<Gate> {
    let has = |name: &str| workspace.join(name).is_file();
    let mut found: Vec<(&str, Vec<Gate>)> = Vec::new();
    if has("Cargo.toml") {
        let lint = &["cargo", "clippy", "--all-targets", "--", "-D", "warnings"];
        found.push(("rust", vec![gate("test", &["cargo", "test"], &[]), gate("lint", lint, &[])]));
    }
    if has("package.json") {
        found.push(("node", node(workspace)));
    }
    if has("go.mod") {
        let lint = gate("lint", &["go", "vet", "./..."], &[]);
        found.push(("go", vec![gate("test", &["go", "test", "./..."], &[]), lint]));
    }
    if has("pyproject.toml") || has("setup.py") || has("pytest.ini") || has("tox.ini") {
        found.push(("python", vec![gate("test", &["python3", "-m", "pytest", "-q"], &[])]));
    }
    if has("pom.xml") {
        found.push(("maven", vec![gate("test", &["mvn", "-q", "test"], &[])]));
    }
    if has("build.gradle") || has("build.gradle.kts") {
        let program = if has("gradlew") { "./gradlew" } else { "gradle" };
        found.push(("gradle", vec![gate("test", &[program, "test"], &[])]));
    }
    let mut gates = named(found);
    if gates.is_empty() && has("Makefile") {
        let text = std::fs::read_to_string(workspace.join("Makefile")).unwrap_or_default();
        let targets = ["test", "check", "lint"].into_iter().filter(|target| {
            text.lines()
                .any(|line| line.strip_prefix(target).is_some_and(|rest| rest.trim_start().starts_with(':')))
        });
        gates.extend(targets.map(|target| gate(target, &["make", target], &["Makefile"])));
    }
    gates
}

/// The gates of all languages. With several languages, the names say which, because names must be unique.
fn named(found: Vec<(&str, Vec<Gate>)>) -> Vec<Gate> {
    let is_mixed = found.iter().filter(|(_, gates)| !gates.is_empty()).count() > 1;
    let all = found.into_iter().flat_map(|(kind, gates)| gates.into_iter().map(move |gate| (kind, gate)));
    all.map(|(kind, gate)| match is_mixed {
        true => Gate { name: format!("{kind}-{}", gate.name), ..gate },
        false => gate,
    })
    .collect()
}

fn node(workspace: &Path) -> Vec<Gate> {
    let text = std::fs::read_to_string(workspace.join("package.json")).unwrap_or_default();
    let package: serde_json::Value = serde_json::from_str(&text).unwrap_or_default();
    let manager = [("pnpm-lock.yaml", "pnpm"), ("yarn.lock", "yarn"), ("bun.lockb", "bun")];
    let manager =
        manager.into_iter().find(|(file, _)| workspace.join(file).exists()).map_or("npm", |(_, name)| name);
    let has = |script: &str| {
        package
            .get("scripts")
            .and_then(|scripts| scripts.get(script)?.as_str())
            .is_some_and(|text| !text.contains("no test specified"))
    };
    ["test", "lint", "typecheck"]
        .into_iter()
        .filter(|script| has(script))
        .map(|script| gate(script, &[manager, "run", script], &[]))
        .collect()
}

fn gate(name: &str, command: &[&str], files: &[&str]) -> Gate {
    Gate {
        name: name.to_owned(),
        command: command.iter().map(ToString::to_string).collect(),
        timeout: Time::minutes(15),
        files: files.iter().map(Into::into).collect(),
    }
}

/// The text of a new configuration.
pub fn config_text(detected: &Detected) -> String {
    let Detected { gates, ecosystems, protected, setup, caches } = detected;
    let mut text = "\
# The unattended loop: `weir loop run`. `weir loop config check` checks this file, `weir loop config schema` prints
# all keys.
[loop]
tasks = \"TASKS.md\"
@@
# The first limit that is reached ends the run. Limits cannot be disabled.
[loop.limits]
cost_usd = 10.0
iterations = 50
wall_time = \"8h\"

[loop.task_limits]
attempts = 3
cost_usd = 3.0
wall_time = \"90m\"

[loop.coder]
allowed_tools = [\"Read\", \"Edit\", \"Write\", \"Bash\", \"Glob\", \"Grep\"]
"
    .replace("@@", &protection_text(ecosystems, protected, caches));
    for setup in setup {
        text.push_str(&format!(
            "\n# Runs in each folder before sessions and checks do, and again when one of its files has changed.\n\
             [[loop.setup]]\ncommand = [{}]\nfiles = [{}]\ncaches = [{}]\n",
            quoted(&setup.command),
            quoted_paths(&setup.files),
            quoted_paths(&setup.caches)
        ));
    }
    if gates.is_empty() {
        text.push_str(
            "\n# No checks were found. Without any, only the model's word says that a task is done. For example:\n\
             # [[loop.gates]]\n# name = \"test\"\n# command = [\"make\", \"test\"]\n",
        );
    }
    for gate in gates {
        text.push_str(&format!(
            "\n[[loop.gates]]\nname = {:?}\ncommand = [{}]\ntimeout = \"{}\"\n",
            gate.name,
            quoted(&gate.command),
            gate.timeout
        ));
        if !gate.files.is_empty() {
            text.push_str(&format!("files = [{}]\n", quoted_paths(&gate.files)));
        }
    }
    text
}

fn protection_text(ecosystems: &[Ecosystem], protected: &[PathBuf], caches: &[PathBuf]) -> String {
    let mut text = String::new();
    if !ecosystems.is_empty() {
        let names: Vec<String> = ecosystems.iter().map(|kind| kind.name().to_owned()).collect();
        text.push_str(&format!(
            "\n# Tests, manifests, lock files and the configuration of runners, which no task may change. A task that has to\n\
             # says so in the list: `- touch: tests/new_*.py`.\necosystems = [{}]\n",
            quoted(&names)
        ));
    }
    if !protected.is_empty() {
        text.push_str(&format!(
            "\n# What else says how the work is checked.\nprotected = [{}]\n",
            quoted_paths(protected)
        ));
    }
    if !caches.is_empty() {
        text.push_str(&format!(
            "\n# Checks run in a clean checkout, apart from these. The last check of a run starts without them.\ncaches = [{}]\n",
            quoted_paths(caches)
        ));
    }
    text
}

fn quoted(words: &[String]) -> String {
    words.iter().map(|word| format!("{word:?}")).collect::<Vec<_>>().join(", ")
}

fn quoted_paths(paths: &[PathBuf]) -> String {
    quoted(&paths.iter().map(|path| path.to_string_lossy().into_owned()).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(files: &[(&str, &str)]) -> Vec<String> {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            std::fs::write(folder.path().join(name), text).unwrap();
        }
        let found = detect(folder.path());
        let config = crate::config::parse(&config_text(&found)).unwrap();
        let gates = found.gates;
        assert_eq!(config.gates, gates, "the proposed gates can be parsed");
        assert_eq!((&config.setup, &config.caches), (&found.setup, &found.caches));
        assert_eq!(config.ecosystems.clone().unwrap_or_default(), found.ecosystems);
        assert_eq!(config.protected, found.protected);
        let findings = crate::config::check(&config);
        assert!(findings.iter().all(|finding| finding.level != crate::config::Level::Error), "{findings:?}");
        gates.into_iter().map(|gate| gate.command.join(" ")).collect()
    }

    #[test]
    fn projects_are_recognised() {
        assert_eq!(names(&[("Cargo.toml", "")])[0], "cargo test");
        let package = r#"{"scripts": {"test": "vitest", "build": "x"}}"#;
        assert_eq!(names(&[("package.json", package), ("pnpm-lock.yaml", "")]), ["pnpm run test"]);
        assert_eq!(
            names(&[("package.json", r#"{"scripts": {"test": "echo \"no test specified\""}}"#)]),
            [""; 0]
        );
        assert_eq!(names(&[("Makefile", "build:\n\ntest: build\n\tx\n")]), ["make test"]);
        assert_eq!(names(&[("pyproject.toml", "")]), ["python3 -m pytest -q"]);
        let both = names(&[("Cargo.toml", ""), ("package.json", package)]);
        assert_eq!((both.len(), both[2].as_str()), (3, "npm run test"));
        assert!(names(&[]).is_empty());
    }
}
