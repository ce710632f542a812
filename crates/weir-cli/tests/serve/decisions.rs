//! Who may decide what: every role with every action, on requests of the simulated CLI.

use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};

use crate::common::{TOUCHES, eventually, script};
use crate::support::Served;

/// The open request. Right after an answer, a session may still show as waiting although no request is open.
pub(crate) fn open_request(served: &Served, session: &str) -> Value {
    eventually("an open request", || {
        let mut events = served.follow(session, "view");
        let snapshot = events.wait("snapshot").json();
        let requests = snapshot["view"]["requests"].as_array()?;
        requests.iter().find(|request| request["state"]["state"] == "open").cloned()
    })
}

fn path(session: &str, request: &Value) -> String {
    format!("/v1/sessions/{session}/permissions/{}", request["id"].as_str().unwrap())
}

/// Sends a message with a unique id, even if the text was sent before.
fn say(served: &Served, session: &str, text: &str) {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    let name = format!("m{}", COUNT.fetch_add(1, Ordering::Relaxed));
    let message = json!({"client_id": name, "text": text});
    served.client.post(&format!("/v1/sessions/{session}/messages"), &message).expect(202);
}

/// Runs steps in the session up to its first request.
fn asks(served: &Served, session: &str, steps: &str) -> Value {
    say(served, session, &script(steps));
    open_request(served, session)
}

const ROLES: [&str; 4] = ["viewer", "approver", "driver", "admin"];
const MAKES: &str = r#"{"tool":"Bash","input":{"command":"mkdir -p made"}},{"text":"Done"}"#;
const PLANS: &str = r#"{"tool":"ExitPlanMode","input":{"plan":"1. Do it."}},{"text":"Done"}"#;
const QUESTION: &str = r#"{"tool":"AskUserQuestion","input":{"questions":[{"question":"Which?","header":"W","options":[{"label":"A","description":"a"},{"label":"B","description":"b"}],"multiSelect":false}]}},{"text":"Done"}"#;

const FORM: &str = r#"{"text":"Done","misbehave":{"elicit":{"mcp_server_name":"shop","message":"Your order","mode":"form",
    "requested_schema":{"type":"object","required":["size"],"properties":{"size":{"enum":["s","l"]},"count":{"type":"integer","minimum":1}}},
    "property_order":["size","count"]}}}"#;
const LINK: &str = r#"{"text":"Done","misbehave":{"elicit":{"mcp_server_name":"shop","message":"Sign in","mode":"url","url":"https://example.org/sign-in"}}}"#;

/// The decisions, with the steps that lead to them and the lowest role that is allowed.
fn actions() -> Vec<(&'static str, &'static str, Value, &'static str)> {
    let remember = |destination: &str| json!([{"suggestion": 0, "destination": destination}]);
    let rule = |destination: &str| json!({"behavior": "allow", "remember": remember(destination)});
    vec![
        ("allow once", MAKES, json!({"behavior": "allow"}), "approver"),
        ("deny", MAKES, json!({"behavior": "deny", "message": "no"}), "approver"),
        ("deny and end the turn", MAKES, json!({"behavior": "deny", "interrupt": true}), "approver"),
        (
            "allow with other arguments",
            MAKES,
            json!({"behavior": "allow", "updated_input": {"command": "mkdir -p other"}}),
            "driver",
        ),
        ("add a rule for the session", MAKES, rule("session"), "driver"),
        ("store a rule in the project for oneself", MAKES, rule("localSettings"), "admin"),
        ("store a rule in the project for everyone", MAKES, rule("projectSettings"), "admin"),
        ("store a rule for all projects", MAKES, rule("userSettings"), "admin"),
        ("approve a plan", PLANS, json!({"behavior": "allow"}), "approver"),
        (
            "approve a plan and ask for edits",
            PLANS,
            json!({"behavior": "allow", "permission_mode": "default"}),
            "approver",
        ),
        (
            "approve a plan and accept edits",
            PLANS,
            json!({"behavior": "allow", "permission_mode": "acceptEdits"}),
            "driver",
        ),
        ("keep planning", PLANS, json!({"behavior": "deny", "message": "think again"}), "approver"),
        ("answer a question", QUESTION, json!({"answers": {"Which?": "A"}}), "approver"),
        ("decline a question", QUESTION, json!({"decline": "no"}), "approver"),
        ("fill in a form", FORM, json!({"action": "accept", "content": {"size": "l"}}), "approver"),
        ("decline a form", FORM, json!({"action": "decline"}), "approver"),
        ("say that a link was visited", LINK, json!({"action": "accept"}), "approver"),
        ("cancel a link", LINK, json!({"action": "cancel"}), "approver"),
    ]
}

