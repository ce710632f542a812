//! Answers in a JSON schema, and parameters that have no effect.

use serde_json::{Value, json};

use crate::common::script;
use crate::support::Served;
use crate::{CHAT, RESPONSES, chat, said};

fn schema() -> Value {
    json!({"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]})
}

pub(crate) fn gives(value: &str) -> String {
    script(&format!(
        r#"{{"text":"Let me see.","tool":"StructuredOutput","input":{value}}},{{"text":"Done."}}"#
    ))
}

fn parsed(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// If a format is requested, the answer consists only of it.
pub(crate) fn check_forms(served: &Served) {
    let format =
        json!({"type": "json_schema", "json_schema": {"name": "person", "strict": true, "schema": schema()}});
    let body = |stream: bool, name: &str| {
        let mut body = chat(&gives(&format!(r#"{{"name":"{name}"}}"#)));
        body["response_format"] = format.clone();
        body["stream"] = json!(stream);
        body
    };
    let answer = served.client.post(CHAT, &body(false, "Ann")).expect(200);
    assert_eq!(parsed(&said(&answer)), json!({"name": "Ann"}));
    let events = served.client.post_events(CHAT, &body(true, "Amy")).rest();
    let chunks = events.iter().filter(|event| event.data != "[DONE]").map(crate::common::Event::json);
    let text: String = chunks
        .filter_map(|chunk| chunk["choices"][0]["delta"]["content"].as_str().map(str::to_owned))
        .collect();
    assert_eq!(parsed(&text), json!({"name": "Amy"}));

    // The conversation continues in the same session and the same format.
    let mut next = body(false, "Ann");
    let more = [
        json!({"role": "assistant", "content": said(&answer)}),
        json!({"role": "user", "content": gives(r#"{"name":"Bob"}"#)}),
    ];
    next["messages"].as_array_mut().unwrap().extend(more);
    let second = served.client.post(CHAT, &next).expect(200);
    assert_eq!(parsed(&said(&second)), json!({"name": "Bob"}));
    assert_eq!(second.header("x-weir-session"), answer.header("x-weir-session"));

    let mut any = chat(&gives(r#"{"anything":[1]}"#));
    any["response_format"] = json!({"type": "json_object"});
    assert_eq!(parsed(&said(&served.client.post(CHAT, &any).expect(200))), json!({"anything": [1]}));

    let input = json!({"model": "default", "input": gives(r#"{"name":"Eve"}"#),
        "text": {"format": {"type": "json_schema", "name": "person", "schema": schema()}}});
    let response = served.client.post(RESPONSES, &input).expect(200).json();
    assert_eq!(parsed(response["output"][0]["content"][0]["text"].as_str().unwrap()), json!({"name": "Eve"}));

    // A required function is called; instructor does this by default.
    let mut call = chat(&gives(r#"{"name":"Zoe"}"#));
    call["tools"] = json!([{"type": "function", "function": {"name": "Person", "parameters": schema()}}]);
    call["tool_choice"] = json!({"type": "function", "function": {"name": "Person"}});
    let answer = served.client.post(CHAT, &call).expect(200);
    let message = answer.json()["choices"][0]["message"].clone();
    let function = message["tool_calls"][0]["function"].clone();
    assert_eq!(
        (&function["name"], parsed(function["arguments"].as_str().unwrap())),
        (&json!("Person"), json!({"name": "Zoe"}))
    );
    // The client reports what is wrong with the arguments, and continues in the same session.
    let result = json!({"role": "tool", "tool_call_id": message["tool_calls"][0]["id"], "name": "Person",
        "content": format!("Validation error. {}", gives(r#"{"name":"Zoe Z"}"#))});
    call["messages"].as_array_mut().unwrap().extend([message, result]);
    let again = served.client.post(CHAT, &call).expect(200);
    let function = again.json()["choices"][0]["message"]["tool_calls"][0]["function"].clone();
    assert_eq!(parsed(function["arguments"].as_str().unwrap()), json!({"name": "Zoe Z"}));
    assert_eq!(again.header("x-weir-session"), answer.header("x-weir-session"));
}

#[test]
fn an_answer_has_the_requested_format() {
    let mut served = Served::start();
    check_forms(&served);
    // An agent that does not return it has failed.
    let mut body = chat(&script(r#"{"text":"I would rather talk."}"#));
    body["response_format"] = json!({"type": "json_schema", "json_schema": {"schema": schema()}});
    let failed = served.client.post(CHAT, &body).expect(502);
    assert_eq!(failed.json()["error"]["code"], "structured_output_missing");
    assert_eq!(failed.header("x-should-retry"), "false");
    let named =
        served.client.ask("POST", CHAT, &[("X-Weir-Session", failed.header("x-weir-session"))], Some(&body));
    assert_eq!((named.status, &named.json()["error"]["param"]), (400, &json!("response_format")));
    served.stop();
}

/// The CLI ignores a schema that it does not accept, and would answer with any text.
#[test]
fn an_invalid_schema_is_refused_before_the_turn() {
    let mut served = Served::start();
    for part in [json!({"type": "banana"}), json!({"pattern": "("}), json!({"$ref": "#/$defs/none"})] {
        let schema = json!({"type": "object", "properties": {"name": part}});
        let mut body = chat(&gives(r#"{"name":"Ann"}"#));
        body["response_format"] =
            json!({"type": "json_schema", "json_schema": {"name": "p", "schema": schema}});
        let refused = served.client.post(CHAT, &body).expect(400).json();
        assert_eq!(refused["error"]["param"], "response_format.json_schema.schema");
        assert!(refused["error"]["message"].as_str().unwrap().contains("properties.name"), "{refused}");
        let input = json!({"model": "default", "input": "hello",
            "text": {"format": {"type": "json_schema", "name": "p", "schema": schema}}});
        served.client.post(RESPONSES, &input).expect(400);
        let new = json!({"cwd": served.place.workspace(), "output_schema": schema});
        let refused = served.client.post("/v1/sessions", &new).expect(422).json();
        assert!(refused["detail"].as_str().unwrap().contains("properties.name"), "{refused}");
    }
    let sessions = served.client.get("/v1/sessions").expect(200).json();
    assert_eq!(sessions["sessions"], json!([]));
    served.stop();
}

/// What real clients send by default, as observed with aider, litellm, langchain and the AI SDK.
#[test]
fn tuning_is_ignored_with_a_warning_or_refused_if_strict() {
    let mut served = Served::start();
    let text = script(r#"{"text":"Fine."}"#);
    let with = |more: Value| {
        let mut body = chat(&text);
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        body
    };
    for (more, ignored) in [
        (json!({"temperature": 0, "stream": false}), "temperature"),
        (
            json!({"temperature": 0.7, "max_tokens": 256, "top_p": 0.9, "n": 1, "user": "u"}),
            "max_tokens, temperature, top_p",
        ),
        (
            json!({"max_completion_tokens": 5, "seed": 1, "stop": ["x"], "logit_bias": {"1": 2}}),
            "logit_bias, max_completion_tokens, seed, stop",
        ),
        (json!({"metadata": {"a": "b"}, "store": true, "parallel_tool_calls": true}), "parallel_tool_calls"),
        (json!({"x\r\ny": 1}), "x??y"),
    ] {
        let answer = served.client.post(CHAT, &with(more.clone())).expect(200);
        let mut names: Vec<&str> = answer.header("x-weir-ignored").split(", ").collect();
        names.sort_unstable();
        assert_eq!(names.join(", "), ignored);
    }
    let plain = served.client.post(CHAT, &with(json!({"temperature": 1, "user": "u"}))).expect(200);
    assert!(plain.headers.iter().all(|(name, _)| name != "x-weir-ignored"));
    let refused =
        served.client.post(CHAT, &with(json!({"tools": [{"type": "function", "function": {"name": "f"}}]})));
    assert_eq!((refused.status, &refused.json()["error"]["param"]), (400, &json!("tools")));
    served.stop();

    let mut strict = Served::with(&["--openai-strict", "--openai-ignore", "temperature,tools"]);
    let refused = strict.client.post(CHAT, &with(json!({"max_tokens": 5}))).expect(400);
    assert_eq!(refused.json()["error"]["param"], "max_tokens");
    let ignored = json!({"temperature": 0, "tools": [{"type": "function", "function": {"name": "f"}}]});
    assert!(strict.client.post(CHAT, &with(ignored)).expect(200).header("x-weir-ignored").contains("tools"));
    strict.stop();
}
