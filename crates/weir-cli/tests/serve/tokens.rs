//! `weir token`, while a server runs.

use serde_json::json;

use crate::common::Client;
use crate::support::Served;

fn weir(served: &Served, args: &[&str]) -> crate::common::Done {
    let data = served.place.path("data").display().to_string();
    served.place.weir(&[&["token"], args, &["--data-dir", &data]].concat())
}

#[test]
fn tokens_are_created_listed_and_revoked_on_the_command_line() {
    let served = Served::start();
    let session = served.session();
    let made = weir(&served, &["add", "ann", "--role", "viewer", "--expires", "1h"]).expect(0);
    let secret = made.text().trim().to_owned();
    assert!(secret.starts_with("weir_"), "{made:?}");
    assert!(
        !made.stderr.contains("weir_") && made.stderr.contains("--json"),
        "not where a log may keep it: {made:?}"
    );
    let again = weir(&served, &["add", "Ann", "--role", "admin"]).expect(1);
    assert!(again.text().is_empty() && again.stderr.contains("there is already a token named"), "{again:?}");
    weir(&served, &["add", "ready-file", "--role", "viewer"]).expect(2);
    let ann = served.client.with(&secret);
    assert_eq!(ann.get("/v1/me").expect(200).json()["name"], "ann");
    let listed = weir(&served, &["list"]).expect(0);
    assert!(listed.text().contains("ann") && !listed.text().contains(&secret));
    assert_eq!(weir(&served, &["list", "--json"]).expect(0).json_lines().len(), 2);
    let made = weir(&served, &["add", "bo", "--json"]).expect(0).json();
    let (token, link) = (made["token"].as_str().unwrap(), made["link"].as_str().unwrap());
    assert!(link.ends_with(&format!("/#token={token}")), "{link}");
    weir(&served, &["revoke", "bo"]).expect(0);

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
fn the_streams_of_a_share_link_end_with_the_token_that_made_it() {
    let served = Served::start();
    let session = served.session();
    let (_, ann) = served.token("ann", "driver");
    let path = format!("/v1/sessions/{session}/share");
    let share = served.client.with(&ann).post(&path, &serde_json::json!({})).expect(201).json();
    let guest = served.client.with(share["token"].as_str().unwrap());
    let mut events = guest.events(&format!("/v1/sessions/{session}/events"), None);
    events.wait("snapshot");
    let revoked = weir(&served, &["revoke", "ann"]).expect(0);
    assert!(revoked.stderr.contains("shared by ann"), "it also says what ended: {}", revoked.stderr);
    let last = events.rest().pop().unwrap();
    assert_eq!((last.name.as_str(), last.json()["reason"].as_str()), ("bye", Some("revoked")));
    guest.get("/v1/me").expect(401);
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

/// The limit of a session may be what restricts whom it was given to.
#[test]
fn a_token_for_one_session_only_lowers_its_limit() {
    let mut served = Served::start();
    let session = served.session_with(&json!({"max_cost_usd": 1.0}));
    let new = json!({"name": "guest", "role": "driver", "session": session});
    let made = served.client.post("/v1/tokens", &new).expect(201).json();
    let guest = served.client.with(made["token"].as_str().unwrap());
    let limit = |client: &Client, usd: f64| {
        let body = json!({"max_cost_usd": usd});
        client.ask("PATCH", &format!("/v1/sessions/{session}"), &[], Some(&body)).status
    };
    assert_eq!((limit(&guest, 2.0), limit(&guest, 0.0), limit(&guest, -0.0)), (403, 403, 403));
    assert_eq!(served.info(&session)["max_cost_usd"], 1.0);
    assert_eq!((limit(&guest, 0.5), limit(&guest, 0.75)), (200, 403));
    assert_eq!(limit(&served.client, 0.0), 200, "other tokens can create sessions without one");
    assert_eq!((limit(&guest, 5.0), limit(&guest, 6.0)), (200, 403));
    let other = |what: &str, number: u32| {
        let body = json!({what: number});
        guest.ask("PATCH", &format!("/v1/sessions/{session}"), &[], Some(&body)).status
    };
    for what in ["max_turns", "ask_timeout_s", "task_budget_tokens"] {
        let asked = [other(what, 5), other(what, 6), other(what, 0), other(what, 4)];
        assert_eq!(asked, [200, 403, 403, 200], "{what}");
    }
    served.stop();
}
