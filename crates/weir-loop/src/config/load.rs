//! Finds and reads the configuration file.

use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::Config;

/// The names of the file, in the order in which they are tried.
const NAMES: [&str; 2] = ["weir.toml", ".ralph/config.toml"];

/// A configuration and where it came from.
#[derive(Debug, Clone, PartialEq)]
pub struct ConfigFile {
    /// The configuration.
    pub config: Config,
    /// The file, relative to the workspace if it is inside; `None` for the defaults.
    pub path: Option<PathBuf>,
}

/// Why a configuration cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// It cannot be read.
    #[error("cannot read the configuration {}: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The underlying error.
        #[source]
        source: std::io::Error,
    },
    /// It is invalid.
    #[error("{} is invalid: {message}\n`weir loop config schema` prints the accepted keys", path.display())]
    Wrong {
        /// The file.
        path: PathBuf,
        /// What is wrong, and where.
        message: String,
    },
}

/// The whole file. Other tables belong to other commands.
#[derive(Debug, Deserialize)]
struct File {
    #[serde(default, rename = "loop")]
    config: Config,
}

/// Parses the text of a file.
pub fn parse(text: &str) -> Result<Config, String> {
    let file = toml::from_str::<File>(text).map_err(|error| error.to_string().trim_end().to_owned())?;
    let mut config = file.config;
    if config.source.is_some() {
        if config.tasks != Config::default().tasks {
            return Err(
                "`tasks` and `source` exclude each other: the tasks are in a list, or a program prints them"
                    .to_owned(),
            );
        }
        config.tasks = config.folder.join("tasks.json");
    }
    Ok(config)
}

/// The file of a workspace, if it has one.
pub fn find(workspace: &Path) -> Option<PathBuf> {
    NAMES.iter().map(PathBuf::from).find(|name| workspace.join(name).is_file())
}

/// Reads the configuration of a workspace: the given file, or the one that is found, or the defaults.
pub fn load(workspace: &Path, given: Option<&Path>) -> Result<ConfigFile, ConfigError> {
    let path = given.map(Path::to_owned).or_else(|| find(workspace));
    let Some(path) = path else {
        return Ok(ConfigFile { config: Config::default(), path: None });
    };
    let whole = workspace.join(&path);
    let text = std::fs::read_to_string(&whole)
        .map_err(|source| ConfigError::Unreadable { path: path.clone(), source })?;
    let config = parse(&text).map_err(|message| ConfigError::Wrong { path: path.clone(), message })?;
    let path = whole.strip_prefix(workspace).map(Path::to_owned).unwrap_or(path);
    Ok(ConfigFile { config, path: Some(path) })
}

/// The JSON schema of the file, for editors.
pub fn schema() -> serde_json::Value {
    #[derive(schemars::JsonSchema)]
    #[expect(dead_code, reason = "only its schema is used")]
    struct File {
        /// The unattended loop.
        #[schemars(rename = "loop", default)]
        config: Config,
    }
    schemars::schema_for!(File).to_value()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{AlreadyBroken, Time};

    #[test]
    fn an_empty_file_has_all_limits() {
        let config = parse("").unwrap();
        assert_eq!(config, Config::default());
        assert_eq!(config.limits.iterations, 50);
        assert_eq!(config.coder.spec.allowed_tools, ["Read", "Edit", "Write", "Bash", "Glob", "Grep"]);
        assert_eq!(config.planner.spec.allowed_tools, ["Read", "Bash"]);
    }

    #[test]
    fn gates_and_limits_are_read() {
        let text = r#"
            [serve]
            something = "else"
            [loop]
            already_broken = "accept"
            [loop.limits]
            wall_time = "1h30m"
            [[loop.gates]]
            name = "test"
            command = ["cargo", "test"]
            files = ["tests"]
        "#;
        let config = parse(text).unwrap();
        assert_eq!(config.already_broken, AlreadyBroken::Accept);
        assert_eq!(config.limits.wall_time, Time::minutes(90));
        assert_eq!(config.gates[0].timeout, Time::minutes(15));
        assert_eq!(
            config.protected_paths(Some(Path::new("weir.toml"))),
            [Path::new("tests"), Path::new("weir.toml")]
        );
    }

    #[test]
    fn a_gate_script_in_the_workspace_is_protected() {
        let config = parse("[[loop.gates]]\nname = \"x\"\ncommand = [\"./scripts/check.sh\"]").unwrap();
        assert_eq!(config.protected_paths(None), [Path::new("scripts/check.sh")]);
    }

    #[test]
    fn an_unknown_key_is_an_error_with_its_location() {
        let error = parse("[loop]\niteration = 5").unwrap_err();
        assert!(error.contains("iteration") && error.contains("line 2"), "{error}");
        let error = parse("[loop.limits]\nwall_time = 5").unwrap_err();
        assert!(error.contains("wall_time"), "{error}");
    }

    #[test]
    fn the_schema_knows_every_key() {
        let schema = schema().to_string();
        for key in [
            "\"loop\"",
            "cost_usd",
            "same_failure",
            "longest_wait",
            "already_broken",
            "webhook",
            "append_system_prompt",
        ] {
            assert!(schema.contains(key), "{key}");
        }
    }
}
