//! A server with a full disk: what it reports, what still works, and that it recovers without a restart.

use rustix::process::{Pid, Resource, Rlimit, Signal, prlimit};
use serde_json::{Value, json};
use weir_testkit::small_disk::{available, drain, empty, fill, mounted, run_test};

use crate::common::{Place, eventually};
use crate::support::{Served, arguments, says};

/// Size of the disk in MiB.
const DISK: u64 = 48;

/// A place whose data folder is on the small disk.
fn place(disk: &std::path::Path) -> Place {
    let place = Place::new();
    std::fs::create_dir(disk.join("data")).unwrap();
    std::os::unix::fs::symlink(disk.join("data"), place.path("data")).unwrap();
    place
}

#[track_caller]
fn again(name: &str) {
    if let Err(text) = run_test(&format!("disk::{name}"), DISK) {
        panic!("{text}");
    }
}

fn ready(served: &Served) -> (u16, Value) {
    let answer = served.client.get("/readyz");
    (answer.status, answer.json())
}

/// Sends messages until one is refused.
fn fill_with_messages(served: &Served, session: &str) -> crate::common::Answer {
    let path = format!("/v1/sessions/{session}/messages");
    for number in 0.. {
        let text = says(&"x".repeat(200_000));
        let answer = served.client.post(&path, &json!({"client_id": number.to_string(), "text": text}));
        if answer.status != 202 && answer.status != 429 {
            return answer;
        }
        // Answered messages make room for more; the CLI's answers are logged too.
        eventually("an answer", || {
            let info = served.client.get(&format!("/v1/sessions/{session}"));
            (info.status != 200 || info.json()["queued"].as_u64() < Some(50)).then_some(())
        });
    }
    unreachable!("it never gets full")
}

#[test]
fn a_full_disk_is_reported_and_recovers_without_a_restart() {
    let Some(disk) = mounted() else {
        return again("a_full_disk_is_reported_and_recovers_without_a_restart");
    };
    let mut served = Served::in_place(place(&disk), &[]);
    assert_eq!(ready(&served), (200, json!({"status": "ok"})));
    let (one, two) = (served.session(), served.session());
    served.send(&two, &says("a small one"));
    served.wait_for_status(&two, "idle");
    fill(&disk, 6 << 20).unwrap();
    let refused = fill_with_messages(&served, &one);
    assert_eq!(refused.status, 507, "{}", refused.text());
    let problem = refused.json();
    assert_eq!(problem["code"], "disk_full");
    assert!(problem["detail"].as_str().unwrap().contains("delete sessions"), "{problem}");
    assert!(!refused.header("retry-after").is_empty());
    fill(&disk, 0).unwrap();
    let (status, body) = ready(&served);
    assert_eq!((status, &body["status"]), (503, &Value::from("disk_full")), "{body}");
    assert!(!body.to_string().contains(disk.to_str().unwrap()), "anyone may request this: {body}");
    // Nothing can start, everything can be read, and anything can be ended.
    served.client.post("/v1/sessions", &json!({"cwd": served.place.workspace()})).expect(507);
    for path in ["", "/transcript", "/log", "/messages"] {
        served.client.get(&format!("/v1/sessions/{two}{path}")).expect(200);
        served.client.get(&format!("/v1/sessions/{one}{path}")).expect(200);
    }
    served.client.post(&format!("/v1/sessions/{one}/stop"), &json!({})).expect(200);
    served
        .client
        .ask("PATCH", &format!("/v1/sessions/{two}"), &[], Some(&json!({"archived": true})))
        .expect(200);
    served.client.ask("DELETE", &format!("/v1/sessions/{one}"), &[], None).expect(204);
    empty(&disk).unwrap();
    eventually("ready again", || (ready(&served).0 == 200).then_some(()));
    let next = served.session();
    served.send(&next, &says("it works"));
    served.wait_for_status(&next, "idle");
    served.stop();
    let check =
        served.place.weir(&["store", "check", "--json", "--data-dir", &data(&served.place)]).expect(0);
    assert_eq!(check.json()["ok"], true);
}

/// Limits the file size of a server: every write beyond it fails, as on a broken disk.
fn limit_files(served: &Served, bytes: Option<u64>) {
    let limit = Rlimit { current: bytes, maximum: None };
    prlimit(Pid::from_raw(served.running().pid().cast_signed()), Resource::Fsize, limit).unwrap();
}

