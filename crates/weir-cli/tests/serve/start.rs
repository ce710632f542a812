//! How a server starts and stops, and what it prints.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::common::{IS_SLOW, Place, Running, SAYS_HELLO, Terminal, eventually};
use crate::support::{Served, arguments};

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn the_first_start_on_a_terminal_prints_a_link_and_no_other_does() {
    let mut served = Served::start();
    for name in ["ready.json", "data/tokens.json", "data/audit.ndjson", "data/weir.db", "data/address"] {
        assert_eq!(mode(&served.place.path(name)), 0o600, "{name}");
    }
    assert_eq!(mode(&served.place.path("data")), 0o700);
    let first = served.client.token.clone();
    let done = served.stop();
    assert!(!done.stderr.contains("weir_"), "no token where a log may keep it: {}", done.stderr);
    assert!(done.stderr.contains("weir token add"), "{}", done.stderr);
    assert!(!served.place.path("ready.json").exists(), "the server no longer listens");

    let all = arguments(&served.place, &[]);
    let terminal = Terminal::weir(&served.place, &all.iter().map(String::as_str).collect::<Vec<_>>());
    terminal.wait_for("#token=weir_");
    terminal.wait_for("\n");
    terminal.signal(Signal::TERM);
    let done = terminal.finish().expect(0);
    let link = done.stderr.lines().find(|line| line.contains("#token=")).unwrap();
    let owner = link.split("#token=").nth(1).unwrap().trim().to_owned();

    served.restart();
    assert_eq!(served.client.with(&first).get("/v1/me").status, 401, "a new start, a new ready file");
    assert_eq!(served.client.with(&owner).get("/v1/me").expect(200).json()["role"], "admin");
    let done = served.stop();
    assert!(!done.stderr.contains("weir_"), "{}", done.stderr);
}

/// Everything in and below a folder that others could read or write.
fn open_to_others(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut paths = vec![folder.to_owned()];
    while let Some(path) = paths.pop() {
        let metadata = std::fs::symlink_metadata(&path).unwrap();
        if metadata.permissions().mode() & 0o077 != 0 {
            found.push(format!("{} {:o}", path.display(), metadata.permissions().mode()));
        }
        if metadata.is_dir() {
            paths.extend(std::fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        }
    }
    found
}

#[test]
fn stored_files_are_private_whatever_the_umask() {
    let place = Place::new().umask("000");
    let logs = place.path("logs/below").display().to_string();
    let mut served = Served::in_place(place, &["--log-dir", &logs]);
    let session = served.session();
    served.send(&session, SAYS_HELLO);
    served.wait_for_status(&session, "idle");
    let body = json!({"model": "default", "messages": [{"role": "user", "content": SAYS_HELLO}]});
    served.client.post("/v1/chat/completions", &body).expect(200);
    served.token("ann", "viewer");
    // Including files that only exist while it runs.
    let place = &served.place;
    assert!(place.path("data/weir.db-wal").exists() && place.path("data/weir.db-shm").exists());
    let check = |place: &Place| {
        for name in ["data", "logs", "ready.json"].into_iter().filter(|name| place.path(name).exists()) {
            assert_eq!(open_to_others(&place.path(name)), Vec::<String>::new(), "{name}");
        }
        for name in [".cache", ".local"].map(|name| place.path("home").join(name)) {
            assert!(!name.exists() || open_to_others(&name).is_empty(), "{:?}", open_to_others(&name));
        }
    };
    check(place);
    let data = place.path("data").display().to_string();
    place.weir(&["token", "add", "bo", "--data-dir", &data]).expect(0);
    served.stop();
    check(&served.place);
}

#[test]
fn one_server_for_each_data_folder() {
    let served = Served::start();
    let all = arguments(&served.place, &[]);
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    let second = Running::start(served.place.command(&all)).finish().expect(1);
    assert!(second.stderr.contains(&format!("pid {}", served.running().pid())), "{}", second.stderr);
    assert!(second.stderr.contains("--data-dir"), "{}", second.stderr);
    served.client.get("/v1/me").expect(200);
}

#[test]
fn other_machines_need_a_flag() {
    let served = Served::start();
    let data = served.place.path("other").display().to_string();
    let refused = served.place.weir(&["serve", "--listen", "0.0.0.0:0", "--data-dir", &data]).expect(1);
    assert!(
        refused.stderr.contains("--allow-remote") && refused.stderr.contains("run commands"),
        "{}",
        refused.stderr
    );
    let bad = served.place.weir(&["serve", "--root", "/no/such/folder", "--data-dir", &data]).expect(2);
    assert!(bad.stderr.contains("folder not found"), "{}", bad.stderr);
    let bad = served.place.weir(&["serve", "--log", "a=b=c", "--data-dir", &data]).expect(1);
    assert!(bad.stderr.contains("filter"), "{}", bad.stderr);
}

#[test]
fn a_port_in_use_is_reported() {
    let served = Served::start();
    let data = served.place.path("other").display().to_string();
    let taken =
        served.place.weir(&["serve", "--listen", &served.client.address, "--data-dir", &data]).expect(1);
    assert!(taken.stderr.contains("--listen"), "{}", taken.stderr);
}

#[test]
fn the_first_signal_lets_turns_end_and_the_second_does_not() {
    let mut served = Served::with(&["--drain", "10m"]);
    let session = served.session();
    let mut events = served.follow(&session, "view");
    served.send(&session, IS_SLOW);
    served.wait_for_status(&session, "running");
    served.signal(Signal::TERM);
    eventually("draining", || (served.client.get("/readyz").status == 503).then_some(()));
    assert_eq!(served.info(&session)["status"], "running", "the turn may finish, and can be watched");
    served.signal(Signal::TERM);
    let last = events.rest().pop().unwrap();
    assert_eq!((last.name.as_str(), &last.json()["reason"]), ("bye", &Value::from("shutdown")));
    served.finish().expect(0);
    served.place.wait_until_empty();
}

#[test]
fn the_openapi_document_is_printed() {
    let served = Served::start();
    let document = served.place.weir(&["serve", "--print-openapi"]).expect(0).json();
    assert_eq!(document, served.client.get("/openapi.json").expect(200).json());
}

#[test]
fn logs_have_ids_and_no_secrets() {
    let mut served = Served::with(&["--log", "trace", "--log-format", "json"]);
    let session = served.session();
    let (_, secret) = served.token("ann", "viewer");
    served.client.with(&secret).get(&format!("/v1/sessions/{session}")).expect(200);
    served.client.get(&format!("/v1/me?token={secret}")).expect(400);
    let token = served.client.token.clone();
    let done = served.stop();
    let lines: Vec<Value> = done
        .stderr
        .lines()
        .filter(|line| line.starts_with('{'))
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect();
    assert!(
        lines.iter().any(|line| line["span"]["session"] == session.as_str() && line["span"]["who"] == "ann")
    );
    assert!(lines.iter().all(|line| line["message"] != "answered" || line["span"]["id"].is_string()));
    for secret in [token, secret] {
        let told = lines.iter().find(|line| line.to_string().contains(&secret));
        assert!(told.is_none(), "{told:?}");
    }
}
