//! Retries: whether a request is a retry of an earlier one.

use crate::hash::Hash;
use crate::request::Endpoint;

/// One attempt at a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attempt {
    /// Identifies the request: the same for each attempt.
    pub key: String,
    /// Hash of the body. A client that uses one key for two different requests gets an error.
    pub body: String,
    /// Whether the client says that this may be a retry.
    pub is_retry: bool,
    /// Whether the client gave the request an idempotency key.
    pub is_named: bool,
}

/// Headers about retries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct AttemptHeaders<'h> {
    /// `Idempotency-Key`: the client's own id for the request.
    pub idempotency_key: Option<&'h str>,
    /// `X-Stainless-Retry-Count`: the number of earlier attempts, sent by OpenAI's clients.
    pub retry_count: Option<&'h str>,
}

/// Identifies a request. `more` holds whatever else distinguishes it, such as the headers that choose a session.
pub fn attempt(
    owner: &str,
    endpoint: Endpoint,
    headers: AttemptHeaders<'_>,
    more: &[Option<&str>],
    body: &[u8],
) -> Attempt {
    let mut hash = Hash::new("body");
    hash.text(endpoint.path());
    for part in more {
        hash.option(*part);
    }
    hash.bytes(body);
    let body = hash.finish();
    let mut key = Hash::new("request");
    key.text(owner);
    let named = headers.idempotency_key.map(str::trim).filter(|key| !key.is_empty());
    key.option(named);
    if named.is_none() {
        key.text(&body);
    }
    let retries = headers.retry_count.and_then(|count| count.trim().parse::<u32>().ok());
    Attempt {
        key: key.finish(),
        body,
        is_retry: named.is_some() || retries.is_some_and(|count| count > 0),
        is_named: named.is_some(),
    }
}

/// What is known about the turn that a request with the same key started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Known<'k> {
    /// Hash of that request's body.
    pub body: &'k str,
    /// Stage of the turn.
    pub stage: Stage,
    /// Time since it started, in milliseconds.
    pub age_ms: i64,
}

/// Stage of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// Running, and a client is waiting for it.
    Attended,
    /// Running, but its client has disconnected.
    Abandoned,
    /// Answered.
    Answered,
    /// Failed.
    Failed {
        /// Time since the failure, in milliseconds.
        ago_ms: i64,
        /// Whether the failure looks temporary to clients.
        looks_temporary: bool,
    },
    /// Started before this server did.
    Unknown,
}

/// What to do with a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It is a new request.
    Begin,
    /// It is a retry: it gets the same response as the first attempt.
    Attach,
    /// The client reused the key of another request.
    KeyReused,
}

/// How long the same request still refers to the same turn.
const MEMORY_MS: i64 = 15 * 60 * 1000;
/// How long an unchanged request gets the same failure again if it looks temporary: clients that do not announce
/// retries send them within this time. The AI SDK takes six seconds for its attempts, aider a little more than a
/// minute.
const TEMPORARY_MS: i64 = 90 * 1000;
/// The same for other failures, which few clients retry, and people only after they have fixed something.
const LASTING_MS: i64 = 10 * 1000;

impl Stage {
    /// How long the same request gets the same failure again, in milliseconds.
    pub fn replays_for_ms(self) -> Option<i64> {
        let Self::Failed { ago_ms, looks_temporary } = self else { return None };
        let window = if looks_temporary { TEMPORARY_MS } else { LASTING_MS };
        Some(window - ago_ms).filter(|left| *left > 0)
    }
}