#[test]
fn a_role_decides_what_the_table_says_and_nothing_else() {
    let served = Served::start();
    let tokens = ROLES.map(|role| (role, served.token(role, role).1));
    let session = served.session();
    for (action, steps, body, least) in actions() {
        let family = match steps {
            QUESTION => "questions",
            FORM | LINK => "elicitations",
            _ => "permissions",
        };
        // The disallowed roles try first, all on one request; then each allowed role gets its own request.
        let (too_low, enough): (Vec<_>, Vec<_>) = {
            let place = |role: &str| ROLES.iter().position(|name| *name == role).unwrap();
            tokens.iter().partition(|(role, _)| place(role) < place(least))
        };
        let mut too_low = too_low.as_slice();
        for (role, token) in enough {
            // A rule of the round before must not answer for this one.
            let session = if body.get("remember").is_some() { served.session() } else { session.clone() };
            let request = asks(&served, &session, steps);
            let path = format!("/v1/sessions/{session}/{family}/{}", request["id"].as_str().unwrap());
            for (low, token) in std::mem::take(&mut too_low) {
                let refused = served.client.with(token).post(&path, &body).expect(403).json();
                assert_eq!(refused["code"], "role", "{action} as {low}");
                // The route itself takes an approver.
                let needs = if *low == "viewer" { "approver" } else { least };
                assert_eq!(refused["needs"], needs, "{action} as {low}");
            }
            let answered = served.client.with(token).post(&path, &body).expect(200).json();
            assert_eq!(answered["answered_by"], *role, "{action}");
            served.wait_for_status(&session, "idle");
        }
    }
}

#[test]
fn a_rule_for_the_session_holds_for_every_kind_of_tool() {
    let served = Served::start();
    let url = r#"{"tool":"WebFetch","input":{"url":"http://127.0.0.1:9/x","prompt":"what"}},{"text":"Done"}"#;
    let write = r#"{"tool":"Write","input":{"file_path":"a.txt","content":"x"}},{"text":"Done"}"#;
    for steps in [MAKES, url, write] {
        let session = served.session();
        let request = asks(&served, &session, steps);
        let body = json!({"behavior": "allow", "remember": [{"suggestion": 0, "destination": "session"}]});
        served.client.post(&path(&session, &request), &body).expect(200);
        served.wait_for_status(&session, "idle");
        // The second time there is no request.
        say(&served, &session, &script(steps));
        served.wait_for_status(&session, "idle");
        let log = served.client.get(&format!("/v1/sessions/{session}/log")).expect(200).text();
        assert_eq!(log.matches("can_use_tool").count(), 1, "{steps}");
    }
}

#[test]
fn clients_cannot_define_their_own_rules() {
    let served = Served::start();
    let session = served.session();
    let request = asks(&served, &session, MAKES);
    let path = path(&session, &request);
    let rule = json!({"type": "addRules", "rules": [{"toolName": "Bash"}], "behavior": "allow"});
    for bad in [
        json!({"behavior": "allow", "updated_permissions": [rule]}),
        json!({"behavior": "allow", "remember": [rule]}),
        json!({"behavior": "allow", "remember": [{"suggestion": 0, "destination": "session", "rule": "Bash"}]}),
        json!({"behavior": "allow", "remember": [{"suggestion": 7, "destination": "session"}]}),
        json!({"behavior": "allow", "remember": [{"suggestion": -1, "destination": "session"}]}),
        json!({"behavior": "allow", "remember": [{"suggestion": 0, "destination": "policySettings"}]}),
        json!({"behavior": "allow", "remember": [{"suggestion": 0}]}),
        json!({"behavior": "allow", "remember":
            [{"suggestion": 0, "destination": "session"}, {"suggestion": 0, "destination": "userSettings"}]}),
        json!({"behavior": "deny", "remember": [{"suggestion": 0, "destination": "session"}]}),
        json!({"behavior": "deny", "permission_mode": "default"}),
        json!({"behavior": "allow", "permission_mode": "acceptEdits"}),
        json!({"behavior": "allow", "permission_mode": "bypassPermissions"}),
        json!({"behavior": "allow", "message": "yes"}),
    ] {
        let refused = served.client.post(&path, &bad);
        assert_eq!(refused.status, 422, "{bad}");
    }
    assert!(!served.place.workspace().join("made").exists());
    served.client.post(&path, &json!({"behavior": "deny"})).expect(200);
    served.wait_for_status(&session, "idle");
    // A mode that is suggested is kept for the session only, and a plan has no rules.
    let write = r#"{"tool":"Write","input":{"file_path":"a.txt","content":"x"}},{"text":"Done"}"#;
    let request = asks(&served, &session, write);
    let stored = json!({"behavior": "allow", "remember": [{"suggestion": 0, "destination": "userSettings"}]});
    served.client.post(&self::path(&session, &request), &stored).expect(422);
    served.client.post(&self::path(&session, &request), &json!({"behavior": "deny"})).expect(200);
    served.wait_for_status(&session, "idle");
    let request = asks(&served, &session, PLANS);
    let rule = json!({"behavior": "allow", "remember": [{"suggestion": 0, "destination": "session"}]});
    served.client.post(&self::path(&session, &request), &rule).expect(422);
    let plan = json!({"behavior": "allow", "permission_mode": "plan"});
    served.client.post(&self::path(&session, &request), &plan).expect(422);
    served.client.post(&self::path(&session, &request), &json!({"behavior": "deny"})).expect(200);
}

