//! Options that reach the CLI, the logs and the locks.

use std::path::Path;

use crate::common::{IS_SLOW, Place, Running, SAYS_HELLO, script};

fn shell(command: &str) -> String {
    script(&format!(r#"{{"tool":"Bash","input":{{"command":"{command}"}}}},{{"text":"Done"}}"#))
}

/// The contents of all files of a folder.
#[expect(clippy::unwrap_used, reason = "a test without its files should stop")]
fn contents(folder: &Path) -> String {
    let files = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
    files.map(|file| String::from_utf8_lossy(&std::fs::read(file).unwrap()).into_owned()).collect()
}

#[test]
fn variables_reach_the_cli_and_secrets_are_masked_wherever_we_write() {
    let place = Place::new().set("MY_PLAIN_NAME", "correct-horse");
    let logs = place.path("logs");
    let args = [
        "run",
        "--allowed-tools",
        "Bash",
        "--env",
        "MY_TOKEN=hunter22-hunter22",
        "--env",
        "GREETING=ahoy",
        "--secret",
        "MY_PLAIN_NAME",
        "--log-dir",
        logs.to_str().unwrap(),
        &shell("echo $GREETING $MY_TOKEN $MY_PLAIN_NAME > out; cat out; : hunter22-hunter22"),
    ];
    let done = place.weir(&args).expect(0);
    let out = std::fs::read_to_string(place.workspace().join("out")).unwrap();
    assert_eq!(out, "ahoy hunter22-hunter22 correct-horse\n");
    let logged = contents(&logs);
    assert!(logged.contains("ahoy"), "{logged}");
    for secret in ["hunter22", "correct-horse"] {
        assert!(!logged.contains(secret) && !done.stderr.contains(secret), "{done:?} {logged}");
    }
    assert!(done.stderr.contains("[weir: masked MY_TOKEN]"), "{done:?}");
}

#[test]
fn flags_after_two_dashes_are_the_clis() {
    let place = Place::new();
    let done = place.weir(&["run", "hello", "--", "--no-such-flag"]).expect(4);
    assert!(done.stderr.contains("--no-such-flag"), "{done:?}");
    place.weir(&["run", SAYS_HELLO, "--", "--append-system-prompt", "x"]).expect(0);
}

#[test]
fn logs_hold_what_was_written_and_what_was_sent() {
    let place = Place::new();
    let logs = place.path("deep/logs");
    place.weir(&["run", "-q", "--log-dir", logs.to_str().unwrap(), SAYS_HELLO]).expect(0);
    let names: Vec<String> = std::fs::read_dir(&logs)
        .unwrap()
        .map(|file| file.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    for end in ["-run-weir.ndjson", "-run-weir.in.ndjson", "-run-weir.stderr"] {
        assert!(names.iter().any(|name| name.ends_with(end)), "{end}: {names:?}");
    }
}

#[test]
fn a_log_that_cannot_be_written_stops_only_a_run_that_requires_it() {
    let place = Place::new();
    let file = place.path("file");
    std::fs::write(&file, "").unwrap();
    let folder = file.join("logs");
    let folder = folder.to_str().unwrap();
    let done = place.weir(&["run", "-q", "--log-dir", folder, SAYS_HELLO]).expect(0);
    assert!(done.stderr.contains("no log was kept"), "{done:?}");
    let done = place.weir(&["run", "-q", "--log-dir", folder, "--require-log", SAYS_HELLO]).expect(3);
    assert!(done.stderr.contains("log"), "{done:?}");
}

#[test]
fn a_session_has_one_owner_and_a_second_process_is_told_which() {
    let place = Place::new();
    let id = "5c1e9f0a-7d37-4a52-9c1b-000000000001";
    let first = Running::start(place.command(&["run", "--session-id", id, IS_SLOW]));
    first.wait_for("one");
    let second = place.weir(&["run", "--resume", id, SAYS_HELLO]).expect(3);
    let pid = format!("pid {}", first.pid());
    assert!(second.stderr.contains("in use") && second.stderr.contains(&pid), "{second:?}");
    assert!(second.stderr.contains("--fork"), "{second:?}");
    let list = place.weir(&["sessions", "--live"]).expect(0);
    assert!(list.text().contains(id), "{list:?}");
    first.signal(rustix::process::Signal::TERM);
    first.finish().expect(130);
    place.weir(&["run", "-q", "--resume", id, SAYS_HELLO]).expect(0);
    place.assert_clean();
}

#[test]
fn sessions_are_resumed_and_forked() {
    let place = Place::new();
    let run = |args: &[&str]| {
        let args = [&["run", "-o", "json", "-q"], args, &[SAYS_HELLO]].concat();
        place.weir(&args).expect(0).json()["session_id"].as_str().unwrap().to_owned()
    };
    let first = run(&[]);
    assert_eq!(run(&["--resume", &first]), first);
    assert_eq!(run(&["--resume", &first[..10]]), first);
    assert_eq!(run(&["--continue"]), first);
    assert_ne!(run(&["--fork", &first]), first);
    let id = "5c1e9f0a-7d37-4a52-9c1b-000000000002";
    assert_eq!(run(&["--session-id", id]), id);
}

#[test]
fn an_unknown_session_is_an_error_with_the_clis_message() {
    let place = Place::new();
    let done = place.weir(&["run", "--resume", "5c1e9f0a-7d37-4a52-9c1b-00000000dead", SAYS_HELLO]);
    assert_ne!(done.code, Some(0));
    assert!(done.stderr.contains("No conversation found"), "{done:?}");
}

#[test]
fn a_schema_makes_the_answer_a_value() {
    let place = Place::new();
    let schema = place.path("schema.json");
    let text = r#"{"type":"object","properties":{"count":{"type":"number"}},"required":["count"]}"#;
    std::fs::write(&schema, text).unwrap();
    let schema = schema.to_str().unwrap();
    let counts = script(r#"{"tool":"StructuredOutput","input":{"count":3}},{"text":"I counted"}"#);
    let done = place.weir(&["run", "-q", "--schema", schema, &counts]).expect(0);
    assert_eq!(done.text(), "{\"count\":3}\n");
    let done = place.weir(&["run", "-q", "-o", "json", "--schema", schema, &counts]).expect(0);
    assert_eq!(done.json()["structured_output"]["count"], 3);
    let done = place.weir(&["run", "-q", "--schema", schema, SAYS_HELLO]).expect(5);
    assert!(done.stderr.contains("schema") && done.text().is_empty(), "{done:?}");
}

#[test]
fn files_of_options_are_read_before_anything_starts() {
    let place = Place::new();
    let write = |name: &str, text: &str| {
        let file = place.path(name);
        std::fs::write(&file, text).unwrap();
        file.to_str().unwrap().to_owned()
    };
    let wrong = write("wrong.json", r#"{"mcpServers": {"db": {"type": "http"}}}"#);
    let done = place.weir(&["run", "--mcp-config", &wrong, SAYS_HELLO]).expect(2);
    assert!(done.stderr.contains("url") && done.stderr.contains("wrong.json"), "{done:?}");
    let wrong =
        write("agents.json", r#"{"a": {"description": "d", "prompt": "p", "permissionMode": "plan"}}"#);
    let done = place.weir(&["run", "--agents", &wrong, SAYS_HELLO]).expect(2);
    assert!(done.stderr.contains("permissionMode"), "{done:?}");
    let done = place.weir(&["run", "--setting-sources", "users", SAYS_HELLO]).expect(2);
    assert!(done.stderr.contains("user, project, local"), "{done:?}");
    let done = place.weir(&["run", "--schema", "missing.json", SAYS_HELLO]).expect(2);
    assert!(done.stderr.contains("missing.json"), "{done:?}");
}

#[test]
fn agents_and_servers_reach_the_cli() {
    let place = Place::new();
    let agents = place.path("agents.json");
    std::fs::write(&agents, r#"{"house-painter": {"description": "Paints", "prompt": "You paint."}}"#)
        .unwrap();
    let servers = place.path("servers.json");
    std::fs::write(&servers, r#"{"mcpServers": {"the-db": {"command": "db"}}}"#).unwrap();
    let (agents, servers) = (agents.to_str().unwrap(), servers.to_str().unwrap());
    let done =
        place.weir(&["run", "-o", "raw", "--agents", agents, "--mcp-config", servers, SAYS_HELLO]).expect(0);
    assert!(done.text().contains("house-painter") && done.text().contains("the-db"), "{done:?}");
}

#[test]
fn a_terminal_as_transport_gives_the_same_answer() {
    let place = Place::new();
    assert_eq!(
        place.weir(&["run", "-q", "--transport", "pty", SAYS_HELLO]).expect(0).text(),
        "Hello there\n"
    );
}

#[test]
fn the_help_fits_into_80_columns() {
    let place = Place::new().set("COLUMNS", "80");
    for command in ["run", "chat", "sessions", "doctor", "replay"] {
        for flag in ["-h", "--help"] {
            let done = place.weir(&[command, flag]).expect(0);
            let longest = done.text().lines().map(|line| line.chars().count()).max().unwrap();
            assert!(longest <= 80, "{command} {flag}: {longest}\n{}", done.text());
        }
    }
}

/// Creates a program with this text.
#[expect(clippy::unwrap_used, reason = "a test without its files should stop")]
fn program(path: &Path, text: &str) {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    // Written to another file and moved, so that it is never open for writing when it is started.
    let fresh = path.with_extension("fresh");
    std::fs::write(&fresh, text).unwrap();
    std::fs::set_permissions(&fresh, std::fs::Permissions::from_mode(0o755)).unwrap();
    std::fs::rename(fresh, path).unwrap();
}

#[test]
fn a_script_runs_with_an_interpreter_that_only_the_login_shell_has() {
    let place = Place::new();
    let claude = place.path("simulated-claude");
    // `node` is in one folder, the script in another, and neither is in Weir's PATH.
    let node = format!("#!/bin/sh\nshift\nexec {} \"$@\"\n", claude.display());
    program(&place.path("node/bin/only-here"), &node);
    program(&place.path("tools/bin/claude"), "#!/usr/bin/env only-here\n");
    let path =
        format!("{}:{}:/usr/bin:/bin", place.path("tools/bin").display(), place.path("node/bin").display());
    let shell = format!("#!/bin/sh\nPATH='{path}'\nexport PATH\nexec /bin/sh -c \"$3\"\n");
    program(&place.path("shell"), &shell);
    let shell = place.path("shell");
    let script = place.path("tools/bin/claude");
    let place = place.without("WEIR_CLAUDE").set("PATH", "/usr/bin:/bin").set("SHELL", shell);
    // Found by the login shell; then named by path, which still needs the shell's PATH.
    assert_eq!(place.weir(&["run", "-q", SAYS_HELLO]).expect(0).text(), "Hello there\n");
    let named = ["run", "-q", "--claude", script.to_str().unwrap(), SAYS_HELLO];
    assert_eq!(place.weir(&named).expect(0).text(), "Hello there\n");
    let doctor = place.weir(&["doctor", "--offline"]);
    assert!(doctor.text().contains("node/bin/only-here"), "{doctor:?}");
    // A version manager puts the interpreter next to the script.
    program(&place.path("tools/bin/only-here"), &node);
    let place = place.set("SHELL", "/nowhere/sh");
    assert_eq!(place.weir(&named).expect(0).text(), "Hello there\n");
}