/// Decides whether a request is a retry of a known turn.
pub fn judge(attempt: &Attempt, known: Option<Known<'_>>) -> Verdict {
    let Some(known) = known else { return Verdict::Begin };
    if known.body != attempt.body {
        return Verdict::KeyReused;
    }
    let is_recent = known.age_ms < MEMORY_MS;
    let attaches = match known.stage {
        Stage::Abandoned => true,
        Stage::Attended => attempt.is_retry,
        Stage::Answered | Stage::Unknown => attempt.is_retry && is_recent,
        Stage::Failed { .. } => known.stage.replays_for_ms().is_some() || attempt.is_retry && is_recent,
    };
    if attaches { Verdict::Attach } else { Verdict::Begin }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chat(owner: &str, headers: AttemptHeaders<'_>, body: &str) -> Attempt {
        attempt(owner, Endpoint::Chat, headers, &[None], body.as_bytes())
    }

    fn retried(count: &str) -> AttemptHeaders<'_> {
        AttemptHeaders { retry_count: Some(count), ..AttemptHeaders::default() }
    }

    fn named(key: &str) -> AttemptHeaders<'_> {
        AttemptHeaders { idempotency_key: Some(key), ..AttemptHeaders::default() }
    }

    #[test]
    fn attempts_of_one_request_share_a_key() {
        let first = chat("me", retried("0"), "body");
        let second = chat("me", retried("1"), "body");
        assert_eq!(first.key, second.key);
        assert!(!first.is_retry && second.is_retry && !second.is_named);
        for other in [
            chat("you", retried("1"), "body"),
            chat("me", retried("1"), "another"),
            chat("me", named("k"), "body"),
            attempt("me", Endpoint::Responses, retried("1"), &[None], b"body"),
            attempt("me", Endpoint::Chat, retried("1"), &[Some("/folder")], b"body"),
        ] {
            assert_ne!(first.key, other.key);
        }
        assert!(!chat("me", retried("often"), "body").is_retry);
        assert!(chat("me", named("k"), "body").is_retry);
        assert_eq!(chat("me", named("k"), "body").key, chat("me", named("k"), "another").key);
        assert!(!chat("me", named(" "), "body").is_named);
    }

    #[test]
    fn a_retry_finds_its_turn_and_another_request_starts_one() {
        let retry = chat("me", retried("1"), "body");
        let first = chat("me", retried("0"), "body");
        let known = |stage, age_ms| Some(Known { body: &first.body, stage, age_ms });
        let failed = |ago_ms, looks_temporary| Stage::Failed { ago_ms, looks_temporary };
        assert_eq!(judge(&retry, None), Verdict::Begin);
        for stage in [
            Stage::Attended,
            Stage::Abandoned,
            Stage::Answered,
            failed(TEMPORARY_MS, true),
            failed(LASTING_MS, false),
            Stage::Unknown,
        ] {
            assert_eq!(judge(&retry, known(stage, 1000)), Verdict::Attach, "{stage:?}");
        }
        // Without retry headers, repeating a request is intentional, unless its client had disconnected or it just
        // failed.
        for (stage, expected) in [
            (Stage::Attended, Verdict::Begin),
            (Stage::Answered, Verdict::Begin),
            (Stage::Abandoned, Verdict::Attach),
            (failed(64_000, true), Verdict::Attach),
            (failed(TEMPORARY_MS, true), Verdict::Begin),
            (failed(3_000, false), Verdict::Attach),
            (failed(LASTING_MS, false), Verdict::Begin),
        ] {
            assert_eq!(judge(&first, known(stage, 1000)), expected, "{stage:?}");
        }
        // A turn that ended long ago is forgotten, a running one is not.
        assert_eq!(judge(&retry, known(Stage::Answered, MEMORY_MS)), Verdict::Begin);
        assert_eq!(judge(&retry, known(Stage::Attended, MEMORY_MS)), Verdict::Attach);
    }

    #[test]
    fn a_key_identifies_one_request() {
        let (one, other) = (chat("me", named("k"), "body"), chat("me", named("k"), "another"));
        let known = Known { body: &one.body, stage: Stage::Attended, age_ms: 0 };
        assert_eq!(judge(&other, Some(known)), Verdict::KeyReused);
        assert_eq!(judge(&one, Some(known)), Verdict::Attach);
    }
}
