//! Checks the environment of the CLI.

use std::ffi::OsStr;

use weir_process::{Environment, Found, RealFiles, find_in_path, interpreter_of};

use super::report::Report;

pub(super) fn check(program: Option<&Found>, report: &mut Report) {
    if let Some(program) = program {
        interpreter(program, report);
    }
    if cfg!(windows) && weir_process::git_bash(&|name| std::env::var_os(name), &RealFiles).is_none() {
        let advice = "install Git for Windows, or set CLAUDE_CODE_GIT_BASH_PATH to its bash.exe";
        report.fail("git bash", "the CLI needs Git Bash on Windows, and none was found", advice);
    }
    if std::env::var_os("CLAUDECODE").is_some() {
        let message = "Weir runs inside another Claude session (CLAUDECODE is set)";
        report.warn("nested", message, "this works: Weir does not pass the variable on to the CLI");
    }
}

/// Checks that the interpreter of a CLI script exists.
fn interpreter(found: &Found, report: &mut Report) {
    let Some(name) = interpreter_of(&found.path) else { return };
    let environment = found.environment(&Environment::inherit()).resolve(std::env::vars_os());
    let path = environment.get(OsStr::new("PATH")).cloned().unwrap_or_default();
    match find_in_path(&name, &path, &RealFiles) {
        Some(found) => {
            report.good("runs with", found.display().to_string());
        }
        None => {
            let message = format!("the CLI is a script for {name}, which is not in PATH");
            report.fail("runs with", message, format!("install {name}, or add its folder to PATH"));
        }
    }
}