#[test]
fn what_the_cli_forbids_to_remember_is_not_remembered() {
    let served = Served::start();
    let session = served.session();
    let steps = r#"{"tool":"Bash","input":{"command":"mkdir -p made"},"misbehave":{"ask_with":{
        "suppress_always_allow_rule":true,"default_to_no":true,"classifier_approvable":false,
        "matched_ask_rule":{"source":"userSettings","tool_name":"Bash","rule_content":"mkdir:*"},
        "decision_reason_type":"safetyCheck","mcp_server":{"name":"files","source":"project"}}}},{"text":"Done"}"#;
    let request = asks(&served, &session, steps);
    assert_eq!(
        request["kind"]["context"],
        json!({"default_to_no": true, "suppress_always_allow_rule": true, "classifier_approvable": false,
            "decision_reason_type": "safetyCheck",
            "matched_ask_rule": {"source": "userSettings", "tool_name": "Bash", "rule_content": "mkdir:*"},
            "mcp_server": {"name": "files", "source": "project"}})
    );
    let rule = json!({"behavior": "allow", "remember": [{"suggestion": 0, "destination": "session"}]});
    let refused = served.client.post(&path(&session, &request), &rule).expect(422).json();
    assert_eq!(refused["code"], "no_rule");
    served.client.post(&path(&session, &request), &json!({"behavior": "allow"})).expect(200);
    served.wait_for_status(&session, "idle");
}

#[test]
fn a_plan_is_carried_out_in_the_mode_that_was_decided_on() {
    let write = |name: &str| {
        let text = r#"{"tool":"ExitPlanMode","input":{"plan":"1. Do it."}},
            {"tool":"Write","input":{"file_path":"NAME","content":"x"}},{"text":"Done"}"#;
        script(&text.replace("NAME", name))
    };
    for before in ["default", "acceptEdits"] {
        let served = Served::start();
        let session = served.session_with(&json!({"permission_mode": before}));
        say(&served, &session, "@@[{\"text\":\"Hello\"}]");
        served.wait_for_status(&session, "idle");
        let mode = |mode: &str| {
            let path = format!("/v1/sessions/{session}/permission-mode");
            served.client.ask("PUT", &path, &[], Some(&json!({"mode": mode}))).expect(200);
        };
        mode("plan");
        say(&served, &session, &write("asked"));
        let plan = open_request(&served, &session);
        assert_eq!(plan["kind"]["kind"], "plan");
        served.client.post(&path(&session, &plan), &json!({"behavior": "allow"})).expect(200);
        let edit = loop {
            let request = open_request(&served, &session);
            if request["id"] != plan["id"] {
                break request;
            }
        };
        assert_eq!(edit["kind"]["tool_name"], "Write", "before the plan: {before}");
        assert!(!served.place.workspace().join("asked").exists());
        served.client.post(&path(&session, &edit), &json!({"behavior": "deny"})).expect(200);
        served.wait_for_status(&session, "idle");
        assert_eq!(served.info(&session)["permission_mode"], "default");
        mode("plan");
        say(&served, &session, &write("accepted"));
        let plan = open_request(&served, &session);
        let accept = json!({"behavior": "allow", "permission_mode": "acceptEdits"});
        served.client.post(&path(&session, &plan), &accept).expect(200);
        served.wait_for_status(&session, "idle");
        assert!(served.place.workspace().join("accepted").exists(), "before the plan: {before}");
        assert_eq!(served.info(&session)["permission_mode"], "acceptEdits");
    }
}

