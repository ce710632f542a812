//! Files that hold what a process is started with. As an argument every user of the machine could read it, and
//! long texts do not fit.

use std::io::Write as _;
use std::path::PathBuf;

use serde_json::{Map, Value, json};
use tempfile::TempPath;

use crate::arguments::SETTINGS;
use crate::options::SessionOptions;

/// Paths of the files; `None` for what is not set.
#[derive(Debug, Default)]
pub(crate) struct StartFiles {
    /// The system prompt.
    pub(crate) system: Option<PathBuf>,
    /// Text after the system prompt.
    pub(crate) append: Option<PathBuf>,
    /// The MCP servers, which may have keys in their headers.
    pub(crate) servers: Option<PathBuf>,
    /// The settings.
    pub(crate) settings: Option<PathBuf>,
}

/// Writes the files, which only their owner can read. They are deleted with the returned paths.
pub(crate) fn write(options: &SessionOptions) -> std::io::Result<(StartFiles, Vec<TempPath>)> {
    let mut kept = Vec::new();
    let mut file = |name: &str, text: Option<String>| -> std::io::Result<Option<PathBuf>> {
        let Some(text) = text else { return Ok(None) };
        let mut file = tempfile::Builder::new().prefix(&format!("weir-{name}-")).suffix(".txt").tempfile()?;
        file.write_all(text.as_bytes())?;
        file.flush()?;
        if let Some(user) = &options.user {
            user.give(file.path())?;
        }
        let path = file.into_temp_path();
        let name = path.to_path_buf();
        kept.push(path);
        Ok(Some(name))
    };
    let files = StartFiles {
        system: file("prompt", options.spec.system_prompt.clone())?,
        append: file("prompt", options.appended_prompt())?,
        servers: file("servers", servers(options))?,
        settings: file("settings", settings(options))?,
    };
    Ok((files, kept))
}

/// The MCP servers that the CLI reaches, in the form of its configuration files.
pub(crate) fn servers(options: &SessionOptions) -> Option<String> {
    let servers = &options.mcp_config;
    (!servers.is_empty()).then(|| json!({"mcpServers": servers}).to_string())
}

/// The settings, as a file of the CLI. There can be only one, so those that apply to every session are in it too.
pub(crate) fn settings(options: &SessionOptions) -> Option<String> {
    let own = options.settings.as_ref()?;
    let mut all: Map<String, Value> = serde_json::from_str(SETTINGS).unwrap_or_default();
    all.extend(own.clone());
    Some(Value::Object(all).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_settings_are_added_to_those_of_every_session() {
        assert_eq!(settings(&SessionOptions::new()), None);
        let mut options = SessionOptions::new();
        options.settings = json!({"model": "opus"}).as_object().cloned();
        let all: Value = serde_json::from_str(&settings(&options).unwrap()).unwrap();
        assert_eq!(all, json!({"model": "opus", "crossSessionInbound": "refuse"}));
    }

    #[test]
    fn what_a_process_is_started_with_is_in_files_of_its_own() {
        let options = SessionOptions::new().system_prompt("secret");
        let (files, kept) = write(&options).unwrap();
        let file = files.system.unwrap();
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "secret");
        assert!(files.servers.is_none() && files.settings.is_none() && kept.len() == 1);
        drop(kept);
        assert!(!file.exists());
    }
}
