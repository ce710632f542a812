//! `weir token`, while a server runs.

use crate::support::Served;

fn weir(served: &Served, args: &[&str]) -> crate::common::Done {
    let data = served.place.path("data").display().to_string();
    served.place.weir(&[&["token"], args, &["--data-dir", &data]].concat())
}

#[test]
fn made_listed_and_revoked_from_the_command_line() {
    let served = Served::start();
    let session = served.session();
    let made = weir(&served, &["add", "ann", "--role", "viewer", "--expires", "1h"]).expect(0);
    let secret = made.text().trim().to_owned();
    assert!(secret.starts_with("weir_") && made.stderr.contains(&format!("/#token={secret}")), "{made:?}");
    let ann = served.client.with(&secret);
    assert_eq!(ann.get("/v1/me").expect(200).json()["name"], "ann");
    let listed = weir(&served, &["list"]).expect(0);
    assert!(listed.text().contains("ann") && !listed.text().contains(&secret));
    assert_eq!(weir(&served, &["list", "--json"]).expect(0).json_lines().len(), 3);

    let mut events = ann.events(&format!("/v1/sessions/{session}/events"), None);
    let mut all = ann.events("/v1/events", None);
    events.wait("snapshot");
    all.wait("sessions");
    weir(&served, &["revoke", "ann"]).expect(0);
    for events in [&mut events, &mut all] {
        let last = events.rest().pop().unwrap();
        assert_eq!((last.name.as_str(), last.json()["reason"].as_str()), ("bye", Some("revoked")));
    }
    ann.get("/v1/me").expect(401);
    weir(&served, &["revoke", "ann"]).expect(2);
    weir(&served, &["add", "x", "--role", "king"]).expect(2);
    weir(&served, &["add", "x", "--role", "admin", "--session", "abc"]).expect(2);
}

#[test]
fn a_stream_ends_with_its_token() {
    let served = Served::start();
    let session = served.session();
    let new = serde_json::json!({"name": "bo", "role": "viewer", "expires_in_s": 1});
    let token =
        served.client.post("/v1/tokens", &new).expect(201).json()["token"].as_str().unwrap().to_owned();
    let mut events = served.client.with(&token).events(&format!("/v1/sessions/{session}/events"), None);
    let last = events.rest().pop().unwrap();
    assert_eq!((last.name.as_str(), last.json()["reason"].as_str()), ("bye", Some("expired")));
}
