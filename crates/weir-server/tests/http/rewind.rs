//! Taking conversations back, panels and costs: what is refused. What is done, is in the tests of `weir-host`.

use serde_json::json;
use weir_server::{NewToken, Role};

use crate::support::Place;

#[tokio::test]
async fn a_message_of_no_session_is_not_taken_back() {
    let place = Place::new().await;
    let (id, other) = (place.session().await, place.session().await);
    for message in
        ["8d0e2a4c-0000-4000-8000-000000000000", "", "--resume", "../../etc/passwd", "\u{0}", "x\ny"]
    {
        for route in ["rewind", "branch"] {
            let body = json!({"message_id": message});
            let path = format!("/v1/sessions/{id}/{route}");
            let answer = place.ask(Role::Driver, "POST", &path, Some(&body)).await;
            assert_eq!(answer.problem(404), "message_not_found", "{route} {message:?}");
        }
    }
    for body in [
        json!({}),
        json!({"message_id": "m", "session": other}),
        json!({"message_id": "m", "cwd": "/"}),
        json!({"message_id": ["m"]}),
        json!({"message_id": "m", "files": "yes"}),
    ] {
        let answer = place.ask(Role::Driver, "POST", &format!("/v1/sessions/{id}/rewind"), Some(&body)).await;
        assert_eq!(answer.problem(422), "json_shape", "{body}");
    }
    let text = json!({"message_id": "m", "text": "x"});
    let answer = place.ask(Role::Driver, "POST", &format!("/v1/sessions/{id}/rewind"), Some(&text)).await;
    assert_eq!(answer.problem(422), "invalid");
}

#[tokio::test]
async fn a_token_for_one_session_takes_back_no_other_and_branches_none() {
    let place = Place::new().await;
    let (id, other) = (place.session().await, place.session().await);
    let new = NewToken { session: Some(id.clone()), ..NewToken::new("one", Role::Driver) };
    let secret = place.app.tokens().add(new, 1).unwrap().1;
    let body = json!({"message_id": "m"});
    let ask = async |session: &str, route: &str| {
        place.ask_with(secret.reveal(), "POST", &format!("/v1/sessions/{session}/{route}"), Some(&body)).await
    };
    assert_eq!(ask(&id, "rewind").await.problem(404), "message_not_found");
    assert_eq!(ask(&id, "branch").await.problem(403), "one_session");
    for route in ["rewind", "branch", "rules/remove", "mcp/x/reconnect"] {
        let status = ask(&other, route).await.status.as_u16();
        assert!(matches!(status, 403 | 404), "{route}: {status}");
    }
    for route in ["context", "mcp", "rules", "extensions", "account", "tasks/x/output"] {
        let path = format!("/v1/sessions/{other}/{route}");
        let status = place.ask_with(secret.reveal(), "GET", &path, None).await.status.as_u16();
        assert!(matches!(status, 403 | 404), "{route}: {status}");
    }
    let costs = place.ask_with(secret.reveal(), "GET", "/v1/costs", None).await;
    assert_eq!((costs.status.as_u16(), costs.json()["rows"].clone()), (200, json!([])));
}

#[tokio::test]
async fn panels_without_a_process_say_so() {
    let place = Place::new().await;
    let id = place.session().await;
    for route in ["context", "mcp", "rules", "extensions", "account", "tasks/..%2F..%2Fetc%2Fpasswd/output"] {
        let answer = place.get(Role::Driver, &format!("/v1/sessions/{id}/{route}")).await;
        assert_eq!(answer.problem(409), "not_running", "{route}");
    }
    for (method, route, body) in [
        ("PUT", "mcp/x", json!({"enabled": true})),
        ("PUT", "mcp", json!({"servers": {}})),
        ("POST", "mcp/x/login", json!(null)),
        ("POST", "rules/remove", json!({"behavior": "allow", "rule": "Bash", "source": "session"})),
    ] {
        let path = format!("/v1/sessions/{id}/{route}");
        let body = Some(&body).filter(|body| !body.is_null());
        let answer = place.ask(Role::Admin, method, &path, body).await;
        assert_eq!(answer.problem(409), "not_running", "{route}");
    }
    // Names that the CLI could take for something else.
    for name in ["--help", "%0A"] {
        let path = format!("/v1/sessions/{id}/mcp/{name}/reconnect");
        assert_eq!(place.ask(Role::Driver, "POST", &path, None).await.problem(422), "invalid", "{name}");
    }
    let servers = json!({"servers": {"x": {"type": "stdio"}}});
    let answer = place.ask(Role::Admin, "PUT", &format!("/v1/sessions/{id}/mcp"), Some(&servers)).await;
    assert_eq!(answer.problem(422), "mcp_server");
}

#[tokio::test]
async fn costs_are_asked_for_a_bounded_time() {
    let place = Place::new().await;
    place.session().await;
    let csv = place.get(Role::Viewer, "/v1/costs?format=csv").await;
    assert_eq!(csv.header("content-type"), "text/csv; charset=utf-8");
    assert!(csv.text().starts_with("day,session,title,project,model,usd,"), "{}", csv.text());
    for query in
        ["from=2&to=1", "from=0&to=99999999999999", "offset_minutes=5000", "from=-9223372036854775808"]
    {
        let answer = place.get(Role::Viewer, &format!("/v1/costs?{query}")).await;
        assert_eq!(answer.problem(422), "invalid", "{query}");
    }
    for query in ["session=x", "from=x", "format=exe"] {
        assert_eq!(
            place.get(Role::Viewer, &format!("/v1/costs?{query}")).await.problem(400),
            "query",
            "{query}"
        );
    }
}