#[test]
fn a_failing_disk_is_reported_and_recovers_without_a_restart() {
    let mut served = Served::in_place(Place::new().survives_file_limit(), &[]);
    let one = served.session();
    served.send(&one, &says("before"));
    served.wait_for_status(&one, "idle");
    limit_files(&served, Some(0));
    let body = json!({"client_id": "a", "text": says("never")});
    let path = format!("/v1/sessions/{one}/messages");
    let refused = served.client.post(&path, &body).expect(503);
    assert_eq!(refused.json()["code"], "store_unusable");
    served.client.post("/v1/sessions", &json!({"cwd": served.place.workspace()})).expect(503);
    let (status, told) = ready(&served);
    assert_eq!((status, &told["status"]), (503, &Value::from("store_unusable")), "{told}");
    assert!(!told.to_string().contains(&data(&served.place)), "anyone may request this: {told}");
    served.client.get(&format!("/v1/sessions/{one}/transcript")).expect(200);
    limit_files(&served, None);
    eventually("ready again", || (ready(&served).0 == 200).then_some(()));
    served.client.post(&path, &body).expect(202);
    served.wait_for_status(&one, "idle");
    let done = served.stop();
    assert!(done.stderr.contains("cannot be used"), "{}", done.stderr);
}

#[test]
fn a_missing_data_folder_is_reported() {
    // A spare that starts just now would write its record into a new data folder.
    let served = Served::in_place(Place::new(), &["--spares", "0"]);
    std::fs::rename(served.place.path("data"), served.place.path("kept")).unwrap();
    let (status, told) = ready(&served);
    assert_eq!((status, &told["status"]), (503, &Value::from("store_unusable")), "{told}");
    std::fs::rename(served.place.path("kept"), served.place.path("data")).unwrap();
    assert_eq!(ready(&served).0, 200);
}

#[test]
fn an_unwritable_address_file_does_not_prevent_the_start() {
    let place = Place::new();
    std::fs::create_dir_all(place.path("data/address")).unwrap();
    let mut served = Served::in_place(place, &[]);
    let one = served.session();
    served.send(&one, &says("it works"));
    served.wait_for_status(&one, "idle");
    assert!(served.stop().stderr.contains("will print no link"));
}

fn data(place: &Place) -> String {
    place.path("data").display().to_string()
}

#[test]
fn a_deletion_alone_is_enough_to_recover() {
    let Some(disk) = mounted() else { return again("a_deletion_alone_is_enough_to_recover") };
    let mut served = Served::in_place(place(&disk), &[]);
    let (one, two) = (served.session(), served.session());
    let refused = fill_with_messages(&served, &one);
    assert_eq!(refused.status, 507, "{}", refused.text());
    eventually("it is reported", || {
        fill(&disk, 0).unwrap();
        (ready(&served).0 == 503).then_some(())
    });
    served.client.ask("DELETE", &format!("/v1/sessions/{one}"), &[], None).expect(204);
    eventually("ready again", || (ready(&served).0 == 200).then_some(()));
    eventually("the disk has the space", || (available(&disk).unwrap() > 12 << 20).then_some(()));
    served.send(&two, &says("it works"));
    served.wait_for_status(&two, "idle");
    served.stop();
}

#[test]
fn it_starts_on_a_full_disk_even_after_a_kill_and_gives_advice() {
    let Some(disk) = mounted() else {
        return again("it_starts_on_a_full_disk_even_after_a_kill_and_gives_advice");
    };
    let mut served = Served::in_place(place(&disk), &[]);
    let one = served.session();
    served.send(&one, &says("before"));
    served.wait_for_status(&one, "idle");
    for is_killed in [true, false, true] {
        fill(&disk, 0).unwrap();
        if is_killed {
            served.signal(Signal::KILL);
            served.finish();
            served.place.wait_until_empty();
        } else {
            let done = served.stop();
            assert!(done.stderr.contains("is full: delete sessions, or free at least"), "{}", done.stderr);
        }
        fill(&disk, 0).unwrap();
        assert_eq!(available(&disk).unwrap(), 0);
        served.restart();
        assert_eq!(ready(&served).1["status"], "disk_full");
        served.client.get(&format!("/v1/sessions/{one}/transcript")).expect(200);
    }
    empty(&disk).unwrap();
    eventually("ready again", || (ready(&served).0 == 200).then_some(()));
    served.send(&one, &says("after"));
    served.wait_for_status(&one, "idle");
    served.stop();
}

#[test]
fn without_a_reserve_a_start_on_a_full_disk_fails_with_advice() {
    let Some(disk) = mounted() else {
        return again("without_a_reserve_a_start_on_a_full_disk_fails_with_advice");
    };
    let place = place(&disk);
    fill(&disk, 0).unwrap();
    let all = arguments(&place, &[]);
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    let done = place.weir(&all).expect(1);
    assert!(done.stderr.contains("is full") && done.stderr.contains("free at least"), "{}", done.stderr);
    drain(&disk, 8 << 20).unwrap();
    Served::in_place(place, &[]).stop();
}
