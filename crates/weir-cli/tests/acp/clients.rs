//! Clients that others wrote. `scripts/setup-acp-clients.sh` installs them; `WEIR_SKIP_ACP_CLIENTS=1` does without.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::common::{Place, Running};
use crate::support::Served;

/// The folder with the clients; `None` if they should be skipped.
fn clients() -> Option<PathBuf> {
    if std::env::var_os("WEIR_SKIP_ACP_CLIENTS").is_some_and(|value| value == "1") {
        let _ = writeln!(std::io::stderr(), "NOT TESTED: clients of the Agent Client Protocol");
        return None;
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/setup-acp-clients.sh");
    let mut command = command(Path::new("bash"));
    command.args([script.as_os_str(), "--print-path".as_ref()]);
    let done = Running::start(command).finish().expect(0);
    Some(PathBuf::from(done.text().trim()))
}

#[expect(clippy::disallowed_methods, reason = "a client is a program of its own; every caller waits for it")]
fn command(program: &Path) -> Command {
    let mut command = Command::new(program);
    command.stdin(Stdio::null());
    command
}

/// Runs a client in the place of a test.
fn client(place: &Place, clients: &Path, program: &Path, args: &[&str], more: &[(&str, &str)]) -> Value {
    let mut command = command(program);
    let path = format!("{}:{}", clients.join("bin").display(), std::env::var("PATH").unwrap());
    command.args(args).current_dir(place.workspace()).env_clear().envs(place.environment().iter().cloned());
    command.env("PATH", path).env("CLIENTS", clients).env("PYTHONPATH", clients.join("python"));
    command.env("WEIR", env!("CARGO_BIN_EXE_weir")).env("DATA", place.path("data"));
    command.env("PYTHONDONTWRITEBYTECODE", "1").envs(more.iter().copied());
    let done = Running::start(command).finish().expect(0);
    done.json_lines().pop().unwrap()
}

fn check(result: &Value) {
    assert_eq!(result["agent"], "weir", "{result}");
    assert_eq!(result["wrote"], json!(["end_turn", "I write. Done."]), "{result}");
    assert_eq!(result["asked"], json!(["edit"]), "{result}");
    assert_eq!(result["cancelled"], "cancelled", "{result}");
    assert_eq!(result["again"], json!(["end_turn", "Again."]), "{result}");
    assert_eq!(result["listed"], true, "{result}");
    assert_eq!(result["unknown"], -32002, "{result}");
    assert!(result["updates"]["tool_call"].as_u64().unwrap() >= 1, "{result}");
}

fn source(name: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/acp").join(name).display().to_string()
}

#[test]
fn the_client_for_typescript() {
    let Some(clients) = clients() else { return };
    let place = Place::new();
    let node = clients.join("bin/node");
    check(&client(&place, &clients, &node, &[&source("client.mjs")], &[]));
    assert!(place.workspace().join("from-node.txt").exists());
    place.wait_until_empty();
}

#[test]
fn the_client_for_typescript_over_http() {
    let Some(clients) = clients() else { return };
    let mut served = Served::start();
    let (_, token) = served.token("editor", "driver");
    let server = format!("http://{}{}", served.client.address, served.client.base);
    let more = [("SERVER", server.as_str()), ("TOKEN", token.as_str())];
    let node = clients.join("bin/node");
    check(&client(&served.place, &clients, &node, &[&source("client.mjs")], &more));
    served.stop();
}

#[test]
fn the_client_for_python() {
    let Some(clients) = clients() else { return };
    let place = Place::new();
    let result = client(&place, &clients, Path::new("python3"), &[&source("client.py")], &[]);
    check(&result);
    assert!(result["loaded"].as_str().unwrap().ends_with("Again."), "{result}");
    place.wait_until_empty();
}

#[test]
fn the_client_for_terminals_acpx() {
    let Some(clients) = clients() else { return };
    let place = Place::new();
    let weir = env!("CARGO_BIN_EXE_weir");
    let agent = format!(
        "{weir} acp --data-dir {} --root {}",
        place.path("data").display(),
        place.workspace().display()
    );
    let file = place.workspace().join("from-acpx.txt");
    let write = json!([
        {"text": "I write.", "tool": "Write", "input": {"file_path": file, "content": "x\n"}},
        {"text": "All done."},
    ]);
    let prompt = format!("@@{write}");
    let run = |policy: &str| {
        let mut command = command(&clients.join("bin/node"));
        command.arg(clients.join("node/node_modules/acpx/dist/cli.js"));
        command.args(["--agent", &agent, policy, "--format", "quiet", "exec", &prompt]);
        command.current_dir(place.workspace()).env_clear().envs(place.environment().iter().cloned());
        Running::start(command).finish()
    };
    let denied = run("--deny-all");
    assert!(!file.exists(), "{denied:?}");
    let done = run("--approve-all").expect(0);
    assert!(done.text().contains("All done."), "{done:?}");
    assert!(file.exists());
    place.wait_until_empty();
}
