//! MCP servers and further folders that the editor of a machine's owner brings to sessions.
//!
//! They start programs and widen where a session may work, so only an owner's editor has them: a client of a server
//! never names a program. They are not stored: an editor names them again each time it opens a session.

use std::collections::HashMap;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agent_client_protocol::v1::schema::McpServer;
use serde_json::{Map, Value, json};
use weir_host::SessionId;

/// What editors brought to sessions. Cloning gives another handle to the same.
#[derive(Debug, Clone)]
pub struct Extras {
    folder: PathBuf,
    known: Arc<Mutex<HashMap<SessionId, Extra>>>,
}

#[derive(Debug, Clone, Default)]
struct Extra {
    folders: Vec<PathBuf>,
    config: Option<PathBuf>,
}

impl Extras {
    /// Keeps configurations of MCP servers as files in this folder, which is emptied first: they may hold secrets.
    ///
    /// # Errors
    /// If the folder cannot be used.
    pub fn new(folder: PathBuf) -> io::Result<Self> {
        match std::fs::remove_dir_all(&folder) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => weir_base::file::create_private_folder(&folder)?,
        }
        Ok(Self { folder, known: Arc::default() })
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<SessionId, Extra>> {
        // No statement under the lock can panic halfway through.
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Further folders of a session, and the file that configures its MCP servers.
    pub fn of(&self, session: &SessionId) -> (Vec<PathBuf>, Option<PathBuf>) {
        let extra = self.lock().get(session).cloned().unwrap_or_default();
        (extra.folders, extra.config)
    }

    /// Sets what an editor brings to a session, in place of what was known.
    pub(crate) fn set(
        &self,
        session: &SessionId,
        folders: Vec<PathBuf>,
        servers: &[McpServer],
    ) -> io::Result<()> {
        self.remove(session);
        if folders.is_empty() && servers.is_empty() {
            return Ok(());
        }
        let mut extra = Extra { folders, config: None };
        if !servers.is_empty() {
            let file = self.folder.join(format!("{session}.json"));
            weir_base::file::replace(&file, config(servers).to_string().as_bytes())?;
            extra.config = Some(file);
        }
        self.lock().insert(session.clone(), extra);
        Ok(())
    }

    /// Forgets a session.
    pub(crate) fn remove(&self, session: &SessionId) {
        if let Some(file) = self.lock().remove(session).and_then(|extra| extra.config) {
            // A file that is left over is removed by the next start.
            let _ = std::fs::remove_file(file);
        }
    }
}

/// MCP servers as the CLI reads them.
fn config(servers: &[McpServer]) -> Value {
    let servers = servers.iter().filter_map(|server| {
        let remote = |kind: &str, url: &str, headers: Map<String, Value>| {
            json!({"type": kind, "url": url, "headers": headers})
        };
        match server {
            McpServer::Stdio(server) => {
                let env = server.env.iter().map(|variable| (variable.name.clone(), json!(variable.value)));
                let env: Map<String, Value> = env.collect();
                let command = server.command.to_string_lossy();
                Some((server.name.clone(), json!({"command": command, "args": server.args, "env": env})))
            }
            McpServer::Http(server) => {
                let headers = server.headers.iter().map(|header| (header.name.clone(), json!(header.value)));
                Some((server.name.clone(), remote("http", &server.url, headers.collect())))
            }
            McpServer::Sse(server) => {
                let headers = server.headers.iter().map(|header| (header.name.clone(), json!(header.value)));
                Some((server.name.clone(), remote("sse", &server.url, headers.collect())))
            }
            _ => None,
        }
    });
    json!({"mcpServers": servers.collect::<Map<String, Value>>()})
}

#[cfg(test)]
mod tests {
    use agent_client_protocol::v1::schema::{EnvVariable, McpServerStdio};

    use super::*;

    #[test]
    fn servers_are_written_for_the_cli_and_forgotten() {
        let place = tempfile::tempdir().unwrap();
        let extras = Extras::new(place.path().join("mcp")).unwrap();
        let session = SessionId::random();
        let server = McpServerStdio::new("files", "/bin/files")
            .args(vec!["-x".to_owned()])
            .env(vec![EnvVariable::new("KEY", "secret")]);
        extras.set(&session, vec!["/more".into()], &[McpServer::Stdio(server)]).unwrap();
        let (folders, config) = extras.of(&session);
        assert_eq!(folders, [PathBuf::from("/more")]);
        let written: Value =
            serde_json::from_slice(&std::fs::read(config.clone().unwrap()).unwrap()).unwrap();
        assert_eq!(
            written,
            json!({"mcpServers": {"files": {"command": "/bin/files", "args": ["-x"], "env": {"KEY": "secret"}}}})
        );
        extras.remove(&session);
        assert!(!config.unwrap().exists());
        assert_eq!(extras.of(&session), (Vec::new(), None));
    }
}
