//! Detects the kind of project and the checks that it has, for `weir loop init`. Looks at file names, runs nothing.

use std::path::Path;

use crate::config::{Gate, Time};

/// Proposes gates for a workspace.
pub fn gates(workspace: &Path) -> Vec<Gate> {
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
pub fn config_text(gates: &[Gate]) -> String {
    let mut text = "\
# The unattended loop: `weir loop run`. `weir loop config check` checks this file, `weir loop config schema` prints
# all keys.
[loop]
tasks = \"TASKS.md\"

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
    .to_owned();
    if gates.is_empty() {
        text.push_str(
            "\n# No checks were found. Without any, only the model's word says that a task is done. For example:\n\
             # [[loop.gates]]\n# name = \"test\"\n# command = [\"make\", \"test\"]\n",
        );
    }
    for gate in gates {
        let quoted =
            |words: &[String]| words.iter().map(|word| format!("{word:?}")).collect::<Vec<_>>().join(", ");
        text.push_str(&format!(
            "\n[[loop.gates]]\nname = {:?}\ncommand = [{}]\ntimeout = \"{}\"\n",
            gate.name,
            quoted(&gate.command),
            gate.timeout
        ));
        if !gate.files.is_empty() {
            let files: Vec<String> =
                gate.files.iter().map(|file| file.to_string_lossy().into_owned()).collect();
            text.push_str(&format!("files = [{}]\n", quoted(&files)));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(files: &[(&str, &str)]) -> Vec<String> {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            std::fs::write(folder.path().join(name), text).unwrap();
        }
        let gates = gates(folder.path());
        let config = crate::config::parse(&config_text(&gates)).unwrap();
        assert_eq!(config.gates, gates, "the proposed gates can be parsed");
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
