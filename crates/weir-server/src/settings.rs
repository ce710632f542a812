//! Settings of the server, chosen by the operator and never by a request.

use std::path::PathBuf;
use std::time::Duration;

use crate::auth::{Rate, Role};
use crate::tools::ToolPolicy;

/// Slash commands that drivers may run by default: they show information, or give the model work that needs permissions
/// like any other request. None of them changes settings.
pub const SLASH_COMMANDS: [&str; 8] =
    ["compact", "context", "cost", "init", "review", "code-review", "security-review", "usage"];

/// Settings of the server.
#[derive(Debug, Clone)]
pub struct ServerSettings {
    /// Prefix of every path: empty, or `/name` without a trailing slash.
    pub base_path: String,
    /// Folders below which sessions may work.
    pub roots: Vec<PathBuf>,
    /// Models that the page offers.
    pub models: Vec<String>,
    /// Permission modes that clients may choose.
    pub permission_modes: Vec<String>,
    /// Slash commands of the CLI that drivers may run.
    pub slash_commands: Vec<String>,
    /// Settings of the OpenAI-compatible front.
    pub openai: OpenAiSettings,
    /// Which tools drivers may allow in advance.
    pub tools: ToolPolicy,
    /// How long a request may wait for a decision in a session that a program created through the OpenAI-compatible
    /// front: the program cannot answer, only a viewer can.
    pub unattended_ask_timeout: Duration,
    /// Whether this is the demo with the simulated CLI.
    pub demo: bool,
    /// Whether the CLI runs in a sandbox.
    pub sandbox: bool,
    /// Limits on requests.
    pub limits: RequestLimits,
    /// Limits on connections.
    pub connections: ConnectionLimits,
    /// Time between heartbeats of a stream.
    pub heartbeat: Duration,
}

/// Limits on connections: how many there may be, and how long they may be idle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConnectionLimits {
    /// Maximum open connections. When there are more, an idle one is closed.
    pub max_connections: usize,
    /// Maximum connections of one peer (an IPv4 address or an IPv6 /64) that never had a request.
    pub max_unused_per_peer: usize,
    /// How long the TLS handshake may take, and then the head of the first request.
    pub first_request: Duration,
    /// How long a connection may wait for another request.
    pub next_request: Duration,
    /// How long the next chunk of a request's body may take.
    pub body_pause: Duration,
    /// How long the whole body of a request may take.
    pub body: Duration,
    /// How long a client may leave a response unread.
    pub unread: Duration,
}

impl ConnectionLimits {
    /// Lowers the maximum to what the limit of open files allows: the rest is for the log and the CLI.
    #[must_use]
    pub(crate) fn affordable(self) -> Self {
        #[cfg(unix)]
        if let Some(files) = rustix::process::getrlimit(rustix::process::Resource::Nofile).current {
            let affordable = usize::try_from(files / 4 * 3).unwrap_or(usize::MAX);
            return Self { max_connections: self.max_connections.min(affordable).max(1), ..self };
        }
        self
    }
}

impl Default for ConnectionLimits {
    fn default() -> Self {
        Self {
            max_connections: 4096,
            max_unused_per_peer: 2048,
            first_request: Duration::from_secs(10),
            next_request: Duration::from_secs(75),
            body_pause: Duration::from_secs(20),
            body: Duration::from_secs(300),
            unread: Duration::from_secs(60),
        }
    }
}

/// Settings of the OpenAI-compatible front.
#[derive(Debug, Clone)]
pub struct OpenAiSettings {
    /// Refuse unsupported tuning parameters. Otherwise they are ignored, with a warning.
    pub strict: bool,
    /// Parameters that are always ignored.
    pub ignores: Vec<String>,
    /// How long a turn keeps running after its last client has disconnected, so that a retry can find it.
    pub grace: Duration,
    /// How long a turn may take, including all waiting.
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

/// Limits on requests.
#[derive(Debug, Clone)]
pub struct RequestLimits {
    /// Maximum size of a request body.
    pub body_bytes: usize,
    /// Maximum size of a message body, which may have images.
    pub message_bytes: usize,
    /// How long a request may take until its response starts.
    pub time: Duration,
    /// The same for requests that wait for a process to end.
    pub stop_time: Duration,
    /// Requests per token.
    pub per_token: Rate,
    /// Wrong tokens per address.
    pub attempts: Rate,
    /// Maximum open streams.
    pub streams: usize,
    /// Maximum streams of one token, and of all share links made with it together.
    pub streams_per_token: usize,
    /// Maximum streams of one share link.
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

/// Normalizes a base path: `/name` or nothing.
///
/// # Errors
/// Why the base path is invalid.
pub fn base_path(text: &str) -> Result<String, String> {
    let path = text.trim_end_matches('/');
    let is_plain = |character: char| character.is_ascii_alphanumeric() || "/-_.~".contains(character);
    if path.is_empty() {
        return Ok(String::new());
    }
    if !path.starts_with('/') || path.contains("//") || path.contains("/.") || !path.chars().all(is_plain) {
        return Err(format!("`{text}` is not a valid base path; use one like /weir"));
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
