//! What clients send, and how it is read.

use super::{Endpoint, Leniency, OpenAiError, OutputFormat, Request, Role, read};

fn chat(body: &str) -> Result<Request, OpenAiError> {
    read(Endpoint::Chat, body.as_bytes(), &Leniency::default())
}

fn with(more: &str, leniency: &Leniency) -> Result<Request, OpenAiError> {
    let body = format!(r#"{{"model":"m","messages":[{{"role":"user","content":"x"}}],{more}}}"#);
    read(Endpoint::Chat, body.as_bytes(), leniency)
}

#[test]
fn reads_what_clients_send() {
    let request = chat(r#"{"model":"sonnet","stream":true,"stream_options":{"include_usage":true},"temperature":1,"n":1,"user":"u",
        "messages":[{"role":"developer","content":"Be brief."},{"role":"user","content":"Hi"},{"role":"assistant","content":"Hello"},
        {"role":"user","content":[{"type":"text","text":"Look"},{"type":"image_url","image_url":{"url":"data:image/png;base64,aGk="}}]}]}"#).unwrap();
    assert!(request.stream && request.include_usage && request.ignored.is_empty());
    assert_eq!(request.turns.len(), 4);
    assert_eq!(request.turns[0].role, Role::System);
    assert_eq!(request.turns[3].images().next().unwrap().data, b"hi");
}

#[test]
fn reads_responses_requests() {
    let body = br#"{"model":"m","instructions":"Be brief.","input":"Hi","store":false}"#;
    let request = read(Endpoint::Responses, body, &Leniency::default()).unwrap();
    assert_eq!(request.turns.len(), 2);
    let body = br#"{"model":"m","input":[{"role":"user","content":[{"type":"input_text","text":"Hi"}]}],"previous_response_id":"resp_1"}"#;
    let request = read(Endpoint::Responses, body, &Leniency::default()).unwrap();
    assert_eq!(request.turns[0].words(), "Hi");
    assert_eq!(request.previous.as_deref(), Some("resp_1"));
    // Clients send back all items of a response.
    let body = br#"{"model":"m","input":[{"role":"user","content":"Hi"},{"type":"reasoning","id":"rs_1","summary":[]},
        {"type":"message","role":"assistant","content":[{"type":"output_text","text":"Hello"}]},{"role":"user","content":"Go on"}]}"#;
    assert_eq!(read(Endpoint::Responses, body, &Leniency::default()).unwrap().turns.len(), 3);
}

