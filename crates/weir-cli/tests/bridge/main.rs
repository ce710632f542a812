//! `weir bridge` from outside, on the simulated CLI.

#![cfg(unix)]
#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test that cannot continue should stop")]

#[path = "../common/mod.rs"]
mod common;
#[path = "../../../weir-telegram/tests/telegram/double.rs"]
#[expect(dead_code, reason = "the tests of the channel use more of it")]
mod double;
#[path = "../../../weir-telegram/tests/telegram/html.rs"]
mod html;
mod killed;
#[cfg(target_os = "linux")]
mod sandbox;
mod serving;
#[path = "../serve/support.rs"]
#[expect(dead_code, reason = "the tests of the server use more of it")]
mod support;

use common::{Place, Running, TOUCHES, eventually};
use rustix::process::Signal;
use serde_json::json;

/// A configuration with a webhook that does not answer.
fn configure(place: &Place) -> String {
    let file = place.path("bridge.toml");
    let text = format!(
        "data_dir = \"data\"\n[defaults]\nworkspace = \"workspace\"\n[webhook]\nlisten = \"127.0.0.1:0\"\nurl = \"http://127.0.0.1:9/\"\nsecret = {{ file = \"{}\" }}\n",
        place.path("secret").display()
    );
    std::fs::write(&file, text).unwrap();
    std::fs::write(place.path("secret"), "a secret to keep hidden\n").unwrap();
    file.display().to_string()
}

#[test]
fn init_writes_a_configuration_once() {
    let place = Place::new();
    let file = place.path("new.toml").display().to_string();
    place.weir(&["bridge", "init", &file]).expect(0);
    let text = std::fs::read_to_string(&file).unwrap();
    assert!(text.contains("# [telegram]"));
    let done = place.weir(&["bridge", "init", &file]).expect(2);
    assert!(done.stderr.contains("already exists"), "{done:?}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), text);
    let done = place.weir(&["bridge", "check", "--config", &file]).expect(2);
    assert!(done.stderr.contains("no channel is enabled"), "{done:?}");
}

#[test]
fn relative_folders_become_absolute_paths() {
    let place = Place::new();
    place.weir(&["bridge", "init"]).expect(0);
    let file = place.workspace().join("weir-bridge.toml");
    let text = std::fs::read_to_string(&file).unwrap();
    let webhook = "[webhook]\nlisten = \"127.0.0.1:0\"\nurl = \"http://127.0.0.1:9/\"\nsecret = { file = \"secret\" }\n";
    std::fs::write(&file, text + webhook).unwrap();
    std::fs::write(place.workspace().join("secret"), "a secret\n").unwrap();
    // A session refuses a relative folder, so the very first message would fail.
    let done = place.weir(&["bridge", "check"]).expect(1);
    let folder = place.workspace().join("workspace");
    assert!(done.text().contains(&format!("ok    the folder {} exists", folder.display())), "{done:?}");
}

#[test]
fn problems_are_reported_without_secrets() {
    let place = Place::new();
    let file = configure(&place);
    let done = place.weir(&["bridge", "check", "--config", &file]).expect(1);
    assert!(done.text().contains("wrong webhook: http://127.0.0.1:9/ does not answer"), "{done:?}");
    assert!(!format!("{done:?}").contains("to keep hidden"));
    assert!(done.text().contains("ok    the CLI is "), "{done:?}");
    // A problem of one channel does not hide the others.
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, text + "[telegram]\ntoken = { file = \"none\" }\n").unwrap();
    let done = place.weir(&["bridge", "check", "--config", &file]).expect(1);
    assert!(done.text().contains("wrong telegram.token: "), "{done:?}");
    assert!(done.text().contains("wrong webhook: "), "{done:?}");
    let done = place.weir(&["bridge", "run", "--config", "nothing.toml"]).expect(1);
    assert!(done.stderr.contains("nothing.toml"), "{done:?}");
    std::fs::write(place.path("bad.toml"), "[defaults]\nworkspace = 7\n").unwrap();
    let bad = place.path("bad.toml").display().to_string();
    let done = place.weir(&["bridge", "run", "--config", &bad]).expect(1);
    assert!(done.stderr.contains("bad.toml") && done.stderr.contains("workspace"), "{done:?}");
}

#[test]
fn a_misleading_address_is_refused() {
    let place = Place::new();
    let file = configure(&place);
    let text = std::fs::read_to_string(&file).unwrap();
    for address in ["https://good.example@evil.example/", "https://user:hidden@example.org/"] {
        std::fs::write(&file, text.replace("http://127.0.0.1:9/", address)).unwrap();
        for command in ["check", "run"] {
            let done = place.weir(&["bridge", command, "--config", &file]).expect(1);
            assert!(done.stderr.contains("webhook.url: the address has a name or a password"), "{done:?}");
            assert!(!format!("{done:?}").contains("hidden"), "{done:?}");
        }
    }
    std::fs::write(
        &file,
        text.replace("[defaults]\n", "[defaults]\npermission_mode = \"bypassPermissions\"\n"),
    )
    .unwrap();
    let done = place.weir(&["bridge", "run", "--config", &file]).expect(1);
    assert!(done.stderr.contains("a chat cannot use bypassPermissions"), "{done:?}");
}

