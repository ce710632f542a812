//! Tests of the scripted Messages API over a plain connection.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use weir_testkit::api::ScriptedApi;

const SOON: Duration = Duration::from_secs(20);

fn connect(api: &ScriptedApi) -> TcpStream {
    let stream = TcpStream::connect(("127.0.0.1", api.port())).unwrap();
    stream.set_read_timeout(Some(SOON)).unwrap();
    stream
}

fn post(stream: &mut TcpStream, prompt: &str, stream_wanted: bool) {
    let messages = json!([{"role": "user", "content": prompt}]);
    let body =
        json!({"model": "m", "stream": stream_wanted, "messages": messages, "tools": [{"name": "Bash"}]})
            .to_string();
    let head = format!(
        "POST /v1/messages?beta=true HTTP/1.1\r\nx-api-key: k\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(format!("{head}{body}").as_bytes()).unwrap();
}

/// Reads until the text ends with this.
fn read_until(stream: &mut TcpStream, end: &str) -> String {
    let mut text = String::new();
    let mut byte = [0];
    while !text.ends_with(end) {
        assert_eq!(stream.read(&mut byte).unwrap(), 1, "the connection was closed after {text}");
        text.push(char::from(byte[0]));
    }
    text
}

/// Reads a response with a length.
fn read_json(stream: &mut TcpStream) -> (u16, String, Value) {
    let head = read_until(stream, "\r\n\r\n").to_ascii_lowercase();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    let length = head.split("content-length: ").nth(1).unwrap().split('\r').next().unwrap().parse().unwrap();
    let mut body = vec![0; length];
    stream.read_exact(&mut body).unwrap();
    (status, head, serde_json::from_slice(&body).unwrap())
}

#[test]
fn one_connection_serves_streams_and_whole_messages() {
    let api = ScriptedApi::start().unwrap();
    let mut stream = connect(&api);
    for _ in 0..2 {
        post(&mut stream, r#"@@[{"text":"one two","ok_headers":{"x-limit":"7"}}]"#, true);
        let answer = read_until(&mut stream, "0\r\n\r\n");
        assert!(answer.contains("x-limit: 7\r\n"));
        assert!(answer.contains("transfer-encoding: chunked"));
        assert!(answer.contains(r#""delta":{"type":"text_delta","text":"two"}"#));
    }
    post(&mut stream, r#"@@[{"text":"whole","tool":"Bash","input":{"command":"ls"}}]"#, false);
    let (status, _, message) = read_json(&mut stream);
    assert_eq!(status, 200);
    assert_eq!(message["id"], "msg_000003");
    assert_eq!(message["content"][1]["input"]["command"], "ls");

    let requests = api.requests();
    assert_eq!(requests.len(), 3);
    assert!(requests.iter().all(|request| request.is_message() && request.tools == ["Bash"]));
    assert_eq!(requests[2].credential.as_deref(), Some("k"));
}

#[test]
fn errors_have_their_status_headers_and_number_of_attempts() {
    let api = ScriptedApi::start().unwrap();
    let mut stream = connect(&api);
    let script = r#"@@[{"status":529,"etype":"overloaded_error","msg":"Overloaded","headers":{"retry-after":"1"},"times":1,"text":"ok"}]"#;
    post(&mut stream, script, false);
    let (status, head, body) = read_json(&mut stream);
    assert_eq!(status, 529);
    assert!(head.contains("retry-after: 1\r\n"));
    assert_eq!(body["error"], json!({"type": "overloaded_error", "message": "Overloaded"}));
    post(&mut stream, script, false);
    assert_eq!(read_json(&mut stream).0, 200);
    assert_eq!(api.requests().iter().map(|request| request.status).collect::<Vec<_>>(), [529, 200]);
}

#[test]
fn a_cut_stream_ends_without_its_last_event() {
    let api = ScriptedApi::start().unwrap();
    let mut stream = connect(&api);
    post(&mut stream, r#"@@[{"text":"one two three four","break":"stream"}]"#, true);
    let mut rest = String::new();
    stream.read_to_string(&mut rest).unwrap();
    assert!(rest.contains("two"));
    assert!(!rest.contains("three"));
    assert!(!rest.ends_with("0\r\n\r\n"));

    let mut stream = connect(&api);
    post(&mut stream, r#"@@[{"text":"x","break":"connection"}]"#, true);
    let mut rest = String::new();
    stream.read_to_string(&mut rest).unwrap();
    assert_eq!(rest, "");
}

#[test]
fn other_requests_are_answered_too() {
    let api = ScriptedApi::start().unwrap();
    let mut stream = connect(&api);
    stream.write_all(b"HEAD / HTTP/1.1\r\n\r\n").unwrap();
    assert!(read_until(&mut stream, "\r\n\r\n").starts_with("HTTP/1.1 200 OK\r\n"));
    stream.write_all(b"GET /api/anything HTTP/1.1\r\n\r\n").unwrap();
    assert_eq!(read_json(&mut stream).2, json!({}));
    stream.write_all(b"POST /v1/messages/count_tokens HTTP/1.1\r\ncontent-length: 2\r\n\r\n{}").unwrap();
    assert_eq!(read_json(&mut stream).2, json!({"input_tokens": 1}));
}

#[test]
fn dropping_it_ends_a_stalled_response_immediately() {
    let api = ScriptedApi::start().unwrap();
    let mut stream = connect(&api);
    post(&mut stream, r#"@@[{"text":"one two","stall":3600}]"#, true);
    read_until(&mut stream, "one ");
    let mut idle = connect(&api);
    assert!(api.wait_until(SOON, |requests| requests.len() == 1));
    assert!(!api.wait_until(Duration::ZERO, |requests| requests.len() == 2));
    let before = Instant::now();
    drop(api);
    assert!(before.elapsed() < SOON, "it waited for the stall");
    let mut rest = String::new();
    let _reset_or_end = idle.read_to_string(&mut rest);
    assert_eq!(rest, "");
}
