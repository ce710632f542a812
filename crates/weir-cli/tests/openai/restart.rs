//! A client that returns after the server was killed continues its session.

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::common::{Answer, script};
use crate::support::Served;

fn ask(served: &Served, messages: &[Value]) -> Answer {
    let body = json!({"model": "default", "messages": messages});
    served.client.post("/v1/chat/completions", &body).expect(200)
}

fn said(answer: &Answer) -> Value {
    answer.json()["choices"][0]["message"].clone()
}

#[test]
fn a_conversation_is_found_again_after_a_kill() {
    let mut served = Served::start();
    // The token of the ready file changes with each start, and histories belong to a token.
    let (_, token) = served.token("program", "driver");
    served.client = served.client.with(&token);
    let mut messages = vec![json!({"role": "user", "content": script(r#"{"text":"The first."}"#)})];
    let first = ask(&served, &messages);
    assert_eq!(said(&first)["content"], "The first.");
    messages.push(said(&first));
    messages.push(json!({"role": "user", "content": script(r#"{"text":"The second."}"#)}));

    served.signal(Signal::KILL);
    assert_eq!(served.finish().code, None);
    served.restart();
    served.client = served.client.with(&token);
    let second = ask(&served, &messages);
    assert_eq!(said(&second)["content"], "The second.");
    let session = first.header("x-weir-session");
    assert_eq!(second.header("x-weir-session"), session);

    // The same history again, even after another restart, is another session: the first was already continued.
    served.stop();
    served.restart();
    served.client = served.client.with(&token);
    let other = ask(&served, &messages);
    assert_ne!(other.header("x-weir-session"), session);
    served.stop();
}