#[test]
fn a_command_of_the_cli_is_unknown_in_a_chat() {
    let place = Place::new();
    let talk = "/config permissionMode=acceptEdits\n/help\n";
    let done = place.weir_input(&["bridge", "try", "--simulated"], talk).expect(0);
    assert!(done.text().contains("There is no command `/config` here"), "{done:?}");
    assert!(done.text().contains("`/cd FOLDER`"), "{done:?}");
}

#[test]
fn invalid_utf8_is_a_message_and_the_end_of_input_ends_open_requests() {
    let place = Place::new();
    let mut command = place.command(&["bridge", "try", "--simulated", "--queue", "followup"]);
    let talk = b"@@[{\"text\":\"first\"}]\ncaf\xe9 @@[{\"text\":\"second\"}]\r\n@@[{\"text\":\"third\"}]\n";
    std::fs::write(place.path("talk"), talk).unwrap();
    command.stdin(std::fs::File::open(place.path("talk")).unwrap());
    let done = Running::start(command).finish().expect(0);
    for answer in ["first", "second", "third"] {
        assert!(done.text().contains(answer), "{done:?}");
    }
    let asks = format!("{TOUCHES}\n");
    let done = place.weir_input(&["bridge", "try", "--simulated"], &asks).expect(6);
    assert!(done.stderr.contains("open requests cannot be answered"), "{done:?}");
}

/// A configuration with a Matrix server that does not answer.
fn configure_matrix(place: &Place, login: &str) -> String {
    let file = place.path("matrix.toml");
    let text = format!(
        "data_dir = \"data\"\n[defaults]\nworkspace = \"workspace\"\n[matrix]\nhomeserver = \"http://127.0.0.1:9\"\n{login}\n"
    );
    std::fs::write(&file, text).unwrap();
    std::fs::write(place.path("password"), "a password to keep hidden\n").unwrap();
    file.display().to_string()
}

#[test]
#[cfg(not(feature = "matrix"))]
fn without_matrix_it_says_how_to_get_it() {
    let place = Place::new();
    let file = configure_matrix(&place, "user = \"@weir:e.org\"\npassword = { file = \"password\" }");
    let done = place.weir(&["bridge", "check", "--config", &file]).expect(1);
    assert!(done.text().contains("--features matrix"), "{done:?}");
    let done = place.weir(&["bridge", "run", "--config", &file]).expect(2);
    assert!(done.stderr.contains("--features matrix"), "{done:?}");
}

#[test]
#[cfg(feature = "matrix")]
fn with_matrix_it_says_what_is_wrong() {
    let place = Place::new();
    let file = configure_matrix(&place, "user = \"@weir:e.org\"\npassword = { file = \"password\" }");
    let done = place.weir(&["bridge", "check", "--config", &file]).expect(1);
    assert!(done.text().contains("wrong matrix: the homeserver cannot be reached"), "{done:?}");
    assert!(!format!("{done:?}").contains("to keep hidden"));
    let file = configure_matrix(&place, "user = \"@weir:e.org\"");
    let done = place.weir(&["bridge", "check", "--config", &file]).expect(1);
    assert!(done.text().contains("wrong matrix: set `user` and `password`, or `access_token`"), "{done:?}");
}

#[test]
fn a_code_is_printed_once() {
    let place = Place::new();
    let file = configure(&place);
    let made = place.weir(&["bridge", "pair", "--config", &file, "--json"]).expect(0).json();
    let code = made["code"].as_str().unwrap().replace('-', "");
    assert_eq!(code.len(), 8);
    let kept = std::fs::read(place.path("data/bridge.db")).unwrap();
    assert!(!kept.windows(8).any(|part| part == code.as_bytes()), "the code itself is not kept");
}

#[test]
fn one_bridge_runs_per_folder_and_stops_on_a_signal() {
    let place = Place::new();
    let file = configure(&place);
    let running = Running::start(place.command(&["bridge", "run", "--config", &file]));
    place.wait_for_file("data/bridge.db");
    let second = eventually("the second is refused", || {
        let done = place.weir(&["bridge", "run", "--config", &file]);
        (done.code == Some(1)).then_some(done)
    });
    assert!(second.stderr.contains("another bridge uses"), "{second:?}");
    running.signal(Signal::TERM);
    running.finish().expect(0);
    place.assert_clean();
}

#[test]
fn a_chat_on_the_terminal() {
    let place = Place::new();
    let says = format!("@@{}", json!([{"text": "The **answer**."}]));
    let done = place
        .weir_input(&["bridge", "try", "--simulated", "--footer"], &format!("{says}\n/help\n"))
        .expect(0);
    let text = done.text();
    assert!(text.contains("The answer.") && text.contains("starts a new session"), "{done:?}");
    assert!(text.contains(" in, ") && text.contains('$'), "the footer: {done:?}");
    place.assert_clean();
}

#[test]
fn a_permission_is_asked_for_and_followups_wait() {
    let place = Place::new();
    let script = json!([{"tool": "Bash", "input": {"command": "touch made.txt"}}, {"text": "It is made."}]);
    let mut command = place.command(&["bridge", "try", "--simulated", "--queue", "followup"]);
    command.stdin(std::process::Stdio::piped());
    let mut running = Running::start(command);
    std::io::Write::write_all(running.input(), format!("@@{script}\n").as_bytes()).unwrap();
    running.wait_for("Allow Bash?");
    std::io::Write::write_all(running.input(), b"yes\n").unwrap();
    running.wait_for("It is made.");
    running.close_input();
    running.finish().expect(0);
    assert!(place.workspace().join("made.txt").exists());
    place.assert_clean();
}