#[test]
fn a_preview_is_shown_only_to_those_who_may_decide() {
    let served = Served::start();
    let session = served.session();
    let workspace = served.place.workspace();
    let (_, viewer) = served.token("vi", "viewer");
    let (_, approver) = served.token("al", "approver");
    std::fs::write(workspace.join("here.txt"), "old\nkept\n").unwrap();
    let outside = workspace.parent().unwrap().join("outside.txt");
    std::fs::write(&outside, "the secret\n").unwrap();
    std::os::unix::fs::symlink(&outside, workspace.join("link.txt")).unwrap();
    let preview = |file: &str| {
        let steps = json!([{"tool": "Write", "input": {"file_path": file, "content": "new\nkept\n"}}, {"text": "Done"}]);
        say(&served, &session, &format!("@@{steps}"));
        let request = open_request(&served, &session);
        let path = path(&session, &request);
        let at = format!("{path}/preview");
        served.client.with(&viewer).get(&at).expect(403);
        let shown = served.client.with(&approver).get(&at).expect(200).json();
        served.client.post(&path, &json!({"behavior": "deny"})).expect(200);
        served.wait_for_status(&session, "idle");
        // After the decision there is no preview any more.
        served.client.get(&at).expect(404);
        shown
    };
    let shown = preview(workspace.join("here.txt").to_str().unwrap());
    assert_eq!(
        (&shown["effect"], &shown["added"], &shown["removed"]),
        (&json!("replaces"), &json!(1), &json!(1))
    );
    assert!(shown["diff"].as_str().unwrap().contains("\n-old\n+new\n kept\n"), "{shown}");
    assert_eq!(preview("new.txt")["effect"], "creates");
    for file in [outside.to_str().unwrap(), workspace.join("link.txt").to_str().unwrap()] {
        let shown = preview(file);
        assert_eq!((&shown["effect"], &shown["diff"]), (&json!("replaces"), &Value::Null), "{file}");
        assert!(shown["reason"].as_str().unwrap().contains("outside"), "{shown}");
        assert!(!shown.to_string().contains("the secret"));
    }
    say(&served, &session, TOUCHES);
    let request = open_request(&served, &session);
    served.client.get(&format!("{}/preview", path(&session, &request))).expect(404);
}

#[test]
fn a_form_accepts_only_valid_content() {
    let served = Served::start();
    let session = served.session();
    let request = asks(&served, &session, FORM);
    assert_eq!(
        request["kind"],
        json!({"kind": "elicitation", "server": "shop", "message": "Your order", "form": [
            {"name": "size", "label": "size", "required": true, "kind": {"type": "choice",
                "options": [{"value": "s", "label": "s"}, {"value": "l", "label": "l"}]}},
            {"name": "count", "label": "count", "required": false,
                "kind": {"type": "number", "integer": true, "minimum": 1.0, "maximum": null}},
        ]})
    );
    let path = format!("/v1/sessions/{session}/elicitations/{}", request["id"].as_str().unwrap());
    for bad in [
        json!({}),
        json!({"action": "accept"}),
        json!({"action": "accept", "content": {}}),
        json!({"action": "accept", "content": {"size": "m"}}),
        json!({"action": "accept", "content": {"size": "s", "count": 0}}),
        json!({"action": "accept", "content": {"size": "s", "more": true}}),
        json!({"action": "decline", "content": {"size": "s"}}),
        json!({"action": "perhaps"}),
        json!({"action": null}),
    ] {
        assert_eq!(served.client.post(&path, &bad).status, 422, "{bad}");
    }
    let odd = FORM.replace(r#"{"enum":["s","l"]}"#, r#"{"type":"object"}"#);
    let other = served.session();
    let unknown = asks(&served, &other, &odd);
    assert_eq!(unknown["kind"]["form"], Value::Null);
    let at = format!("/v1/sessions/{other}/elicitations/{}", unknown["id"].as_str().unwrap());
    served.client.post(&at, &json!({"action": "accept", "content": {"size": {}}})).expect(422);
    served.client.post(&at, &json!({"action": "decline"})).expect(200);
    // A permission is not an answer to it.
    let allow = json!({"behavior": "allow"});
    served.client.post(&path.replace("elicitations", "permissions"), &allow).expect(422);
    let deny = json!({"behavior": "deny", "message": "because", "interrupt": true});
    served.client.post(&path.replace("elicitations", "permissions"), &deny).expect(422);
    served.client.post(&path, &json!({"action": "accept", "content": {"size": "s", "count": 2}})).expect(200);
    served.wait_for_status(&session, "idle");
    let transcript =
        served.client.get(&format!("/v1/sessions/{session}/transcript?limit=9")).expect(200).text();
    assert!(
        transcript
            .contains(r#"The server got {\"action\":\"accept\",\"content\":{\"size\":\"s\",\"count\":2}}"#)
            || transcript.contains(r#"{\"count\":2,\"size\":\"s\"}"#),
        "{transcript}"
    );
}

#[test]
fn the_model_gets_a_message_even_if_a_person_declines_silently() {
    let served = Served::start();
    for said in ["", "  "] {
        let session = served.session();
        let request = asks(&served, &session, QUESTION);
        let path = format!("/v1/sessions/{session}/questions/{}", request["id"].as_str().unwrap());
        served.client.post(&path, &json!({"decline": said})).expect(200);
        served.wait_for_status(&session, "idle");
        let log = served.client.get(&format!("/v1/sessions/{session}/log")).expect(200).text();
        assert!(log.contains("A person looked at this and did not answer it."), "{log}");
    }
}
