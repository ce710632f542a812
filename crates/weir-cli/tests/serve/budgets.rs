//! A token spends at most its budget, however its messages are distributed.

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::common::{Client, SAYS_HELLO, eventually};
use crate::support::Served;

/// The cost of one answer of the simulated CLI.
fn price(served: &Served) -> f64 {
    let session = served.session();
    served.send(&session, SAYS_HELLO);
    let info = eventually("a price", || {
        Some(served.info(&session)).filter(|info| info["status"] == "idle" && info["cost_usd"].is_number())
    });
    info["cost_usd"].as_f64().unwrap()
}

fn with_budget(served: &Served, name: &str, usd: f64) -> Client {
    let new = json!({"name": name, "role": "driver", "max_cost_usd": usd});
    let made = served.client.post("/v1/tokens", &new).expect(201).json();
    served.client.with(made["token"].as_str().unwrap())
}

fn spent(served: &Served, name: &str) -> f64 {
    let tokens = served.client.get("/v1/tokens").expect(200).json();
    let mut all = tokens["tokens"].as_array().unwrap().iter();
    all.find(|token| token["name"] == name).unwrap()["spent_usd"].as_f64().unwrap()
}

/// Waits until all messages of the sessions have ended, and returns them.
fn ended(served: &Served, sessions: &[String]) -> Vec<Value> {
    let mut all = Vec::new();
    for session in sessions {
        all.extend(eventually("the end of all messages", || {
            let list = served.client.get(&format!("/v1/sessions/{session}/messages")).expect(200).json();
            let list = list["messages"].as_array().unwrap().clone();
            let is_open =
                |message: &Value| ["queued", "sent", "started"].contains(&message["state"].as_str().unwrap());
            (!list.iter().any(is_open)).then_some(list)
        }));
    }
    all
}

/// Sends twenty messages with a token whose budget covers one and a half, and checks the outcome.
fn twenty_messages(sessions: usize) {
    let served = Served::with(&["--max-processes", "8"]);
    let price = price(&served);
    let poor = with_budget(&served, "poor", 1.5 * price);
    let sessions: Vec<String> = (0..sessions).map(|_| served.session()).collect();
    let mut accepted = 0;
    for number in 0..20 {
        let session = &sessions[number % sessions.len()];
        let body = json!({"client_id": number.to_string(), "text": SAYS_HELLO});
        let answer = poor.post(&format!("/v1/sessions/{session}/messages"), &body);
        // Messages after the budget is spent are refused immediately.
        assert!([202, 403].contains(&answer.status), "{}", answer.text());
        accepted += usize::from(answer.status == 202);
    }
    let messages = ended(&served, &sessions);
    assert_eq!(messages.len(), accepted);
    let answered = messages.iter().filter(|message| message["state"] == "answered").count();
    assert_eq!(answered, 2, "{messages:#?}");
    for message in messages.iter().filter(|message| message["state"] != "answered") {
        assert_eq!(message["state"], "failed");
        let why = message["error"].as_str().unwrap();
        assert!(why.contains("the budget of the token `poor` is spent"), "{why}");
    }
    let spent = spent(&served, "poor");
    assert!(spent <= 2.5 * price + 1e-9, "at most one turn too much: {spent} at {price} each");
}

#[test]
fn twenty_messages_in_one_session_spend_the_budget_and_one_turn_at_most() {
    twenty_messages(1);
}

#[test]
fn twenty_messages_in_many_sessions_spend_the_budget_and_one_turn_at_most() {
    twenty_messages(10);
}

#[test]
fn turns_of_a_token_that_can_pay_run_at_the_same_time() {
    let served = Served::with(&["--max-processes", "4"]);
    let price = price(&served);
    let rich = with_budget(&served, "rich", 1000.0 * price);
    let (one, other) = (served.session(), served.session());
    let send = |session: &str, text: &str| {
        let body = json!({"client_id": text, "text": text});
        rich.post(&format!("/v1/sessions/{session}/messages"), &body).expect(202);
    };
    send(&one, SAYS_HELLO);
    eventually("the cost of a turn is known", || (spent(&served, "rich") > 0.0).then_some(()));
    send(&one, crate::common::IS_SLOW);
    served.wait_for_status(&one, "running");
    send(&other, SAYS_HELLO);
    ended(&served, &[other]);
    assert_eq!(served.info(&one)["status"], "running");
}