#[test]
fn tuning_parameters_are_reported_as_ignored_or_refused_if_strict() {
    let strict = Leniency::default().strict(true);
    for (more, name) in [
        (r#""temperature":0.2"#, "temperature"),
        (r#""seed":7"#, "seed"),
        (r#""max_tokens":5"#, "max_tokens"),
        (r#""stop":["x"]"#, "stop"),
        (r#""logit_bias":{"50256":-100}"#, "logit_bias"),
        (r#""parallel_tool_calls":true"#, "parallel_tool_calls"),
        (r#""service_tier":"priority""#, "service_tier"),
        (r#""reasoning_effort":"low""#, "reasoning_effort"),
        (r#""frobnicate":1"#, "frobnicate"),
    ] {
        assert_eq!(with(more, &Leniency::default()).unwrap().ignored, [name], "{more}");
        let error = with(more, &strict).unwrap_err();
        assert_eq!((error.status, error.param.as_deref()), (400, Some(name)));
        assert!(with(more, &strict.clone().ignoring([name])).is_ok(), "{more}");
    }
    for more in [
        r#""tools":[]"#,
        r#""temperature":null"#,
        r#""response_format":{"type":"text"}"#,
        r#""top_p":1.0"#,
        r#""n":1"#,
        r#""service_tier":"auto""#,
        r#""user":"u","metadata":{"a":"b"},"store":true"#,
    ] {
        assert!(with(more, &strict).unwrap().ignored.is_empty(), "{more}");
    }
}

#[test]
fn parameters_that_change_the_meaning_are_refused() {
    for (more, param) in [
        (r#""tools":[{"type":"function","function":{"name":"f"}}]"#, "tools"),
        (r#""tools":{}"#, "tools"),
        (r#""functions":[{"name":"f"}]"#, "functions"),
        (r#""n":2"#, "n"),
        (r#""modalities":["audio"]"#, "modalities"),
        (r#""stream":"yes""#, "stream"),
        (r#""stream_options":[]"#, "stream_options"),
        (r#""metadata":7"#, "metadata"),
        (r#""response_format":{"type":"grammar"}"#, "response_format.type"),
        (r#""response_format":{"type":"json_schema"}"#, "response_format.json_schema.schema"),
        (
            r#""response_format":{"type":"json_schema","json_schema":{"schema":{"type":"array"}}}"#,
            "response_format.json_schema.schema",
        ),
    ] {
        let error = with(more, &Leniency::default()).unwrap_err();
        assert_eq!((error.status, error.param.as_deref()), (400, Some(param)), "{more}");
    }
    let large = format!(
        r#""response_format":{{"type":"json_schema","json_schema":{{"schema":{{"type":"object","title":"{}"}}}}}}"#,
        "x".repeat(200_000)
    );
    assert_eq!(with(&large, &Leniency::default()).unwrap_err().status, 400);
    let lenient = Leniency::default().ignoring(["tools"]);
    assert_eq!(
        with(r#""tools":[{"type":"function","function":{"name":"f"}}]"#, &lenient).unwrap().ignored,
        ["tools"]
    );
}

#[test]
fn output_formats() {
    let format = |more: &str| with(more, &Leniency::default()).unwrap().format;
    assert_eq!(
        format(r#""response_format":{"type":"json_object"}"#),
        OutputFormat::Json { schema: serde_json::json!({"type": "object"}) }
    );
    let schema = serde_json::json!({"type": "object", "properties": {"a": {"type": "string"}}});
    assert_eq!(
        format(&format!(
            r#""response_format":{{"type":"json_schema","json_schema":{{"name":"n","strict":true,"schema":{schema}}}}}"#
        )),
        OutputFormat::Json { schema: schema.clone() }
    );
    let tool = format!(r#"{{"type":"function","function":{{"name":"User","parameters":{schema}}}}}"#);
    let call = OutputFormat::Call { name: "User".into(), schema: schema.clone() };
    for choice in [r#"{"type":"function","function":{"name":"User"}}"#, r#""required""#] {
        assert_eq!(format(&format!(r#""tools":[{tool}],"tool_choice":{choice}"#)), call);
    }
    // Optional calls of several tools need a tool loop in the client, which is not supported here.
    let several = format!(r#""tools":[{tool},{tool}],"tool_choice":"required""#);
    assert_eq!(with(&several, &Leniency::default()).unwrap_err().param.as_deref(), Some("tools"));
    let body = format!(
        r#"{{"model":"m","input":"x","text":{{"format":{{"type":"json_schema","name":"n","schema":{schema}}},"verbosity":"low"}}}}"#
    );
    let request = read(Endpoint::Responses, body.as_bytes(), &Leniency::default()).unwrap();
    assert_eq!(request.format, OutputFormat::Json { schema });
    assert_eq!(request.ignored, ["text.verbosity"]);
}

#[test]
fn calls_and_their_results_are_part_of_a_history() {
    let request = chat(r#"{"model":"m","messages":[{"role":"user","name":"ann","content":"x"},
        {"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"User","arguments":"{}"}}]},
        {"role":"tool","tool_call_id":"c1","name":"User","content":"Validation error"}]}"#)
    .unwrap();
    assert_eq!(request.turns[0].name.as_deref(), Some("ann"));
    assert_eq!(request.turns[1].calls[0].name, "User");
    assert_eq!((request.turns[2].role, request.turns[2].call_id.as_deref()), (Role::Tool, Some("c1")));
}

#[test]
fn errors_name_the_invalid_parameter() {
    for (body, param) in [
        ("nonsense", None),
        ("[]", None),
        (r#"{"messages":[]}"#, Some("model")),
        (r#"{"model":"m"}"#, Some("messages")),
        (r#"{"model":"m","messages":[{"role":"user","content":7}]}"#, Some("messages[0].content")),
        (r#"{"model":"m","messages":[{"role":"robot","content":"x"}]}"#, Some("messages[0].role")),
        (r#"{"model":"m","messages":[{"role":"assistant","content":"x"}]}"#, Some("messages")),
        (
            r#"{"model":"m","messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"http://e.org/a.png"}}]}]}"#,
            Some("messages[0].content[0].image_url"),
        ),
        (
            r#"{"model":"m","messages":[{"role":"assistant","tool_calls":[{"id":"c"}]},{"role":"user","content":"x"}]}"#,
            Some("messages[0].tool_calls[0].function.name"),
        ),
    ] {
        assert_eq!(chat(body).unwrap_err().param.as_deref(), param, "{body}");
    }
}
