//! Whole sessions over HTTP.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::common::{IS_SLOW, SAYS_HELLO, TOUCHES, eventually, script};
use crate::support::Served;

const ASKS: &str = r#"@@[{"tool":"AskUserQuestion","input":{"questions":[{"question":"Which?","header":"W","options":[{"label":"A","description":"a"},{"label":"B","description":"b"}],"multiSelect":false}]}},{"text":"Thanks"}]"#;

/// The request that waits.
fn request(served: &Served, session: &str) -> Value {
    let mut events = served.follow(session, "view");
    let snapshot = events.wait("snapshot").json();
    let requests = snapshot["view"]["requests"].as_array().unwrap();
    requests.iter().find(|request| request["state"]["state"] == "open").unwrap().clone()
}

fn last_text(served: &Served, session: &str) -> String {
    let page = served.client.get(&format!("/v1/sessions/{session}/transcript?limit=1")).expect(200).json();
    page["entries"][0]["body"]["text"].as_str().unwrap().to_owned()
}

/// The client's id of the first message.
fn first_client(served: &Served, session: &str) -> Value {
    let listed = served.client.get(&format!("/v1/sessions/{session}/messages")).expect(200).json();
    listed["messages"][0]["client_id"].clone()
}

#[test]
fn a_message_is_answered_once_however_often_it_is_sent() {
    let served = Served::start();
    let session = served.session();
    let first = served.send(&session, SAYS_HELLO);
    let again = served.send(&session, SAYS_HELLO);
    assert_eq!((&again["message_id"], &again["duplicate"]), (&first["message_id"], &json!(true)));
    let path = format!("/v1/sessions/{session}/messages");
    let reuse = |text: &str| {
        let body = json!({"client_id": first_client(&served, &session), "text": text});
        served.client.post(&path, &body)
    };
    let other = reuse("something else").expect(409).json();
    assert_eq!((&other["code"], &other["message_id"]), (&json!("client_id_used"), &first["message_id"]));
    reuse(SAYS_HELLO).expect(202);
    served.wait_for_status(&session, "idle");
    eventually("the answer", || (last_text(&served, &session) == "Hello there").then_some(()));
    let messages = served.client.get(&format!("/v1/sessions/{session}/messages")).expect(200).json();
    assert_eq!(messages["messages"].as_array().unwrap().len(), 1);
    assert_eq!(messages["messages"][0]["state"], "answered");
    assert_eq!(messages["messages"][0]["by"], "ready-file");
}

#[test]
fn a_permission_is_given_by_the_first_who_answers() {
    let served = Served::start();
    let session = served.session();
    let (_, ann) = served.token("ann", "approver");
    let (_, bo) = served.token("bo", "approver");
    served.send(&session, TOUCHES);
    let info = served.wait_for_status(&session, "waiting");
    assert_eq!(info["waiting_for"], json!({"permissions": 1, "questions": 0}));
    assert!(!served.place.workspace().join("made").exists());
    let request = request(&served, &session);
    let path = format!("/v1/sessions/{session}/permissions/{}", request["id"].as_str().unwrap());
    let rule = json!({"behavior": "allow", "remember": [{"suggestion": 0, "destination": "session"}]});
    served.client.with(&ann).post(&path, &rule).expect(403);
    let answered = served.client.with(&ann).post(&path, &json!({"behavior": "allow"})).expect(200).json();
    assert_eq!(answered["answered_by"], "ann");
    let late = served.client.with(&bo).post(&path, &json!({"behavior": "deny"})).expect(409).json();
    assert_eq!(late["answered_by"], "ann");
    served.wait_for_status(&session, "idle");
    assert!(served.place.workspace().join("made").exists());
}