#[test]
fn openai_clients_have_the_same_budget() {
    let served = Served::start();
    let price = price(&served);
    let poor = with_budget(&served, "poor", 0.5 * price);
    let body = json!({"model": "default", "messages": [{"role": "user", "content": SAYS_HELLO}]});
    poor.post("/v1/chat/completions", &body).expect(200);
    assert!(spent(&served, "poor") >= price - 1e-9, "what was spent is counted before the answer comes");
    assert!(poor.post("/v1/chat/completions", &body).status >= 400);
    assert!(spent(&served, "poor") <= 1.5 * price);
}

/// Nobody sends a message for what the agent does when something in the background has ended.
#[test]
fn an_agent_does_not_continue_by_itself_beyond_the_budget() {
    let served = Served::start();
    let price = price(&served);
    let poor = with_budget(&served, "poor", 0.5 * price);
    let session = served.session();
    let command =
        json!({"command": "sleep 0.3; echo done", "description": "slow", "run_in_background": true});
    let more = json!({"text": "and on and on and on and on", "wdelay": 2000});
    let steps = json!([{"tool": "Bash", "input": command}, {"text": "It runs."}, more]);
    let body = json!({"client_id": "1", "text": format!("@@{steps}")});
    poor.post(&format!("/v1/sessions/{session}/messages"), &body).expect(202);
    let info = eventually("the end of what nobody pays for", || {
        Some(served.info(&session)).filter(|info| info["status"] == "failed")
    });
    let why = info["last_error"].as_str().unwrap();
    assert!(why.contains("continued by itself") && why.contains("`poor` is spent"), "{why}");
    eventually("no process", || (served.info(&session)["has_process"] == false).then_some(()));
    served
        .client
        .post(&format!("/v1/sessions/{session}/messages"), &json!({"client_id": "2", "text": SAYS_HELLO}))
        .expect(202);
    served.wait_for_status(&session, "idle");
}

/// A token that may drive, with these members.
fn driver(served: &Served, name: &str, more: &Value) -> Client {
    let mut new = json!({"name": name, "role": "driver"});
    new.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let made = served.client.post("/v1/tokens", &new).expect(201).json();
    served.client.with(made["token"].as_str().unwrap())
}

fn revoke(served: &Served, name: &str) {
    let id = {
        let tokens = served.client.get("/v1/tokens").expect(200).json();
        let mut all = tokens["tokens"].as_array().unwrap().iter();
        all.find(|token| token["name"] == name).unwrap()["id"].as_str().unwrap().to_owned()
    };
    served.client.ask("DELETE", &format!("/v1/tokens/{id}"), &[], None).expect(204);
}

#[test]
fn messages_of_a_revoked_token_are_not_handed_over() {
    for budget in [json!({}), json!({"max_cost_usd": 1000.0})] {
        let served = Served::start();
        let session = served.session();
        let gone = driver(&served, "gone", &budget);
        let path = format!("/v1/sessions/{session}/messages");
        gone.post(&path, &json!({"client_id": "1", "text": crate::common::IS_SLOW})).expect(202);
        served.wait_for_status(&session, "running");
        gone.post(&path, &json!({"client_id": "2", "text": SAYS_HELLO})).expect(202);
        served.client.post(&path, &json!({"client_id": "3", "text": SAYS_HELLO})).expect(202);
        revoke(&served, "gone");
        served.client.post(&format!("/v1/sessions/{session}/interrupt"), &json!({})).expect(200);
        let messages = ended(&served, &[session]);
        let why = messages[1]["error"].as_str().unwrap();
        assert!(messages[1]["state"] == "failed" && why.contains("was revoked"), "{messages:#?}");
        assert_eq!(messages[2]["state"], "answered", "that of another token is not affected");
    }
}

