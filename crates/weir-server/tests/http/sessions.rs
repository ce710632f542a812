//! Sessions without a process: what is accepted, what is refused.

use serde_json::{Value, json};
use weir_server::Role;

use crate::support::Place;

#[tokio::test]
async fn created_listed_changed_deleted() {
    let place = Place::new().await;
    let body = json!({"cwd": place.root(), "key": "k", "name": "First", "model": "opus", "permission_mode": "plan",
        "allowed_tools": ["Read", "Read(src/**)"], "max_cost_usd": 1.5, "max_turns": 3});
    let created = place.ask(Role::Driver, "POST", "/v1/sessions", Some(&body)).await;
    assert_eq!(created.status, 201, "{}", created.text());
    let info = created.json();
    let id = info["id"].as_str().unwrap();
    assert_eq!(created.header("location"), format!("/v1/sessions/{id}"));
    for (member, value) in [
        ("key", json!("k")),
        ("name", json!("First")),
        ("model", json!("opus")),
        ("permission_mode", json!("plan")),
        ("status", json!("idle")),
        ("max_cost_usd", json!(1.5)),
        ("origin", json!("api")),
        ("has_process", json!(false)),
        ("archived", json!(false)),
        ("parent", Value::Null),
    ] {
        assert_eq!(info[member], value, "{member}");
    }
    let again = place.ask(Role::Driver, "POST", "/v1/sessions", Some(&body)).await;
    assert_eq!((again.status.as_u16(), &again.json()["id"]), (200, &info["id"]));

    let path = format!("/v1/sessions/{id}");
    let renamed = place.ask(Role::Driver, "PATCH", &path, Some(&json!({"name": "Second"}))).await;
    assert_eq!(renamed.json()["name"], "Second");
    let lines = place.ask(Role::Driver, "PATCH", &path, Some(&json!({"name": "a\u{1b}[2J\nb"}))).await;
    assert_eq!(lines.problem(422), "name");
    let listed = place.get(Role::Viewer, "/v1/sessions?search=second").await.json();
    assert_eq!(listed["sessions"].as_array().unwrap().len(), 1);
    let listed = place.get(Role::Viewer, "/v1/sessions?status=running").await.json();
    assert_eq!(listed["sessions"].as_array().unwrap().len(), 0);
    for (limit, becomes) in [(json!(2.5), json!(2.5)), (json!(0), Value::Null)] {
        let changed = place.ask(Role::Driver, "PATCH", &path, Some(&json!({"max_cost_usd": limit}))).await;
        assert_eq!(changed.json()["max_cost_usd"], becomes);
    }
    for limit in ["max_turns", "ask_timeout_s", "task_budget_tokens"] {
        for (number, becomes) in [(7, json!(7)), (0, Value::Null)] {
            let changed = place.ask(Role::Driver, "PATCH", &path, Some(&json!({limit: number}))).await.json();
            assert_eq!(changed[limit], becomes, "{limit}");
        }
    }
    let wrong = place.ask(Role::Driver, "PATCH", &path, Some(&json!({"max_cost_usd": -1}))).await;
    assert_eq!(wrong.status, 422, "{}", wrong.text());
    place.ask(Role::Driver, "PATCH", &path, Some(&json!({"archived": true}))).await;
    assert_eq!(place.get(Role::Viewer, "/v1/sessions").await.json()["sessions"], json!([]));
    let archived = place.get(Role::Viewer, "/v1/sessions?archived=true").await.json();
    assert_eq!(archived["sessions"][0]["id"], id);

    let share = place.ask(Role::Driver, "POST", &format!("{path}/share"), None).await.json();
    let shared = share["token"].as_str().unwrap();
    assert_eq!(place.ask_with(shared, "GET", &path, None).await.status, 200);
    assert_eq!(place.ask(Role::Driver, "DELETE", &path, None).await.status, 204);
    assert_eq!(place.get(Role::Viewer, &path).await.problem(404), "not_found");
    assert_eq!(place.ask_with(shared, "GET", "/v1/me", None).await.problem(401), "wrong_token");
}

