//! How a request is answered: the decision, without a connection.

use std::collections::HashMap;
use std::time::Duration;

use super::choose::{Break, choose};
use super::message::ModelMessage;
use super::stream::{Piece, pieces};
use crate::http::request::Request;
use crate::json::{Json, parse};
use crate::object;

/// The path of message requests.
pub(super) const MESSAGES: &str = "/v1/messages";
const COUNT_TOKENS: &str = "/v1/messages/count_tokens";

/// Counters that persist between requests.
#[derive(Debug, Default)]
pub(super) struct Counters {
    messages: u64,
    tools: u64,
    errors: u64,
    /// How often each step was tried.
    tries: HashMap<String, u64>,
}

/// A response, ready to be sent.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Answer {
    /// How long to wait before it.
    pub(super) delay: Duration,
    pub(super) status: u16,
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: AnswerBody,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum AnswerBody {
    Json(Json),
    Stream(Vec<Piece>),
    /// The connection is closed without a response.
    Nothing,
}

impl Answer {
    fn json(status: u16, body: Json) -> Self {
        Self { delay: Duration::ZERO, status, headers: Vec::new(), body: AnswerBody::Json(body) }
    }
}

/// The body of a request as JSON; null if it is not JSON.
pub(super) fn body_of(request: &Request) -> (Json, String) {
    let text = String::from_utf8_lossy(&request.body).into_owned();
    (parse(&text).unwrap_or(Json::Null), text)
}

/// Answers a request.
pub(super) fn answer(request: &Request, body: &Json, text: &str, counters: &mut Counters) -> Answer {
    let path = request.target.split('?').next().unwrap_or_default();
    match (request.method.as_str(), path) {
        ("POST", MESSAGES) => message(body, text, counters),
        ("POST", COUNT_TOKENS) => Answer::json(200, object! { "input_tokens" => (text.len() / 4).max(1) }),
        _ => Answer::json(200, object! {}),
    }
}

fn message(body: &Json, text: &str, counters: &mut Counters) -> Answer {
    if !body.is_object() {
        let error =
            object! { "type" => "invalid_request_error", "message" => "the body is not a JSON object" };
        return Answer::json(400, object! { "type" => "error", "error" => error });
    }
    let mut choice = choose(body, text);
    let tries = counters.tries.entry(choice.key).or_default();
    *tries += 1;
    let goes_wrong = |times: Option<u64>| times.is_none_or(|times| *tries <= times);

    if let Some(error) = choice.step.error.take().filter(|error| goes_wrong(error.times)) {
        counters.errors += 1;
        let body = object! {
            "type" => "error",
            "error" => object! { "type" => error.kind, "message" => error.message },
            "request_id" => format!("req_{:06}", counters.errors),
        };
        return Answer {
            delay: choice.step.sleep,
            headers: error.headers,
            ..Answer::json(error.status, body)
        };
    }
    if !goes_wrong(choice.faults.times) {
        choice.faults.breaks = None;
        choice.faults.stall = 0.0;
    }
    counters.messages += 1;
    let tools = &mut counters.tools;
    let model = body.get("model").cloned().unwrap_or(Json::Null);
    let message = ModelMessage::new(&choice.step, model, counters.messages, || {
        *tools += 1;
        *tools
    });
    let body = if choice.faults.breaks == Some(Break::Connection) {
        AnswerBody::Nothing
    } else if body.is_true("stream") {
        AnswerBody::Stream(pieces(&message, choice.step.word_delay, &choice.faults))
    } else {
        AnswerBody::Json(message.whole())
    };
    let status = if body == AnswerBody::Nothing { 0 } else { 200 };
    Answer { delay: choice.step.sleep, status, headers: choice.step.ok_headers, body }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::array;

    fn ask(script: &str, stream: bool, counters: &mut Counters) -> Answer {
        let message = object! { "role" => "user", "content" => script };
        let body = object! { "model" => "m", "stream" => stream, "messages" => array![message] };
        let text = body.to_string();
        let request = Request {
            method: "POST".into(),
            target: "/v1/messages?beta=true".into(),
            headers: Vec::new(),
            body: text.clone().into_bytes(),
        };
        answer(&request, &body, &text, counters)
    }

    #[test]
    fn an_error_comes_as_often_as_the_step_says() {
        let script = r#"@@[{"status":429,"etype":"rate_limit_error","headers":{"retry-after":1},"times":2,"text":"x"}]"#;
        let mut counters = Counters::default();
        for _ in 0..2 {
            let answer = ask(script, true, &mut counters);
            assert_eq!(answer.status, 429);
            assert_eq!(answer.headers, [("retry-after".to_owned(), "1".to_owned())]);
        }
        let good = ask(script, true, &mut counters);
        assert_eq!(good.status, 200);
        assert!(good.headers.is_empty());
        assert!(matches!(good.body, AnswerBody::Stream(_)));
    }

    #[test]
    fn a_break_comes_as_often_as_the_step_says() {
        let script = r#"@@[{"break":"connection","times":1,"text":"x"}]"#;
        let mut counters = Counters::default();
        assert_eq!(ask(script, true, &mut counters).body, AnswerBody::Nothing);
        assert!(matches!(ask(script, true, &mut counters).body, AnswerBody::Stream(_)));
    }

    #[test]
    fn numbers_continue_from_answer_to_answer() {
        let mut counters = Counters::default();
        let script = r#"@@[{"tool":"Read"}]"#;
        ask(script, false, &mut counters);
        let AnswerBody::Json(second) = ask(script, false, &mut counters).body else {
            panic!("no stream was requested")
        };
        assert_eq!(second.str_of("id"), Some("msg_000002"));
        assert_eq!(second.items_of("content")[0].str_of("id"), Some("toolu_000002"));
    }

    #[test]
    fn a_body_that_is_not_an_object_is_refused() {
        let request = Request {
            method: "POST".into(),
            target: MESSAGES.into(),
            headers: Vec::new(),
            body: b"[".to_vec(),
        };
        let (body, text) = body_of(&request);
        assert_eq!(answer(&request, &body, &text, &mut Counters::default()).status, 400);
    }
}
