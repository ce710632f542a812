//! Responses that continue an earlier one: any of them, any number of times.

use serde_json::{Value, json};

use crate::common::{Answer, TOUCHES, eventually, script};
use crate::support::Served;
use crate::{CHAT, RESPONSES, allow, chat, said, sessions};

fn respond(served: &Served, text: &str, previous: Option<&str>) -> Answer {
    let body = json!({"model": "default", "input": script(&format!(r#"{{"text":"{text}"}}"#)), "previous_response_id": previous});
    served.client.post(RESPONSES, &body).expect(200)
}

fn id(answer: &Answer) -> String {
    answer.json()["id"].as_str().unwrap().to_owned()
}

fn session(answer: &Answer) -> String {
    answer.header("x-weir-session").to_owned()
}

/// The model's texts in a session, oldest first.
fn texts(served: &Served, session: &str) -> Vec<String> {
    let snapshot = served.follow(session, "view").wait("snapshot").json();
    let entries = snapshot["view"]["entries"].as_array().unwrap().clone();
    let texts =
        entries.iter().filter(|entry| entry["body"]["kind"] == "text" || entry["body"]["type"] == "text");
    texts.map(|entry| entry["body"]["text"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_response_can_be_continued_again() {
    let mut served = Served::start();
    let first = respond(&served, "One.", None);
    let second = respond(&served, "Two.", Some(&id(&first)));
    assert_eq!(session(&second), session(&first));
    // Again from the first: a branch with only the text up to that point.
    let other = respond(&served, "Other two.", Some(&id(&first)));
    assert_ne!(session(&other), session(&first));
    assert_eq!(texts(&served, &session(&first)), ["One.", "Two."]);
    assert_eq!(texts(&served, &session(&other)), ["One.", "Other two."]);
    // Both continue, each in its own session.
    let third = respond(&served, "Three.", Some(&id(&second)));
    let other_third = respond(&served, "Other three.", Some(&id(&other)));
    assert_eq!((session(&third), session(&other_third)), (session(&first), session(&other)));
    // A branch of a branch, and once more from the very first.
    let deeper = respond(&served, "Deeper.", Some(&id(&other)));
    assert_eq!(texts(&served, &session(&deeper)), ["One.", "Other two.", "Deeper."]);
    let again = respond(&served, "Again.", Some(&id(&first)));
    assert_eq!(texts(&served, &session(&again)), ["One.", "Again."]);
    served.stop();
}

#[test]
fn two_requests_on_one_response_at_the_same_time_are_two_branches() {
    let mut served = Served::start();
    let first = respond(&served, "One.", None);
    let body = |input: &str| json!({"model": "default", "input": input, "previous_response_id": id(&first)});
    let (slow, quick) = std::thread::scope(|scope| {
        let slow = scope.spawn(|| served.client.post(RESPONSES, &body(TOUCHES)).expect(200));
        eventually("it waits", || (served.info(&session(&first))["status"] == "waiting").then_some(()));
        // While one works in the session, another gets a copy of it.
        let quick = served.client.post(RESPONSES, &body(&script(r#"{"text":"Quick."}"#))).expect(200);
        allow(&served, &session(&first));
        (slow.join().unwrap(), quick)
    });
    assert_eq!(session(&slow), session(&first));
    assert_ne!(session(&quick), session(&first));
    assert_eq!(texts(&served, &session(&quick)), ["One.", "Quick."]);
    assert_eq!(texts(&served, &session(&first)), ["One.", "Finished"]);
    served.stop();
}

#[test]
fn other_instructions_and_other_tokens_do_not_change_a_session() {
    let mut served = Served::start();
    let first = respond(&served, "One.", None);
    let body = json!({"model": "default", "instructions": "Be brief.", "input": script(r#"{"text":"Two."}"#), "previous_response_id": id(&first)});
    let other = served.client.post(RESPONSES, &body).expect(200);
    assert_ne!(session(&other), session(&first));
    assert_eq!(texts(&served, &session(&other)), ["One.", "Two."]);
    let (_, token) = served.token("other", "driver");
    let body = json!({"model": "default", "input": "x", "previous_response_id": id(&first)});
    let refused = served.client.with(&token).post(RESPONSES, &body).expect(404);
    assert_eq!(refused.json()["error"]["param"], "previous_response_id");
    served.stop();
}

/// Conversations with the same beginning or end are not the same.
#[test]
fn conversations_are_never_mixed() {
    let mut served = Served::start();
    let hello = script(r#"{"text":"Hello."}"#);
    let messages = |system: &str, name: &str, last: &str| {
        json!([{"role": "system", "content": system}, {"role": "user", "name": name, "content": hello},
            {"role": "assistant", "content": "Hello."}, {"role": "user", "content": last}])
    };
    let ask = |messages: Value| {
        served.client.post(CHAT, &json!({"model": "default", "messages": messages})).expect(200)
    };
    let begin = |system: &str, name: &str| {
        let mut all = messages(system, name, "");
        all.as_array_mut().unwrap().truncate(2);
        session(&ask(all))
    };
    let (one, two, three) = (begin("a", "ann"), begin("b", "ann"), begin("a", "bob"));
    let next = script(r#"{"text":"Next."}"#);
    for (system, name, expected) in [("b", "ann", &two), ("a", "bob", &three), ("a", "ann", &one)] {
        assert_eq!(session(&ask(messages(system, name, &next))), *expected);
    }
    // What the page added is not part of the client's conversation, so that gets its own session.
    let after = [json!({"role": "assistant", "content": "Next."}), json!({"role": "user", "content": next})];
    let mut all = messages("a", "ann", &next);
    all.as_array_mut().unwrap().extend(after);
    served.send(&one, &script(r#"{"text":"Secret of the page."}"#));
    eventually("it is answered", || (served.info(&one)["status"] == "idle").then_some(()));
    assert_ne!(session(&ask(all)), one);
    assert_eq!(sessions(&served).len(), 4);
    assert_eq!(said(&served.client.post(CHAT, &chat(&hello)).expect(200)), "Hello.");
    served.stop();
}
