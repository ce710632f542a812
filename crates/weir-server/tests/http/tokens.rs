//! Tokens, share links, the audit log.

use serde_json::json;
use weir_server::Role;

use crate::support::Place;

#[tokio::test]
async fn who_one_is() {
    let place = Place::new().await;
    let me = place.get(Role::Approver, "/v1/me").await.json();
    assert_eq!(me["name"], "approver");
    assert_eq!(me["role"], "approver");
    assert_eq!(me["roots"], json!([place.root()]));
    assert_eq!(me["demo"], false);
    assert!(!me["permission_modes"].as_array().unwrap().contains(&json!("bypassPermissions")));
}

#[tokio::test]
async fn a_secret_is_told_once() {
    let place = Place::new().await;
    let new = json!({"name": "ann", "role": "viewer", "expires_in_s": 60, "max_cost_usd": 2.0});
    let created = place.ask(Role::Admin, "POST", "/v1/tokens", Some(&new)).await;
    assert_eq!(created.status, 201);
    let (created, secret) = (created.json(), created.json()["token"].as_str().unwrap().to_owned());
    assert_eq!(place.ask_with(&secret, "GET", "/v1/me", None).await.json()["budget_left_usd"], 2.0);
    let listed = place.get(Role::Admin, "/v1/tokens").await;
    assert!(listed.text().contains(created["id"].as_str().unwrap()));
    assert!(!listed.text().contains(&secret) && !listed.text().contains("hash"));
    for file in ["tokens.json", "audit.ndjson"] {
        let kept = std::fs::read_to_string(place.folder.path().join(file)).unwrap();
        assert!(!kept.contains(&secret), "{file}");
    }
}

#[tokio::test]
async fn tokens_that_make_no_sense_are_refused() {
    let place = Place::new().await;
    let id = place.session().await;
    for bad in [
        json!({"name": "", "role": "viewer"}),
        json!({"name": "a\nb", "role": "viewer"}),
        json!({"name": "a", "role": "root"}),
        json!({"name": "a", "role": "admin", "session": id}),
        json!({"name": "a", "role": "viewer", "session": "none"}),
        json!({"name": "a", "role": "viewer", "expires_in_s": 0}),
        json!({"name": "a", "role": "viewer", "max_cost_usd": -1}),
        json!({"name": "a", "role": "viewer", "hash": "00"}),
    ] {
        let answer = place.ask(Role::Admin, "POST", "/v1/tokens", Some(&bad)).await;
        assert_eq!(answer.status, 422, "{bad}: {}", answer.text());
    }
}

#[tokio::test]
async fn a_share_link_shows_one_session_and_does_nothing() {
    let place = Place::new().await;
    let id = place.session().await;
    let share = place
        .ask(Role::Driver, "POST", &format!("/v1/sessions/{id}/share"), Some(&json!({"expires_in_s": 60})))
        .await;
    assert_eq!(share.status, 201, "{}", share.text());
    let share = share.json();
    let token = share["token"].as_str().unwrap();
    assert_eq!(share["path"], format!("/#token={token}&session={id}"));
    let me = place.ask_with(token, "GET", "/v1/me", None).await.json();
    assert_eq!((&me["role"], &me["session"]), (&json!("viewer"), &json!(id)));
    assert!(me["expires_at"].is_i64());
    for (method, path) in [("POST", "stop"), ("POST", "messages"), ("POST", "share"), ("POST", "interrupt")] {
        let answer = place.ask_with(token, method, &format!("/v1/sessions/{id}/{path}"), None).await;
        assert_eq!(answer.problem(403), "role", "{path}");
    }
}

#[tokio::test]
async fn whoever_changes_something_is_written_down() {
    let place = Place::new().await;
    let id = place.session().await;
    let path = format!("/v1/sessions/{id}");
    place.ask(Role::Driver, "PATCH", &path, Some(&json!({"name": "x"}))).await;
    place.ask(Role::Viewer, "DELETE", &path, None).await;
    place.ask_with("weir_wrong", "GET", &path, None).await;
    place.get(Role::Viewer, &path).await;
    let audit = place.get(Role::Admin, "/v1/audit?limit=10").await.json();
    let entries: Vec<_> = audit["entries"].as_array().unwrap().iter().rev().collect();
    let told: Vec<_> = entries
        .iter()
        .map(|entry| {
            format!(
                "{} {} {}",
                entry["who"].as_str().unwrap_or("?"),
                entry["action"].as_str().unwrap(),
                entry["status"]
            )
        })
        .collect();
    assert_eq!(
        told,
        [
            "driver PATCH /v1/sessions/{id} 200",
            "viewer DELETE /v1/sessions/{id} 403",
            "? GET /v1/sessions/{id} 401"
        ]
    );
    assert!(
        entries.iter().all(|entry| entry["session"] == id && entry["request"].as_str().unwrap().len() == 32)
    );
}
