//! What the server allows, decided by who starts it and never by a request.

use std::path::PathBuf;
use std::time::Duration;

use crate::auth::{Rate, Role};
use crate::tools::ToolPolicy;

/// Slash commands that drivers may run unless the server is told otherwise: they tell something, or ask the model for
/// something that needs permissions like any other request. None of them changes settings.
pub const SLASH_COMMANDS: [&str; 8] =
    ["compact", "context", "cost", "init", "review", "code-review", "security-review", "usage"];

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
    /// Slash commands of the CLI that drivers may run.
    pub slash_commands: Vec<String>,
    /// How OpenAI's clients are answered.
    pub openai: OpenAiSettings,
    /// Which tools drivers may allow in advance.
    pub tools: ToolPolicy,
    /// How long a permission request or a question may wait in a session that a program began through the
    /// OpenAI-compatible front: the program cannot answer, only a person who watches can.
    pub unattended_ask_timeout: Duration,
    /// Whether this is the demonstration on the simulated CLI.
    pub demo: bool,
    /// Whether the CLI runs in a sandbox.
    pub sandbox: bool,
    /// How much, how long, how often.
    pub limits: RequestLimits,
    /// How many connections, and how long nothing may happen on one.
    pub connections: ConnectionLimits,
    /// Time between heartbeats of a stream.
    pub heartbeat: Duration,
}

/// How many connections there may be, and how long nothing may happen on one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConnectionLimits {
    /// Most connections at a time. When there are more, one on which nothing is under way is closed.
    pub most: usize,
    /// Most connections of one peer on which nothing was ever asked: an address of IPv4, or a /64 of IPv6.
    pub max_unused_per_peer: usize,
    /// How long the TLS handshake may take, and after it the head of the first request.
    pub first_request: Duration,
    /// How long a connection may wait for another request.
    pub next_request: Duration,
    /// How long the next piece of a request's body may take.
    pub body_pause: Duration,
    /// How long the whole body of a request may take.
    pub body: Duration,
    /// How long a client may leave an answer unread.
    pub unread: Duration,
}

impl ConnectionLimits {
    /// The same, with no more connections than this process may have files open: the rest is for the log and the CLI.
    #[must_use]
    pub(crate) fn affordable(self) -> Self {
        #[cfg(unix)]
        if let Some(files) = rustix::process::getrlimit(rustix::process::Resource::Nofile).current {
            let most = usize::try_from(files / 4 * 3).unwrap_or(usize::MAX);
            return Self { most: self.most.min(most).max(1), ..self };
        }
        self
    }
}

impl Default for ConnectionLimits {
    fn default() -> Self {
        Self {
            most: 4096,
            max_unused_per_peer: 2048,
            first_request: Duration::from_secs(10),
            next_request: Duration::from_secs(75),
            body_pause: Duration::from_secs(20),
            body: Duration::from_secs(300),
            unread: Duration::from_secs(60),
        }
    }
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
    /// Streams of one token, and of all share links together that were made with it.
    pub streams_per_token: usize,
    /// Streams of one share link.
    pub streams_per_share: usize,
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
            streams_per_token: 1000,
            streams_per_share: 16,
        }
    }
}

impl ServerSettings {
    /// The slash commands that a role may run.
    pub fn commands_for(&self, role: Role) -> &[String] {
        match role {
            Role::Viewer | Role::Approver => &[],
            Role::Driver | Role::Admin => &self.slash_commands,
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
            slash_commands: SLASH_COMMANDS.map(str::to_owned).into(),
            openai: OpenAiSettings::default(),
            tools: ToolPolicy::default(),
            unattended_ask_timeout: Duration::from_secs(2 * 60),
            demo: false,
            sandbox: false,
            limits: RequestLimits::default(),
            connections: ConnectionLimits::default(),
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