#[tokio::test]
async fn pages_of_the_list() {
    let place = Place::new().await;
    let mut made = Vec::new();
    for _ in 0..5 {
        made.push(place.session().await);
    }
    let (mut seen, mut path) = (Vec::new(), "/v1/sessions?limit=2".to_owned());
    loop {
        let page = place.get(Role::Viewer, &path).await.json();
        for session in page["sessions"].as_array().unwrap() {
            seen.push(session["id"].as_str().unwrap().to_owned());
        }
        let Some(cursor) = page["next_cursor"].as_str() else { break };
        path = format!("/v1/sessions?limit=2&cursor={cursor}");
    }
    seen.sort();
    made.sort();
    assert_eq!(seen, made);
    let answer = place.get(Role::Viewer, "/v1/sessions?cursor=nonsense").await;
    assert!(answer.status.is_client_error(), "{}", answer.text());
}

#[tokio::test]
async fn a_request_cannot_choose_the_cli() {
    let place = Place::new().await;
    for member in [
        "program",
        "claude",
        "cli_path",
        "path",
        "args",
        "extra_args",
        "flags",
        "env",
        "environment",
        "settings",
        "mcp_config",
        "add_dirs",
        "plugin_dirs",
        "debug_file",
        "setting_sources",
        "tool_aliases",
        "leading_args",
        "origin",
        "id",
        "role",
        "scopes",
        "resume",
        "state_directory",
    ] {
        let body = json!({"cwd": place.root(), (member): "/bin/sh"});
        let answer = place.ask(Role::Admin, "POST", "/v1/sessions", Some(&body)).await;
        assert_eq!(answer.problem(422), "json_shape", "{member}");
        assert!(answer.text().contains(member));
    }
}

#[tokio::test]
async fn flags_inside_values_are_refused() {
    let place = Place::new().await;
    for bad in ["--settings={}", "-p", "--dangerously-skip-permissions", "", "a\u{0}b", "a\nb"] {
        for member in ["model", "permission_mode"] {
            let body = json!({"cwd": place.root(), (member): bad});
            let answer = place.ask(Role::Driver, "POST", "/v1/sessions", Some(&body)).await;
            assert_eq!(answer.status, 422, "{member} {bad:?}: {}", answer.text());
        }
        for member in ["allowed_tools", "disallowed_tools"] {
            let body = json!({"cwd": place.root(), (member): ["Read", bad]});
            let answer = place.ask(Role::Driver, "POST", "/v1/sessions", Some(&body)).await;
            assert_eq!(answer.status, 422, "{member} {bad:?}: {}", answer.text());
        }
    }
    let id = place.session().await;
    let model = place
        .ask(Role::Driver, "PUT", &format!("/v1/sessions/{id}/model"), Some(&json!({"model": "--settings"})))
        .await;
    assert_eq!(model.status, 422);
    let mode = json!({"mode": "bypassPermissions"});
    let mode =
        place.ask(Role::Admin, "PUT", &format!("/v1/sessions/{id}/permission-mode"), Some(&mode)).await;
    assert_eq!(mode.problem(422), "permission_mode");
}

#[cfg(unix)]
#[tokio::test]
async fn folders_outside_the_roots_are_refused() {
    let place = Place::new().await;
    let root = place.root();
    let outside = place.path("outside");
    std::fs::create_dir(&outside).unwrap();
    std::fs::create_dir(format!("{root}/inside")).unwrap();
    std::os::unix::fs::symlink(&outside, format!("{root}/link")).unwrap();
    std::os::unix::fs::symlink("/", format!("{root}/to_root")).unwrap();
    std::fs::write(format!("{root}/file"), "").unwrap();
    for bad in [
        "/".to_owned(),
        "/etc".to_owned(),
        "".to_owned(),
        ".".to_owned(),
        "relative".to_owned(),
        format!("{root}/../outside"),
        format!("{root}/inside/../../outside"),
        format!("{root}/link"),
        format!("{root}/to_root/etc"),
        format!("{root}/file"),
        format!("{root}/missing"),
        format!("{root}x"),
        format!("{root}\u{0}"),
    ] {
        let answer = place.ask(Role::Driver, "POST", "/v1/sessions", Some(&json!({"cwd": bad}))).await;
        assert_eq!(answer.status, 422, "{bad:?}: {}", answer.text());
    }
    let good = place
        .ask(Role::Driver, "POST", "/v1/sessions", Some(&json!({"cwd": format!("{root}/inside")})))
        .await;
    assert_eq!(good.status, 201);
}

