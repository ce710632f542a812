//! What the service runs, independent of the service manager.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};

/// The program, its arguments and its environment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Definition {
    /// The full path of the `weir` to run.
    pub(super) program: PathBuf,
    /// What follows `weir serve`.
    pub(super) arguments: Vec<String>,
    /// `PATH`. A service does not read the shell's startup files, so without this the CLI, or the Node.js that it runs
    /// on, is often not found.
    pub(super) path: Option<String>,
}

impl Definition {
    /// This program, with these options of `weir serve`.
    ///
    /// Relative folders are refused: the service starts in another folder than this command.
    pub(super) fn of_this_program(serve: &[String]) -> anyhow::Result<Self> {
        let program = std::env::current_exe().context("cannot determine the path of this program")?;
        let mut arguments = vec!["serve".to_owned()];
        arguments.extend(serve.iter().cloned());
        let definition = Self { program, arguments, path: std::env::var("PATH").ok() };
        definition.check()?;
        Ok(definition)
    }

    fn check(&self) -> anyhow::Result<()> {
        let texts = self
            .arguments
            .iter()
            .map(String::as_str)
            .chain(self.path.as_deref())
            .chain(self.program.to_str());
        for text in texts {
            if text.chars().any(char::is_control) {
                bail!("{text:?} contains a control character, which a service definition cannot contain");
            }
        }
        if self.program.to_str().is_none() {
            bail!("the path of this program is not valid UTF-8: {}", self.program.display());
        }
        Ok(())
    }

    /// The program's path as text; checked when this was created.
    pub(super) fn program(&self) -> &str {
        self.program.to_str().unwrap_or_default()
    }
}

/// Makes the paths among the options of `weir serve` absolute, so that they mean the same in the service.
///
/// `is_path` tells for the name and the value of an option whether the value is a path.
pub(super) fn absolute_paths(
    serve: &[String],
    folder: &Path,
    is_path: impl Fn(&str, &str) -> bool,
) -> Vec<String> {
    let absolute = |path: &str| folder.join(path).to_string_lossy().into_owned();
    let mut options = Vec::with_capacity(serve.len());
    // The previous option, if it has no value yet.
    let mut waiting: Option<&str> = None;
    for word in serve {
        let (name, value) = match (word.strip_prefix("--"), waiting.take()) {
            (Some(option), _) => match option.split_once('=') {
                Some((name, value)) => (Some(name), Some(value)),
                None => (Some(option), None),
            },
            (None, Some(name)) => (Some(name), Some(word.as_str())),
            (None, None) => (None, None),
        };
        match (name, value) {
            (Some(name), Some(value)) if is_path(name, value) => {
                let prefix = word.strip_suffix(value).unwrap_or_default();
                options.push(format!("{prefix}{}", absolute(value)));
            }
            (Some(name), None) => {
                waiting = Some(name);
                options.push(word.clone());
            }
            _ => options.push(word.clone()),
        }
    }
    options
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strings(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|&text| text.to_owned()).collect()
    }

    #[test]
    fn paths_are_made_absolute_and_nothing_else_is() {
        let is_path = |name: &str, _: &str| matches!(name, "root" | "data-dir");
        let given = strings(&[
            "--root",
            "src",
            "--listen",
            "127.0.0.1:0",
            "--data-dir=x",
            "--root",
            "/a",
            "--sandbox",
            "--root",
            "b",
        ]);
        let expected = [
            "--root",
            "/home/a/src",
            "--listen",
            "127.0.0.1:0",
            "--data-dir=/home/a/x",
            "--root",
            "/a",
            "--sandbox",
            "--root",
            "/home/a/b",
        ];
        assert_eq!(absolute_paths(&given, Path::new("/home/a"), is_path), strings(&expected));
    }

    #[test]
    fn a_line_break_is_refused() {
        let definition = Definition {
            program: "/usr/bin/weir".into(),
            arguments: strings(&["serve", "--root", "a\nExecStartPre=/bin/sh"]),
            path: None,
        };
        assert!(definition.check().is_err());
    }
}
