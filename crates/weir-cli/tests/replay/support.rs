//! Runs the program and finds the recorded streams.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot run the program or read its fixtures should stop"
)]

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;
use weir_testkit::Capture;

pub(crate) use crate::common::Done;

/// `weir replay` with these arguments, not yet started. Its standard input is empty.
#[expect(clippy::disallowed_methods, reason = "the program itself is under test; every caller waits for it")]
pub(crate) fn command(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_weir"));
    command.arg("replay").args(args);
    command.stdin(Stdio::null());
    command
}

pub(crate) fn replay(args: &[&str]) -> Done {
    let output = command(args).output().unwrap();
    done(output)
}

/// Replays a file, which comes after the other arguments.
pub(crate) fn replay_file(args: &[&str], path: &Path) -> Done {
    let output = command(args).arg(path).output().unwrap();
    done(output)
}

/// Replays bytes from a pipe.
pub(crate) fn replay_input(args: &[&str], input: &[u8]) -> Done {
    let mut command = command(args);
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            // If the program stops reading early, its exit code shows it.
            let _ = stdin.write_all(input);
        });
        done(child.wait_with_output().unwrap())
    })
}

fn done(output: std::process::Output) -> Done {
    Done {
        code: output.status.code(),
        stdout: output.stdout,
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

/// A file with this content, in a folder that is removed when the `TempDir` is dropped.
pub(crate) fn file_of(bytes: &[u8]) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("stream.ndjson");
    std::fs::write(&path, bytes).unwrap();
    (folder, path)
}

pub(crate) fn capture(version: &str, name: &str) -> PathBuf {
    let path = Capture::new(version, name).path;
    assert!(path.is_file(), "{} not found", path.display());
    path
}

/// Every recorded stream, in order, and the demo.
pub(crate) fn captures() -> Vec<PathBuf> {
    let recorded = Capture::all().unwrap().into_iter().map(|capture| capture.path);
    let mut found: Vec<PathBuf> = recorded.chain([demo()]).collect();
    assert!(found.len() > 100, "the recorded streams are missing");
    found.sort();
    found
}

pub(crate) fn demo() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/demo.ndjson")
}

/// Lines of text with a line feed after each.
pub(crate) fn stream(lines: &[&str]) -> Vec<u8> {
    lines.iter().flat_map(|line| [line.as_bytes(), b"\n"].concat()).collect()
}

pub(crate) const INIT: &str = r#"{"type":"system","subtype":"init","cwd":"/workspace/demo","session_id":"s-1","tools":[],"model":"claude-opus-5-5","permissionMode":"default","claude_code_version":"2.1.325"}"#;
pub(crate) const SAYS_HELLO: &str = r#"{"type":"assistant","message":{"id":"msg_1","role":"assistant","content":[{"type":"text","text":"Hello"}]},"parent_tool_use_id":null,"session_id":"s-1"}"#;
pub(crate) const SUCCESS: &str = r#"{"type":"result","subtype":"success","is_error":false,"duration_ms":7,"num_turns":1,"result":"Hello","session_id":"s-1","total_cost_usd":0.5}"#;