#[tokio::test]
async fn messages_are_checked_and_kept() {
    let place = Place::new().await;
    let id = place.session().await;
    let path = format!("/v1/sessions/{id}/messages");
    for bad in [
        json!({"text": "no client id"}),
        json!({"client_id": "", "text": "x"}),
        json!({"client_id": "a", "text": "x", "mode": "shout"}),
        json!({"client_id": "a", "text": "x", "images": [{"media_type": "image/png", "data": "not base64!"}]}),
        json!({"client_id": "a", "text": "x", "documents": [{"media_type": "application/pdf", "data": "bm8gUERG"}]}),
        json!({"client_id": "a", "text": "x", "documents": [{"media_type": "text/html", "data": "JVBERi0xLjQ="}]}),
        json!({"client_id": "a", "text": "x", "documents": [{"media_type": "text/plain", "data": "/w=="}]}),
        json!({"client_id": "a", "text": "x", "documents": [{"media_type": "text/plain", "data": "eA==", "path": "/x"}]}),
        json!({"client_id": "a", "text": "x", "links": ["file:///etc/passwd"]}),
        json!({"client_id": "a", "text": "x", "links": vec!["https://example.org"; 21]}),
        json!({"client_id": "a", "text": "x", "links": [format!("https://{}", "x".repeat(2048))]}),
        json!({"client_id": "a", "command": {"name": "compact"}, "links": ["https://example.org/a.png"]}),
        json!({"client_id": "a", "text": "x", "model": "opus"}),
    ] {
        let answer = place.ask(Role::Driver, "POST", &path, Some(&bad)).await;
        assert_eq!(answer.status, 422, "{bad}: {}", answer.text());
    }
    let empty = place.ask(Role::Driver, "POST", &path, Some(&json!({"client_id": "a", "text": ""}))).await;
    assert_eq!(empty.status, 422, "{}", empty.text());
}

#[tokio::test]
async fn answers_are_checked() {
    let place = Place::new().await;
    let id = place.session().await;
    let ask = |role: Role, path: &str, body: Value| {
        let (place, path) = (&place, format!("/v1/sessions/{id}/{path}"));
        async move { place.ask(role, "POST", &path, Some(&body)).await }
    };
    let allow = json!({"behavior": "allow"});
    assert_eq!(ask(Role::Approver, "permissions/none", allow).await.problem(404), "request_not_found");
    for bad in [
        json!({}),
        json!({"behavior": "perhaps"}),
        json!({"behavior": "deny", "updated_input": {}}),
        json!({"behavior": "allow", "updated_input": "text"}),
        json!({"behavior": "allow", "scopes": ["all"]}),
    ] {
        let answer = ask(Role::Driver, "permissions/none", bad.clone()).await;
        assert_eq!(answer.status, 422, "{bad}: {}", answer.text());
    }
    let edited = json!({"behavior": "allow", "updated_input": {"command": "rm -rf /"}});
    assert_eq!(ask(Role::Approver, "permissions/none", edited).await.problem(403), "role");
    let rule = json!({"behavior": "allow", "remember": [{"suggestion": 0, "destination": "session"}]});
    assert_eq!(ask(Role::Approver, "permissions/none", rule.clone()).await.problem(403), "role");
    assert_eq!(ask(Role::Driver, "permissions/none", rule).await.problem(404), "request_not_found");
    for bad in [json!({}), json!({"answers": {"q": "a"}, "decline": "no"}), json!({"answers": {"q": 7}})] {
        let answer = ask(Role::Approver, "questions/none", bad.clone()).await;
        assert_eq!(answer.status, 422, "{bad}: {}", answer.text());
    }
}