#[test]
fn a_suggestion_of_the_cli_is_remembered_and_a_denial_is_passed_on() {
    let served = Served::start();
    let session = served.session();
    served.send(&session, TOUCHES);
    served.wait_for_status(&session, "waiting");
    let asked = request(&served, &session);
    let path =
        |request: &Value| format!("/v1/sessions/{session}/permissions/{}", request["id"].as_str().unwrap());
    let answer = json!({"behavior": "allow", "remember": [{"suggestion": 0, "destination": "session"}]});
    served.client.post(&path(&asked), &answer).expect(200);
    served.wait_for_status(&session, "idle");
    let mkdir = script(r#"{"tool":"Bash","input":{"command":"mkdir never"}},{"text":"Well"}"#);
    served.send(&session, &mkdir);
    served.wait_for_status(&session, "waiting");
    let asked = request(&served, &session);
    served.client.post(&path(&asked), &json!({"behavior": "deny", "message": "not today"})).expect(200);
    served.wait_for_status(&session, "idle");
    assert!(!served.place.workspace().join("never").exists());
    let log = served.client.get(&format!("/v1/sessions/{session}/log")).expect(200).text();
    assert!(log.contains("not today"));
}

#[test]
fn a_question_is_answered_and_never_empty() {
    let served = Served::start();
    let session = served.session();
    served.send(&session, ASKS);
    let info = served.wait_for_status(&session, "waiting");
    assert_eq!(info["waiting_for"]["questions"], 1);
    let asked = request(&served, &session);
    let path = format!("/v1/sessions/{session}/questions/{}", asked["id"].as_str().unwrap());
    served.client.post(&path, &json!({"answers": {}})).expect(422);
    served.client.post(&path, &json!({"answers": {"Which?": " "}})).expect(422);
    served.client.post(&path, &json!({"answers": {"Another?": "A"}})).expect(422);
    served.client.post(&path, &json!({"answers": {"Which?": "B"}})).expect(200);
    served.wait_for_status(&session, "idle");
    assert_eq!(last_text(&served, &session), "Thanks");
}

#[test]
fn interrupt_and_stop_report_what_they_did() {
    let served = Served::start();
    let session = served.session();
    let path = |what: &str| format!("/v1/sessions/{session}/{what}");
    assert_eq!(served.client.post(&path("interrupt"), &json!({})).expect(200).json()["interrupted"], false);
    served.send(&session, IS_SLOW);
    served.wait_for_status(&session, "running");
    assert_eq!(served.client.post(&path("interrupt"), &json!({})).expect(200).json()["interrupted"], true);
    eventually("the end of the turn", || (served.info(&session)["status"] != "running").then_some(()));
    assert_eq!(served.info(&session)["has_process"], true);
    served.send(&session, &script(r#"{"text":"one two","wdelay":50}"#));
    served.wait_for_status(&session, "running");
    assert_eq!(served.client.post(&path("stop"), &json!({})).expect(200).json(), json!({"stopped": true}));
    assert_eq!(served.info(&session)["has_process"], false);
}

#[test]
fn an_interrupt_right_after_a_message_withdraws_it() {
    let served = Served::start();
    let session = served.session_with(&json!({"permission_mode": "acceptEdits"}));
    let interrupt = format!("/v1/sessions/{session}/interrupt");
    let file = served.place.workspace().join("ran");
    for round in 0..3 {
        let tool = script(&format!(
            r#"{{"sleep":1,"tool":"Write","input":{{"file_path":"{}","content":"x"}}}},{{"text":"done {round}"}}"#,
            file.display()
        ));
        let sent = served.send(&session, &tool);
        assert_eq!(served.client.post(&interrupt, &json!({})).expect(200).json()["interrupted"], true);
        let path = format!("/v1/sessions/{session}/messages");
        eventually("the end of the message", || {
            let messages = served.client.get(&path).expect(200).json()["messages"].clone();
            let ours =
                messages.as_array()?.iter().find(|message| message["message_id"] == sent["message_id"])?;
            matches!(ours["state"].as_str()?, "cancelled" | "answered" | "failed").then_some(())
        });
    }
    served.send(&session, &script(r#"{"text":"the next answer"}"#));
    served.wait_for_status(&session, "idle");
    assert!(!file.exists());
}

#[test]
fn a_background_task_can_be_stopped_separately() {
    let served = Served::start();
    let session = served.session();
    let stop = |task: &str| format!("/v1/sessions/{session}/tasks/{task}/stop");
    let is_unknown = |task: &str| {
        let absent = served.client.post(&stop(task), &json!({})).expect(404).json();
        assert_eq!(absent["code"], "task_not_found");
    };
    is_unknown("none");
    let agent = r#"{"description":"wait","subagent_type":"general-purpose","run_in_background":true,"prompt":"go @@[{\"sleep\":300,\"text\":\"never\"}]"}"#;
    served.send(&session, &script(&format!(r#"{{"tool":"Task","input":{agent}}},{{"text":"started"}}"#)));
    let tasks = || {
        let snapshot = served.follow(&session, "view").wait("snapshot").json();
        snapshot["view"]["tasks"].as_array().cloned().unwrap_or_default()
    };
    let task = eventually("a task", || Some(tasks().first()?["id"].as_str()?.to_owned()));
    is_unknown("none");
    assert_eq!(served.client.post(&stop(&task), &json!({})).expect(200).json()["task_id"], task.as_str());
    eventually("the end of the task", || tasks().is_empty().then_some(()));
    is_unknown(&task);
    assert_eq!(served.info(&session)["has_process"], true);
}

#[test]
fn a_queued_message_can_be_withdrawn() {
    let served = Served::start();
    let session = served.session();
    served.send(&session, IS_SLOW);
    served.wait_for_status(&session, "running");
    let waiting = served.send(&session, "later");
    let path = format!("/v1/sessions/{session}/messages");
    let queued = served.client.get(&format!("{path}?state=queued")).expect(200).json();
    assert_eq!(queued["messages"][0]["message_id"], waiting["message_id"]);
    let one = format!("{path}/{}", waiting["message_id"].as_str().unwrap());
    assert_eq!(served.client.ask("DELETE", &one, &[], None).expect(200).json()["state"], "cancelled");
    served.client.ask("DELETE", &one, &[], None).expect(409);
    served.client.ask("DELETE", &format!("{path}/none"), &[], None).expect(404);
}

#[test]
fn the_work_of_a_session_can_be_read() {
    let served = Served::start();
    let session =
        served.session_with(&json!({"permission_mode": "acceptEdits", "name": "<script>alert(1)</script>"}));
    let file = served.place.workspace().join("a.txt");
    let text = script(&format!(
        r#"{{"tool":"Write","input":{{"file_path":"{}","content":"one\n<script>alert(2)</script>\n"}}}},{{"text":"Written <img src=x onerror=alert(3)>"}}"#,
        file.display()
    ));
    served.send(&session, &text);
    served.wait_for_status(&session, "idle");
    assert!(file.exists());
    let get = |what: &str| served.client.get(&format!("/v1/sessions/{session}/{what}")).expect(200);
    let diff = get("diff").json();
    assert_eq!(diff["files"][0]["additions"], 2);
    let html = get("export?format=html");
    assert!(html.header("content-type").starts_with("text/html"));
    assert!(html.header("content-disposition").starts_with("attachment; filename=\"session-"));
    assert!(!html.text().contains("<script>alert") && !html.text().contains("<img src=x"));
    assert!(get("export?format=md").text().contains("Written"));
    let lines = get("export?format=ndjson").text();
    assert!(lines.lines().all(|line| serde_json::from_str::<Value>(line).is_ok()));
    let all = get("transcript?limit=100").json();
    let tool =
        all["entries"].as_array().unwrap().iter().find(|entry| entry["body"]["kind"] == "tool").unwrap();
    let id = tool["body"]["id"].as_str().unwrap();
    let output = get(&format!("tools/{id}/output"));
    assert!(output.header("content-type").starts_with("text/plain"));
    assert!(output.text().contains("a.txt"));
    served.client.get(&format!("/v1/sessions/{session}/tools/none/output")).expect(404);
    let first = get("transcript?limit=1").json();
    let before = first["next_before"].as_u64().unwrap();
    let second = get(&format!("transcript?limit=1&before={before}")).json();
    assert!(second["entries"][0]["id"].as_u64() < first["entries"][0]["id"].as_u64());
}

#[test]
fn a_fork_is_independent() {
    let served = Served::start();
    let session = served.session();
    served.send(&session, SAYS_HELLO);
    served.wait_for_status(&session, "idle");
    let forked = served
        .client
        .post(&format!("/v1/sessions/{session}/fork"), &json!({"name": "copy"}))
        .expect(201)
        .json();
    assert_eq!((&forked["name"], &forked["parent"]["id"]), (&json!("copy"), &json!(session)));
    let copy = forked["id"].as_str().unwrap();
    served.send(copy, &script(r#"{"text":"In the copy"}"#));
    eventually("the answer", || (last_text(&served, copy) == "In the copy").then_some(()));
    assert_eq!(last_text(&served, &session), "Hello there");
}

#[test]
fn the_budget_of_a_token_is_enforced() {
    let served = Served::start();
    let session = served.session();
    let new = json!({"name": "cy", "role": "driver", "max_cost_usd": 0.000_001});
    let token =
        served.client.post("/v1/tokens", &new).expect(201).json()["token"].as_str().unwrap().to_owned();
    let poor = served.client.with(&token);
    let path = format!("/v1/sessions/{session}/messages");
    poor.post(&path, &json!({"client_id": "1", "text": SAYS_HELLO})).expect(202);
    eventually("the cost", || {
        (poor.get("/v1/me").json()["budget_left_usd"].as_f64().unwrap() <= 0.0).then_some(())
    });
    let refused = poor.post(&path, &json!({"client_id": "2", "text": SAYS_HELLO})).expect(403).json();
    assert_eq!(refused["code"], "token_budget");
    served.client.post(&path, &json!({"client_id": "3", "text": SAYS_HELLO})).expect(202);
}

/// A picture of one pixel.
const DOT: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

#[test]
fn pictures_can_be_fetched_again() {
    let mut served = Served::start();
    let session = served.session();
    let dot = STANDARD.decode(DOT).unwrap();
    let file = served.place.workspace().join("dot.png");
    std::fs::write(&file, &dot).unwrap();
    let text = script(&format!(
        r#"{{"tool":"Read","input":{{"file_path":"{}"}}}},{{"text":"A dot"}}"#,
        file.display()
    ));
    let body = json!({"client_id": "with a picture", "text": text, "images": [{"media_type": "image/png", "data": DOT}]});
    let path = format!("/v1/sessions/{session}/messages");
    let message =
        served.client.post(&path, &body).expect(202).json()["message_id"].as_str().unwrap().to_owned();
    served.wait_for_status(&session, "idle");
    let entries = served.client.get(&format!("/v1/sessions/{session}/transcript")).expect(200).json();
    let tool =
        entries["entries"].as_array().unwrap().iter().find(|entry| entry["body"]["kind"] == "tool").unwrap();
    let tool = tool["body"]["id"].as_str().unwrap().to_owned();
    let fork = served.client.post(&format!("/v1/sessions/{session}/fork"), &json!({})).expect(201).json();
    let fork = fork["id"].as_str().unwrap().to_owned();
    let look = |served: &Served| {
        for session in [&session, &fork] {
            for what in [format!("messages/{message}"), format!("tools/{tool}")] {
                let picture =
                    served.client.get(&format!("/v1/sessions/{session}/{what}/images/0")).expect(200);
                assert_eq!(picture.header("content-type"), "image/png");
                assert_eq!(picture.header("x-content-type-options"), "nosniff");
                assert_eq!(picture.body, dot, "{what}");
                for none in ["1", "-1", "x", "99999999999999999999"] {
                    served.client.get(&format!("/v1/sessions/{session}/{what}/images/{none}")).expect(404);
                }
            }
        }
        served.client.get(&format!("/v1/sessions/{session}/messages/none/images/0")).expect(404);
    };
    look(&served);
    served.signal(Signal::KILL);
    served.finish();
    served.restart();
    look(&served);
}

#[test]
fn documents_reach_the_model_and_can_be_fetched_again() {
    let mut served = Served::start();
    let session = served.session();
    let pdf = b"%PDF-1.4\n\xff".to_vec();
    let documents = json!([
        {"media_type": "application/pdf", "data": STANDARD.encode(&pdf), "title": "plan.pdf"},
        {"media_type": "text/plain", "data": STANDARD.encode("naïve")},
    ]);
    let links = ["https://example.org/a.png", "https://example.org/b.pdf?x=1"];
    let body = json!({"client_id": "mine", "text": script(r#"{"text":"read"}"#), "documents": documents, "links": links});
    let path = format!("/v1/sessions/{session}/messages");
    let message =
        served.client.post(&path, &body).expect(202).json()["message_id"].as_str().unwrap().to_owned();
    served.wait_for_status(&session, "idle");
    let again = served.client.post(&path, &body).expect(202).json();
    assert_eq!((again["duplicate"].clone(), again["message_id"].clone()), (json!(true), json!(message)));
    let mut other = body.clone();
    other["links"] = json!([links[0]]);
    served.client.post(&path, &other).expect(409);
    let told = served.client.get(&path).expect(200).json()["messages"][0].clone();
    assert_eq!((told["images"].clone(), told["documents"].clone()), (json!(0), json!(4)), "{told}");
    let entries = served.client.get(&format!("/v1/sessions/{session}/transcript")).expect(200).json();
    let entries = entries["entries"].as_array().unwrap().clone();
    let user = entries.iter().find(|entry| entry["body"]["kind"] == "user").unwrap();
    assert_eq!((user["body"]["images"].clone(), user["body"]["documents"].clone()), (json!(0), json!(4)));
    let look = |served: &Served| {
        let at = |what: &str| format!("/v1/sessions/{session}/messages/{message}/{what}");
        let first = served.client.get(&at("documents/0")).expect(200);
        assert_eq!((first.header("content-type"), &first.body), ("application/pdf", &pdf));
        assert!(first.header("content-disposition").starts_with("attachment;"));
        let second = served.client.get(&at("documents/1")).expect(200);
        assert_eq!(String::from_utf8(second.body.clone()).unwrap(), "naïve");
        assert_eq!(second.header("content-type"), "text/plain; charset=utf-8");
        for none in ["documents/2", "documents/-1", "images/0"] {
            served.client.get(&at(none)).expect(404);
        }
    };
    look(&served);
    served.signal(Signal::KILL);
    served.finish();
    served.restart();
    look(&served);
}

#[test]
fn a_session_is_found_by_what_was_said() {
    let served = Served::start();
    let (first, second) = (served.session(), served.session());
    served.send(&first, &script(r#"{"text":"The heron waits next to the sluice"}"#));
    served.send(&second, &script(r#"{"text":"Nothing of that kind"}"#));
    for session in [&first, &second] {
        served.wait_for_status(session, "idle");
        eventually("the answer", || (!last_text(&served, session).starts_with("@@")).then_some(()));
    }
    let found = |words: &str| {
        let listed = served.client.get(&format!("/v1/sessions?search={words}")).expect(200).json();
        let sessions = listed["sessions"].as_array().unwrap().clone();
        sessions.iter().map(|session| session["id"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(found("heron%20sluice"), [first], "what the agent said");
    assert_eq!(found("kind"), [second]);
    assert_eq!(found("text").len(), 2, "what the agent was told");
    assert!(found("flamingo").is_empty());
    assert!(found("%22%27%28%2A%20OR%20NEAR%29").is_empty(), "there is no query language");
}
