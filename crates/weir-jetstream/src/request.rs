//! The two requests that everything is made of: store a message if the last one on its subject is the expected one, and read
//! a message from the leader of a stream.

use std::time::Duration;

use async_nats::jetstream::message::StreamMessage;
use async_nats::jetstream::stream::{LastRawMessageErrorKind, Stream};
use async_nats::{Client, HeaderMap, Request};
use bytes::Bytes;
use serde::Deserialize;
use weir_store::StoreError;

/// How long an answer may take before it counts as missing. An answer that comes later is not lost: what was stored is found
/// by reading.
pub(crate) const ANSWER_WAIT: Duration = Duration::from_secs(2);

const EXPECTED: &str = "Nats-Expected-Last-Subject-Sequence";
/// "wrong last sequence": the last message on the subject is not the expected one.
const WRONG_LAST: u64 = 10071;
/// The same, where the server does not say which one is: another message is under way on the subject.
const WRONG_LAST_UNKNOWN: u64 = 10164;
/// There is no space. This is checked before anything is stored anywhere.
const NO_SPACE: [u64; 2] = [10023, 10047];
/// A limit of the stream, which all servers apply in the same way.
const LIMIT: &str = "maximum";
/// HTTP's "service unavailable": there is no leader at the moment, or one server could not store what others perhaps could.
const BUSY: u64 = 503;

/// What became of a message.
#[derive(Debug)]
pub(crate) enum Sent {
    /// It is stored on the wanted number of servers, at this position.
    Stored(u64),
    /// It is not, because the last message on the subject is not the expected one.
    Refused,
    /// It is not, for another reason.
    Rejected(StoreError),
    /// It is not known: it may be stored, now or later.
    NoAnswer(String),
}

#[derive(Debug, Deserialize)]
struct Answer {
    #[serde(default)]
    seq: u64,
    error: Option<Refusal>,
}

#[derive(Debug, Deserialize)]
struct Refusal {
    #[serde(default)]
    code: u64,
    #[serde(default)]
    err_code: u64,
    #[serde(default)]
    description: String,
}

/// Stores a message. With `expected`, only if the last one on the subject is at that position; zero for none.
pub(crate) async fn send(
    client: &Client,
    subject: String,
    mut headers: HeaderMap,
    payload: Bytes,
    expected: Option<u64>,
) -> Sent {
    if let Some(expected) = expected {
        headers.insert(EXPECTED, expected.to_string());
    }
    let request = Request::new().headers(headers).payload(payload).timeout(Some(ANSWER_WAIT));
    match client.send_request(subject, request).await {
        Ok(message) => answer(&message.payload),
        Err(error) => Sent::NoAnswer(error.to_string()),
    }
}

fn answer(payload: &[u8]) -> Sent {
    match serde_json::from_slice(payload) {
        Ok(Answer { seq, error: None }) if seq > 0 => Sent::Stored(seq),
        Ok(Answer { error: Some(refusal), .. }) => match refusal {
            Refusal { err_code: WRONG_LAST | WRONG_LAST_UNKNOWN, .. } => Sent::Refused,
            Refusal { code: BUSY, err_code, description }
                if !NO_SPACE.contains(&err_code) && !description.starts_with(LIMIT) =>
            {
                Sent::NoAnswer(description)
            }
            Refusal { err_code, description, .. } => {
                Sent::Rejected(StoreError::Unavailable { detail: format!("{description} ({err_code})") })
            }
        },
        Ok(Answer { error: None, .. }) => Sent::NoAnswer("the answer has no position".to_owned()),
        Err(error) => Sent::NoAnswer(format!("the answer cannot be read: {error}")),
    }
}

/// The last message on a subject.
pub(crate) async fn last(stream: &Stream, subject: &str) -> Result<Option<StreamMessage>, StoreError> {
    found(limited(stream.get_last_raw_message_by_subject(subject)).await?)
}

/// The first message on a subject from this position on.
pub(crate) async fn next(
    stream: &Stream,
    subject: &str,
    from: u64,
) -> Result<Option<StreamMessage>, StoreError> {
    found(limited(stream.get_first_raw_message_by_subject(subject, from)).await?)
}

/// The message at this position.
pub(crate) async fn at(stream: &Stream, position: u64) -> Result<Option<StreamMessage>, StoreError> {
    found(limited(stream.get_raw_message(position)).await?)
}

async fn limited<T>(request: impl Future<Output = T>) -> Result<T, StoreError> {
    let limited = tokio::time::timeout(ANSWER_WAIT, request).await;
    limited.map_err(|_| StoreError::Unavailable { detail: "a request was not answered in time".to_owned() })
}

fn found(
    answer: Result<StreamMessage, async_nats::error::Error<LastRawMessageErrorKind>>,
) -> Result<Option<StreamMessage>, StoreError> {
    match answer {
        Ok(message) => Ok(Some(message)),
        Err(error) if error.kind() == LastRawMessageErrorKind::NoMessageFound => Ok(None),
        Err(error) => Err(StoreError::Unavailable { detail: error.to_string() }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_told_apart() {
        assert!(matches!(answer(br#"{"stream":"a","seq":7}"#), Sent::Stored(7)));
        for code in [10071, 10164] {
            let refused = format!(
                r#"{{"error":{{"code":400,"err_code":{code},"description":"wrong last sequence: 5"}}}}"#
            );
            assert!(matches!(answer(refused.as_bytes()), Sent::Refused), "{code}");
        }
        for (code, err_code, description, is_certain) in [
            (503, 10077, "maximum bytes exceeded", true),
            (500, 10047, "insufficient storage resources available", true),
            (503, 10023, "insufficient resources", true),
            (400, 10054, "message size exceeds maximum allowed", true),
            (503, 10077, "write: no space left on device", false),
            (503, 10008, "JetStream system temporarily unavailable", false),
        ] {
            let text = format!(
                r#"{{"error":{{"code":{code},"err_code":{err_code},"description":"{description}"}}}}"#
            );
            let found = answer(text.as_bytes());
            assert_eq!(matches!(found, Sent::Rejected(_)), is_certain, "{found:?}");
            assert_eq!(matches!(found, Sent::NoAnswer(_)), !is_certain, "{found:?}");
        }
        for unclear in [&b""[..], b"{}", b"null", br#"{"seq":0}"#] {
            assert!(matches!(answer(unclear), Sent::NoAnswer(_)));
        }
    }
}