/// A restart changes the secret of the token in the ready file, but nobody has revoked it.
#[test]
fn messages_of_the_ready_file_are_handed_over_after_a_restart_and_those_of_a_revoked_token_are_not() {
    let mut served = Served::start();
    let session = served.session();
    let gone = driver(&served, "gone", &json!({}));
    let path = format!("/v1/sessions/{session}/messages");
    let send = |client: &Client, number: &str, text: &str| {
        client.post(&path, &json!({"client_id": number, "text": text})).expect(202);
    };
    send(&served.client, "1", crate::common::IS_SLOW);
    served.wait_for_status(&session, "running");
    send(&gone, "2", SAYS_HELLO);
    send(&served.client, "3", SAYS_HELLO);
    served.signal(Signal::KILL);
    served.finish();
    served.restart();
    revoke(&served, "gone");
    send(&served.client, "4", SAYS_HELLO);
    let messages = ended(&served, &[session]);
    let state = |client_id: &str| {
        messages.iter().find(|message| message["client_id"] == client_id).unwrap()["state"].clone()
    };
    assert_eq!((state("2"), state("3"), state("4")), (json!("failed"), json!("answered"), json!("answered")));
}

/// Nobody answers for what the agent does when something in the background has ended.
#[test]
fn an_agent_does_not_continue_by_itself_for_a_revoked_token() {
    let served = Served::with(&["--allow-tools", "Bash"]);
    let gone = driver(&served, "gone", &json!({}));
    let session = served.session_with(&json!({"allowed_tools": ["Bash"]}));
    let command = json!({"command": "until [ -e go ]; do sleep 0.01; done", "run_in_background": true});
    let more = json!({"text": "and on and on and on and on", "wdelay": 2000});
    let steps = json!([{"tool": "Bash", "input": command}, {"text": "It runs."}, more]);
    let body = json!({"client_id": "1", "text": format!("@@{steps}")});
    gone.post(&format!("/v1/sessions/{session}/messages"), &body).expect(202);
    eventually("the answer", || {
        let list = served.client.get(&format!("/v1/sessions/{session}/messages")).expect(200).json();
        (list["messages"][0]["state"] == "answered").then_some(())
    });
    revoke(&served, "gone");
    std::fs::write(served.place.workspace().join("go"), "").unwrap();
    let info =
        eventually("the end", || Some(served.info(&session)).filter(|info| info["status"] == "failed"));
    let why = info["last_error"].as_str().unwrap();
    assert!(why.contains("continued by itself") && why.contains("was revoked"), "{why}");
    eventually("no process", || (served.info(&session)["has_process"] == false).then_some(()));
}

#[test]
fn a_restart_does_not_refill_a_budget() {
    let mut served = Served::start();
    let price = price(&served);
    let session = served.session();
    let poor = with_budget(&served, "poor", 1.5 * price);
    let path = format!("/v1/sessions/{session}/messages");
    let send = |number: usize, text: &str| {
        poor.post(&path, &json!({"client_id": number.to_string(), "text": text})).expect(202);
    };
    send(0, crate::common::IS_SLOW);
    served.wait_for_status(&session, "running");
    for number in 1..6 {
        send(number, SAYS_HELLO);
    }
    served.signal(Signal::KILL);
    served.finish();
    served.restart();
    // Another token resumes the session; it does not pay for them.
    let resumed =
        served.client.post(&format!("/v1/sessions/{session}/resume"), &json!({})).expect(202).json();
    assert_eq!(resumed["released"], 5);
    served.wait_for_status(&session, "running");
    served.client.post(&format!("/v1/sessions/{session}/interrupt"), &json!({})).expect(200);
    let messages = ended(&served, &[session]);
    let of_poor: Vec<&Value> = messages.iter().filter(|message| message["by"] == "poor").collect();
    let states: Vec<&str> = of_poor.iter().map(|message| message["state"].as_str().unwrap()).collect();
    assert_eq!(states, ["indeterminate", "answered", "answered", "failed", "failed", "failed"]);
    assert!(spent(&served, "poor") <= 2.5 * price + 1e-9);
}
