//! Sessions by the key that a client gave them.

use serde_json::json;

use crate::support::{Served, says};

const KEY: &str = "/v1/keys/flow%3A%3Anode";

#[test]
fn a_key_identifies_its_session() {
    let served = Served::start();
    let cwd = served.place.workspace();
    let message = |id: &str, text: &str| json!({"client_id": id, "text": says(text)});
    let path = format!("{KEY}/messages");
    let missing = served.client.post(&path, &json!({"message": message("a", "one")})).expect(404);
    assert_eq!(missing.json()["code"], "key_not_found");
    served.client.get(KEY).expect(404);
    let body = json!({"session": {"cwd": cwd}, "message": message("a", "one")});
    let seen = served.client.post_events(&format!("{path}?format=classic"), &body).rest();
    assert_eq!(seen.last().unwrap().json()["text"], "one");
    let session = served.client.get(KEY).expect(200).json();
    assert_eq!(session["key"], "flow::node");
    // The second message goes to the same session, and needs only the key.
    let seen = served.client.post_events(&path, &json!({"message": message("b", "two")})).rest();
    assert_eq!(seen.last().unwrap().json()["text"], "two");
    let messages = format!("/v1/sessions/{}/messages", session["id"].as_str().unwrap());
    assert_eq!(served.client.get(&messages).expect(200).json()["messages"].as_array().unwrap().len(), 2);
    let other = json!({"session": {"cwd": cwd, "key": "other"}, "message": message("c", "x")});
    served.client.post("/v1/keys/third/messages", &other).expect(422);
    let (_, viewer) = served.token("vera", "viewer");
    served.client.with(&viewer).get(KEY).expect(200);
    served.client.with(&viewer).post(&path, &json!({"message": message("d", "x")})).expect(403);
}

#[test]
fn clients_of_openai_name_a_session_by_its_key() {
    let served = Served::start();
    let ask = |name: &str, text: &str| {
        let body = json!({"model": "default", "messages": [{"role": "user", "content": says(text)}]});
        served.client.ask("POST", "/v1/chat/completions", &[("X-Weir-Session", name)], Some(&body))
    };
    let first = ask("flow::node", "one").expect(200);
    let second = ask("flow::node", "two").expect(200);
    assert_eq!(second.json()["choices"][0]["message"]["content"], "two");
    assert_eq!(first.header("x-weir-session"), second.header("x-weir-session"));
    let session = served.client.get(KEY).expect(200).json();
    assert_eq!(session["id"], first.header("x-weir-session"));
    ask("00000000-0000-4000-8000-000000000000", "no such session").expect(404);
}
