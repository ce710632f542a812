//! Programs that a repository's own configuration names for its files, and how they are switched off.
//!
//! `.gitattributes` is part of the work of a session, and so may be the configuration in `.git`. What a person has
//! configured for all repositories, such as Git LFS, is left as it is.

use std::collections::BTreeMap;
use std::path::Path;

use weir_process::Environment;

use crate::command::plain_command;
use crate::error::{GitError, failure};

/// A setting, with the value that takes precedence.
pub(crate) type Override = (String, String);

/// The names that git runs: filters, merge drivers, and the programs of diffs.
const PATTERN: &str = r"^(filter|merge|diff)\..*\.(clean|smudge|process|required|driver|textconv|command)$";

/// What has to be set so that nothing of the repository's own configuration is run.
pub(crate) async fn overrides(folder: &Path, state: Option<&Path>) -> Result<Vec<Override>, GitError> {
    let args = ["config", "-z", "--show-scope", "--includes", "--get-regexp", PATTERN];
    let done = plain_command(folder, state, &args, b"").run().await?;
    match done.exit.code {
        Some(0) => Ok(parse(&done.stdout.text())),
        // There is none.
        Some(1) if !done.timed_out => Ok(Vec::new()),
        _ => Err(failure(folder, &args, &done)),
    }
}

/// Settings and scopes as git lists them, in the order of precedence, lowest first.
fn parse(text: &str) -> Vec<Override> {
    let mut all: BTreeMap<String, (bool, String)> = BTreeMap::new();
    let mut parts = text.split('\0');
    while let (Some(scope), Some(setting)) = (parts.next(), parts.next()) {
        let (name, value) = setting.split_once('\n').unwrap_or((setting, ""));
        let entry = all.entry(name.to_owned()).or_insert_with(|| (false, harmless(name).to_owned()));
        if matches!(scope, "system" | "global") {
            value.clone_into(&mut entry.1);
        } else {
            entry.0 = true;
        }
    }
    all.into_iter().filter(|(_, (is_own, _))| *is_own).map(|(name, (_, value))| (name, value)).collect()
}

/// The value with which git runs nothing.
fn harmless(name: &str) -> &'static str {
    match name.rsplit('.').next() {
        Some("required") => "false",
        // A driver that fails leaves a conflict, which a person resolves.
        Some("driver") => "false",
        _ => "",
    }
}

/// Adds the settings to the environment of a run, where they precede every file.
pub(crate) fn apply(environment: Environment, overrides: &[Override]) -> Environment {
    let mut environment = environment.set("GIT_CONFIG_COUNT", overrides.len().to_string());
    for (number, (name, value)) in overrides.iter().enumerate() {
        environment = environment
            .set(format!("GIT_CONFIG_KEY_{number}"), name)
            .set(format!("GIT_CONFIG_VALUE_{number}"), value);
    }
    environment
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_the_repository_itself_names_is_switched_off() {
        let text = "global\0filter.lfs.clean\ngit-lfs clean\0global\0filter.lfs.required\ntrue\0\
                    local\0filter.lfs.clean\nevil\0local\0filter.A b.smudge\nevil\0worktree\0merge.m.driver\nevil\0\
                    local\0filter.x.required\ntrue\0";
        let expected = [
            ("filter.A b.smudge", ""),
            ("filter.lfs.clean", "git-lfs clean"),
            ("filter.x.required", "false"),
            ("merge.m.driver", "false"),
        ];
        assert_eq!(parse(text), expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
        assert_eq!(parse(""), []);
    }
}
