//! What the server allows, decided by who starts it and never by a request.

use std::path::PathBuf;
use std::time::Duration;

use crate::auth::Rate;

/// What the server allows.
#[derive(Debug, Clone)]
pub struct ServerSettings {
    /// What stands before every path: empty, or `/name` without a slash at its end.
    pub base_path: String,
    /// Folders below which conversations may work.
    pub roots: Vec<PathBuf>,
    /// Models that the page offers.
    pub models: Vec<String>,
    /// Permission modes that may be asked for.
    pub permission_modes: Vec<String>,
    /// How OpenAI's clients are answered.
    pub openai: OpenAiSettings,
    /// Whether this is the demonstration on the simulated CLI.
    pub demo: bool,
    /// How much, how long, how often.
    pub limits: RequestLimits,
    /// Time between heartbeats of a stream.
    pub heartbeat: Duration,
}

/// How OpenAI's clients are answered.
#[derive(Debug, Clone)]
pub struct OpenAiSettings {
    /// Refuse parameters that tune an answer and cannot be honoured. Otherwise they are ignored, with a warning.
    pub strict: bool,
    /// Parameters that are ignored in any case.
    pub ignores: Vec<String>,
    /// How long a turn runs on after its last client has gone, for another try to find it.
    pub grace: Duration,
    /// How long a turn may take, whatever it waits for.
    pub timeout: Duration,
}

impl Default for OpenAiSettings {
    fn default() -> Self {
        Self {
            strict: false,
            ignores: Vec::new(),
            grace: Duration::from_secs(15),
            timeout: Duration::from_secs(60 * 60),
        }
    }
}

/// How much, how long, how often.
#[derive(Debug, Clone)]
pub struct RequestLimits {
    /// Longest body of a request.
    pub body_bytes: usize,
    /// Longest body of a message, which may have images.
    pub message_bytes: usize,
    /// How long a request may take until its answer begins.
    pub time: Duration,
    /// The same for what waits for a process to end.
    pub stop_time: Duration,
    /// Requests of one token.
    pub per_token: Rate,
    /// Wrong tokens from one address.
    pub attempts: Rate,
    /// Streams that may be open at a time.
    pub streams: usize,
}

impl Default for RequestLimits {
    fn default() -> Self {
        Self {
            body_bytes: 1 << 20,
            message_bytes: 32 << 20,
            time: Duration::from_secs(30),
            stop_time: Duration::from_secs(120),
            per_token: Rate { per_minute: 6000, burst: 1000 },
            attempts: Rate { per_minute: 10, burst: 10 },
            streams: 2000,
        }
    }
}

impl Default for ServerSettings {
    fn default() -> Self {
        Self {
            base_path: String::new(),
            roots: Vec::new(),
            models: ["default", "opus", "sonnet", "haiku"].map(str::to_owned).into(),
            permission_modes: ["default", "acceptEdits", "plan", "dontAsk"].map(str::to_owned).into(),
            openai: OpenAiSettings::default(),
            demo: false,
            limits: RequestLimits::default(),
            heartbeat: Duration::from_secs(15),
        }
    }
}

/// The base path in the form that the server wants: `/name` or nothing.
///
/// # Errors
/// What is wrong with it.
pub fn base_path(text: &str) -> Result<String, String> {
    let path = text.trim_end_matches('/');
    let is_plain = |character: char| character.is_ascii_alphanumeric() || "/-_.~".contains(character);
    if path.is_empty() {
        return Ok(String::new());
    }
    if !path.starts_with('/') || path.contains("//") || path.contains("/.") || !path.chars().all(is_plain) {
        return Err(format!("`{text}` is no base path; it looks like /weir"));
    }
    Ok(path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base_paths() {
        assert_eq!(base_path("/"), Ok(String::new()));
        assert_eq!(base_path("/weir/"), Ok("/weir".to_owned()));
        assert_eq!(base_path("/a/b"), Ok("/a/b".to_owned()));
        for bad in ["weir", "//evil.example", "/a//b", "/a/../b", "/a b", "/{id}"] {
            assert!(base_path(bad).is_err(), "{bad}");
        }
    }
}
