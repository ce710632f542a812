//! What around the CLI may be in the way.

use std::path::Path;

use weir_process::{Files as _, RealFiles};

use super::report::Report;

pub(super) fn check(program: Option<&Path>, report: &mut Report) {
    if let Some(program) = program {
        interpreter(program, report);
    }
    if cfg!(windows) && weir_process::git_bash(&|name| std::env::var_os(name), &RealFiles).is_none() {
        let advice = "install Git for Windows, or set CLAUDE_CODE_GIT_BASH_PATH to its bash.exe";
        report.fail("git bash", "the CLI needs Git Bash on Windows, and there is none", advice);
    }
    if std::env::var_os("CLAUDECODE").is_some() {
        let message = "Weir runs inside another Claude session (CLAUDECODE is set)";
        report.warn("nested", message, "it works: the CLI that Weir starts does not get that variable");
    }
}

/// A CLI that is a script needs what its first line names.
fn interpreter(program: &Path, report: &mut Report) {
    let Some(name) = interpreter_of(program) else { return };
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found =
        std::env::split_paths(&path).map(|folder| folder.join(&name)).find(|file| RealFiles.is_program(file));
    match found {
        Some(found) => {
            report.good("runs with", found.display().to_string());
        }
        None => {
            let message = format!("the CLI is a script for {name}, which is not in PATH");
            report.fail("runs with", message, format!("install {name}, or add its folder to PATH"));
        }
    }
}

/// The program that `#!/usr/bin/env NAME` looks for.
fn interpreter_of(program: &Path) -> Option<String> {
    let mut beginning = [0; 256];
    let count =
        std::fs::File::open(program).and_then(|mut file| std::io::Read::read(&mut file, &mut beginning));
    let text = String::from_utf8_lossy(beginning.get(..count.ok()?)?).into_owned();
    let words = text.lines().next()?.strip_prefix("#!")?.split_whitespace();
    let mut words = words.skip_while(|word| !word.ends_with("/env")).skip(1);
    words.find(|word| !word.starts_with('-') && !word.contains('=')).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interpreter_of_a_script() {
        let folder = tempfile::tempdir().unwrap();
        let check = |text: &[u8]| {
            let file = folder.path().join("script");
            std::fs::write(&file, text).unwrap();
            interpreter_of(&file)
        };
        assert_eq!(check(b"#!/usr/bin/env node\nx"), Some("node".to_owned()));
        assert_eq!(check(b"#!/usr/bin/env -S node --no-warnings\nx"), Some("node".to_owned()));
        assert_eq!(check(b"#!/bin/sh\nx"), None);
        assert_eq!(check(b"\x7fELF\xff\xff"), None);
        assert_eq!(check(b""), None);
    }
}
