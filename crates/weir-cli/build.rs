//! Records the commit and the target of this build for `weir --version`.
#![expect(clippy::disallowed_methods, reason = "a build script runs git before weir-process is built")]

use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=WEIR_COMMIT");
    println!("cargo::rustc-env=WEIR_BUILD_COMMIT={}", commit().unwrap_or_else(|| "unknown".to_owned()));
    println!("cargo::rustc-env=WEIR_BUILD_TARGET={}", std::env::var("TARGET").unwrap_or_default());
}

/// The commit: from `WEIR_COMMIT` for a package, or from the repository. A development build does not record it, because
/// it would have to be rebuilt after each commit.
fn commit() -> Option<String> {
    if let Some(commit) = std::env::var("WEIR_COMMIT").ok().filter(|commit| !commit.is_empty()) {
        return Some(commit);
    }
    if std::env::var("PROFILE").is_ok_and(|profile| profile != "release") {
        return Some("not recorded in a development build".to_owned());
    }
    for file in ["HEAD", "logs/HEAD"] {
        println!("cargo::rerun-if-changed={}", git(&["rev-parse", "--git-path", file])?);
    }
    git(&["rev-parse", "--short=12", "HEAD"])
}

fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?.trim().to_owned();
    (output.status.success() && !text.is_empty()).then_some(text)
}
