//! `weir store` next to a server, and what a server removes by itself.

use serde_json::json;

use crate::common::{Done, Place, eventually};
use crate::support::{Served, says};

fn store(place: &Place, words: &[&str]) -> Done {
    let data = place.path("data").display().to_string();
    let all: Vec<&str> =
        ["store"].into_iter().chain(words.iter().copied()).chain(["--data-dir", &data]).collect();
    place.weir(&all)
}

#[test]
fn a_backup_of_a_running_server_is_restored() {
    let mut served = Served::start();
    let kept = served.session();
    served.send(&kept, &says("kept"));
    served.wait_for_status(&kept, "idle");
    let backup = served.place.path("backup.db").display().to_string();
    let done = store(&served.place, &["backup", &backup, "--json"]).expect(0).json();
    assert_eq!(done["result"]["sessions"], 1);
    let again = store(&served.place, &["backup", &backup]).expect(1);
    assert!(again.stderr.contains("already exists"), "{}", again.stderr);
    let checked = store(&served.place, &["check", "--json"]).expect(0).json();
    assert_eq!((&checked["ok"], &checked["report"]["problems"]), (&json!(true), &json!([])));
    for command in [&["compact"][..], &["restore", &backup]] {
        let refused = store(&served.place, command).expect(1);
        assert!(refused.stderr.contains("stop it first"), "{}", refused.stderr);
        assert!(refused.stderr.contains(&served.running().pid().to_string()), "{}", refused.stderr);
    }
    let lost = served.session();
    served.stop();

    let restored = store(&served.place, &["restore", &backup, "--json"]).expect(0).json();
    let before = restored["result"]["kept"].as_str().unwrap();
    assert!(std::path::Path::new(before).is_file());
    let compacted = store(&served.place, &["compact"]).expect(0);
    assert!(compacted.text().contains("is now"), "{compacted:?}");
    served.restart();
    served.client.get(&format!("/v1/sessions/{kept}")).expect(200);
    served.client.get(&format!("/v1/sessions/{lost}")).expect(404);
    served.send(&kept, &says("and it continues"));
    served.wait_for_status(&kept, "idle");
    served.stop();
}

#[test]
fn impossible_requests_are_reported() {
    let place = Place::new();
    for command in [&["check"][..], &["compact"], &["backup", "x"]] {
        let done = store(&place, command).expect(2);
        assert!(
            done.stderr.contains("no sessions found in") && done.stderr.contains("--data-dir"),
            "{done:?}"
        );
    }
    let done = store(&place, &["restore", "nowhere.db"]).expect(2);
    assert!(done.stderr.contains("no backup nowhere.db"), "{done:?}");
    std::fs::create_dir_all(place.path("data")).unwrap();
    std::fs::write(place.path("data/weir.db"), "a diary").unwrap();
    let done = store(&place, &["check"]).expect(1);
    assert!(done.stderr.contains("not a Weir log"), "{done:?}");
}

#[test]
fn damage_is_reported_with_an_exit_code() {
    let mut served = Served::start();
    let session = served.session();
    served.send(&session, &says("hello"));
    served.wait_for_status(&session, "idle");
    served.stop();
    let file = served.place.path("data/weir.db");
    let mut bytes = std::fs::read(&file).unwrap();
    let half = bytes.len() / 2;
    bytes[half..].fill(0xa5);
    std::fs::write(&file, bytes).unwrap();
    let done = store(&served.place, &["check"]).expect(1);
    assert!(done.stderr.contains("restore") || done.stderr.contains(".recover"), "{done:?}");
}

#[test]
fn old_sessions_are_removed_on_request_and_pinned_ones_are_not() {
    let mut served = Served::with(&["--keep-for", "1ms", "--log", "warn"]);
    // A session that waits for something stays, such as one with a message held by a stopped server.
    let (old, pinned) = (served.session(), served.session());
    served
        .client
        .ask("PATCH", &format!("/v1/sessions/{pinned}"), &[], Some(&json!({"pinned": true})))
        .expect(200);
    assert_eq!(served.info(&pinned)["pinned"], true);
    served.stop();
    served.restart();
    eventually("it is removed", || {
        (served.client.get(&format!("/v1/sessions/{old}")).status == 404).then_some(())
    });
    assert_eq!(served.info(&pinned)["pinned"], true);
    let done = served.stop();
    assert!(done.stderr.contains("removed old sessions"), "{}", done.stderr);
}

#[test]
fn nothing_is_removed_by_default_and_limits_are_checked() {
    let mut served = Served::start();
    let session = served.session();
    served.stop();
    served.restart();
    served.client.get(&format!("/v1/sessions/{session}")).expect(200);
    served.stop();
    for wrong in [&["--keep-size", "10"][..], &["--keep-for", "soon"]] {
        let all: Vec<&str> = ["serve"].into_iter().chain(wrong.iter().copied()).collect();
        let done = served.place.weir(&all).expect(2);
        assert!(done.stderr.contains("above zero, such as"), "{}", done.stderr);
    }
}
