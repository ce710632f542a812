//! Settings from the environment, read once at startup.

use std::path::PathBuf;

use super::misbehave::{self, Misbehaviour};
use crate::json::{Json, parse};
use crate::script::{Script, Step};

/// Settings from the environment.
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    pub(crate) version: String,
    pub(crate) seed: Option<u64>,
    pub(crate) misbehave: Vec<Misbehaviour>,
    /// Scripts for messages without their own: the first for the first message, and so on.
    pub(crate) scripts: Vec<Script>,
    /// How fast the default persona talks: 1 is natural, 0 is without delay.
    pub(crate) pace: f64,
    /// Length of the waits between API retries, relative to the real ones.
    pub(crate) retry_scale: f64,
    pub(crate) max_retries: u64,
    pub(crate) config_dir: PathBuf,
    pub(crate) todo_tools: bool,
    /// Whether copies of changed files are kept.
    pub(crate) file_checkpointing: bool,
    pub(crate) api_key_source: &'static str,
    /// The host name of the API, which occurs in some errors.
    pub(crate) gateway: String,
}

/// What is wrong with the environment.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SettingsError {
    #[error(transparent)]
    Misbehaviour(#[from] misbehave::UnknownMisbehaviour),
    #[error(
        "simulated claude: cannot read the script {path}: {reason}; SIMULATED_CLAUDE_SCRIPT must name a JSON file"
    )]
    Script { path: String, reason: String },
}

impl Settings {
    /// Reads the environment of the process.
    pub(crate) fn from_env() -> Result<Self, SettingsError> {
        Self::from_lookup(|name| std::env::var(name).ok().filter(|value| !value.is_empty()))
    }

    fn from_lookup(lookup: impl Fn(&str) -> Option<String>) -> Result<Self, SettingsError> {
        let number = |name: &str, usual: f64| {
            lookup(name)
                .and_then(|value| value.parse().ok())
                .filter(|value: &f64| *value >= 0.0)
                .unwrap_or(usual)
        };
        let home = || lookup("HOME").map(PathBuf::from).unwrap_or_default().join(".claude");
        let mut misbehave = match lookup("SIMULATED_CLAUDE_MISBEHAVE") {
            Some(text) => misbehave::read_text(&text)?,
            None => Vec::new(),
        };
        let mut scripts = Vec::new();
        if let Some(path) = lookup("SIMULATED_CLAUDE_SCRIPT") {
            let fail = |reason: String| SettingsError::Script { path: path.clone(), reason };
            let text = std::fs::read_to_string(&path).map_err(|error| fail(error.to_string()))?;
            let value = parse(&text).map_err(|error| fail(error.to_string()))?;
            misbehave.extend(misbehave::read(value.get("misbehave").unwrap_or(&Json::Null))?);
            scripts = read_scripts(value.get("script").unwrap_or(&value));
        }
        Ok(Self {
            version: lookup("SIMULATED_CLAUDE_VERSION").unwrap_or_else(|| "2.1.325".to_owned()),
            seed: lookup("SIMULATED_CLAUDE_SEED").map(|seed| seed.parse().unwrap_or_else(|_| hash(&seed))),
            misbehave,
            scripts,
            pace: number("SIMULATED_CLAUDE_PACE", 1.0),
            retry_scale: number("SIMULATED_CLAUDE_RETRY_SCALE", 0.02),
            max_retries: number("CLAUDE_CODE_MAX_RETRIES", 10.0) as u64,
            config_dir: lookup("CLAUDE_CONFIG_DIR").map_or_else(home, PathBuf::from),
            todo_tools: lookup("CLAUDE_CODE_ENABLE_TODO_TOOLS").is_some_and(|value| value != "0"),
            file_checkpointing: lookup("CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING")
                .is_some_and(|value| value != "0" && value != "false"),
            gateway: lookup("ANTHROPIC_BASE_URL")
                .map_or_else(|| "api.anthropic.com".to_owned(), |url| host_of(&url)),
            api_key_source: if lookup("ANTHROPIC_API_KEY").is_some() { "ANTHROPIC_API_KEY" } else { "none" },
        })
    }
}

/// A list of steps is the script for every message; a list of lists has one for each.
fn read_scripts(value: &Json) -> Vec<Script> {
    let script = |steps: &[Json]| Script {
        steps: steps.iter().map(Step::from_json).collect(),
        source: Json::Array(steps.to_vec()).to_string(),
    };
    match value.items() {
        [] => Vec::new(),
        items if items.iter().all(|item| matches!(item, Json::Array(_))) => {
            items.iter().map(|item| script(item.items())).collect()
        }
        items => vec![script(items)],
    }
}

/// The host and port in a URL.
fn host_of(url: &str) -> String {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    rest.split('/').next().unwrap_or_default().to_owned()
}

fn hash(text: &str) -> u64 {
    text.bytes()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(pairs: &[(&str, &str)]) -> Result<Settings, SettingsError> {
        let find =
            |name: &str| pairs.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned());
        Settings::from_lookup(find)
    }

    #[test]
    fn everything_has_a_default() {
        let usual = settings(&[("HOME", "/home/user")]).unwrap();
        assert_eq!((usual.version.as_str(), usual.seed, usual.max_retries), ("2.1.325", None, 10));
        assert_eq!(usual.config_dir, PathBuf::from("/home/user/.claude"));
    }

    #[test]
    fn a_script_file_may_hold_one_script_or_several() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("script.json");
        let path = path.to_str().unwrap();
        std::fs::write(path, r#"{"misbehave":"crlf","script":[[{"text":"a"}],[{"text":"b"}]]}"#).unwrap();
        let both = settings(&[("SIMULATED_CLAUDE_SCRIPT", path)]).unwrap();
        assert_eq!((both.scripts.len(), both.misbehave), (2, vec![Misbehaviour::CrLf]));
        std::fs::write(path, r#"[{"text":"a"},{"text":"b"}]"#).unwrap();
        assert_eq!(settings(&[("SIMULATED_CLAUDE_SCRIPT", path)]).unwrap().scripts[0].steps.len(), 2);
        std::fs::write(path, "nonsense").unwrap();
        assert!(settings(&[("SIMULATED_CLAUDE_SCRIPT", path)]).unwrap_err().to_string().contains("not JSON"));
    }
}
