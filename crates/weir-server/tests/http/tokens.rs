//! Tokens, share links, the audit log.

use serde_json::json;
use weir_server::Role;

use crate::support::Place;

#[tokio::test]
async fn me_describes_the_client() {
    let place = Place::new().await;
    let me = place.get(Role::Approver, "/v1/me").await.json();
    assert_eq!(me["name"], "approver");
    assert_eq!(me["role"], "approver");
    assert_eq!(me["roots"], json!([place.root()]));
    assert_eq!(me["demo"], false);
    assert!(!me["permission_modes"].as_array().unwrap().contains(&json!("bypassPermissions")));
}

#[tokio::test]
async fn a_secret_is_returned_once() {
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
        let kept = std::fs::read_to_string(place.path(file)).unwrap();
        assert!(!kept.contains(&secret), "{file}");
    }
}

#[tokio::test]
async fn invalid_tokens_are_refused() {
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
async fn a_share_link_is_read_only_for_one_session() {
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
async fn a_share_link_ends_with_the_token_that_made_it() {
    let place = Place::new().await;
    let id = place.session().await;
    let new = json!({"name": "ann", "role": "driver"});
    let ann = place.ask(Role::Admin, "POST", "/v1/tokens", Some(&new)).await.json();
    let share = place
        .ask_with(ann["token"].as_str().unwrap(), "POST", &format!("/v1/sessions/{id}/share"), None)
        .await
        .json();
    let guest = share["token"].as_str().unwrap();
    assert_eq!(place.ask_with(guest, "GET", "/v1/me", None).await.status, 200);
    let listed = place.get(Role::Admin, "/v1/tokens").await.json();
    let link = listed["tokens"].as_array().unwrap().iter().find(|token| token["id"] == share["token_id"]);
    assert_eq!(link.unwrap()["maker"], ann["id"]);
    let path = format!("/v1/tokens/{}", ann["id"].as_str().unwrap());
    assert_eq!(place.ask(Role::Admin, "DELETE", &path, None).await.status, 204);
    assert_eq!(place.ask_with(guest, "GET", "/v1/me", None).await.problem(401), "wrong_token");
}

#[tokio::test]
async fn duplicate_token_names_are_refused() {
    let place = Place::new().await;
    let make = |name: &'static str, role: &'static str| {
        let place = &place;
        async move {
            place.ask(Role::Admin, "POST", "/v1/tokens", Some(&json!({"name": name, "role": role}))).await
        }
    };
    assert_eq!(make("ann", "viewer").await.status, 201);
    assert_eq!(make("ann", "admin").await.problem(409), "name_taken");
    assert_eq!(make("Ann", "admin").await.problem(409), "name_taken");
    assert_eq!(make("ready-file", "viewer").await.problem(422), "token");
    for reserved in ["Ready-File", "weir", "ready\u{200b}-file", "ann\u{202e}", " ann", "ann\u{a0}", "an\nn"]
    {
        assert_eq!(make(reserved, "viewer").await.problem(422), "token");
    }
}

#[tokio::test]
async fn a_share_link_cannot_take_all_streams() {
    let place = Place::with(|settings| {
        let limits = &mut settings.limits;
        (limits.streams, limits.streams_per_token, limits.streams_per_share) = (20, 6, 4);
    })
    .await;
    let id = place.session().await;
    let share = || async {
        let path = format!("/v1/sessions/{id}/share");
        let share = place.ask(Role::Driver, "POST", &path, None).await.json();
        share["token"].as_str().unwrap().to_owned()
    };
    let open = |token: String| {
        let (place, id) = (&place, &id);
        async move { place.open(&token, &format!("/v1/sessions/{id}/events")).await }
    };
    let (one, other) = (share().await, share().await);
    let mut streams = Vec::new();
    for _ in 0..4 {
        streams.push(open(one.clone()).await.unwrap());
    }
    let refused = open(one.clone()).await.unwrap_err();
    assert_eq!(refused.problem(429), "token_streams");
    assert!(refused.header("retry-after").parse::<u64>().unwrap() > 0);
    // All links of one maker together have the same limit as one token.
    for _ in 0..2 {
        streams.push(open(other.clone()).await.unwrap());
    }
    assert_eq!(open(other.clone()).await.unwrap_err().problem(429), "token_streams");
    // Their maker and all other tokens have their own limit.
    for role in [Role::Driver, Role::Viewer] {
        for _ in 0..6 {
            streams.push(open(place.token(role).to_owned()).await.unwrap());
        }
        assert_eq!(open(place.token(role).to_owned()).await.unwrap_err().problem(429), "token_streams");
    }
    for _ in 0..2 {
        streams.push(open(place.token(Role::Admin).to_owned()).await.unwrap());
    }
    assert_eq!(open(place.token(Role::Admin).to_owned()).await.unwrap_err().problem(503), "streams");
    drop(streams);
    assert!(open(one).await.is_ok());
}

#[tokio::test]
async fn changes_are_audited() {
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
