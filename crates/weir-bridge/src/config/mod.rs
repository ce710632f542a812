//! The configuration file of the bridge.

mod address;
mod channels;
mod sample;
mod scope;
mod secret;

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use toml::Table;

pub use address::check_address;
use address::check_host;
pub use channels::{MatrixConfig, MatrixLogin, TelegramConfig, WebhookConfig};
pub use sample::SAMPLE;
use scope::ScopeConfig;
pub use scope::ScopeRuleConfig;
pub use secret::{Secret, SecretSource};

use crate::channel::ChannelName;
use crate::error::BridgeError;
use crate::machine::{Per, Role, ScopeRule, ScopeSettings, Settings};

/// Maximum for `limits.ask_timeout_minutes`: a week.
const MAX_ASK_MINUTES: u32 = 7 * 24 * 60;

/// The configuration of the bridge.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Folder for messages and sessions.
    pub data_dir: Option<PathBuf>,
    /// The CLI to use. Found automatically if not set.
    pub claude: Option<PathBuf>,
    /// Folders in which sessions may work. The workspaces are always included.
    pub roots: Vec<PathBuf>,
    /// Settings that apply everywhere.
    pub defaults: Table,
    /// Settings that apply to some chats.
    pub scopes: Vec<ScopeRuleConfig>,
    /// People who may talk to the agent.
    pub people: Vec<PersonConfig>,
    /// Limits.
    pub limits: LimitsConfig,
    /// Matrix.
    pub matrix: Option<MatrixConfig>,
    /// Telegram.
    pub telegram: Option<TelegramConfig>,
    /// Webhook.
    pub webhook: Option<WebhookConfig>,
}

/// A person who may talk to the agent.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PersonConfig {
    /// The channel.
    pub channel: String,
    /// Id of the person in the channel: a number on Telegram, with or without quotes; `@name:server` on Matrix.
    #[serde(deserialize_with = "text_or_number")]
    pub id: String,
    /// What they may do.
    #[serde(default = "user")]
    pub role: Role,
}

fn text_or_number<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    match toml::Value::deserialize(deserializer)? {
        toml::Value::String(text) => Ok(text),
        toml::Value::Integer(number) => Ok(number.to_string()),
        _ => Err(serde::de::Error::custom("it must be a string or a number, as in id = \"123456789\"")),
    }
}

fn user() -> Role {
    Role::User
}

/// Limits.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[expect(missing_docs, reason = "each is documented in the sample configuration and in Settings")]
pub struct LimitsConfig {
    pub messages_per_minute: Option<u32>,
    pub messages_per_ten_minutes: Option<u32>,
    pub ask_timeout_minutes: Option<u32>,
    pub download_timeout_seconds: Option<u32>,
    pub only_admins_allow: Option<bool>,
    #[serde(alias = "most_waiting")]
    pub max_waiting: Option<usize>,
    #[serde(alias = "most_parts")]
    pub max_parts: Option<usize>,
    #[serde(alias = "most_pictures")]
    pub max_pictures: Option<usize>,
}

impl Config {
    /// Reads a configuration file. Paths in it are relative to its folder.
    pub fn read(path: &Path) -> Result<Self, BridgeError> {
        let text = std::fs::read_to_string(path).map_err(|source| match source.kind() {
            ErrorKind::NotFound => BridgeError::Configuration(format!(
                "{} does not exist; create it with `weir bridge init`, or use --config to name another file",
                path.display()
            )),
            _ => BridgeError::File { path: path.to_owned(), source },
        })?;
        let mut config = Self::parse(&text)
            .map_err(|error| BridgeError::Configuration(format!("{}: {error}", path.display())))?;
        // Folders must be absolute, because sessions are stored with them and the bridge may be started anywhere.
        let whole = std::path::absolute(path)
            .map_err(|source| BridgeError::File { path: path.to_owned(), source })?;
        config.resolve(whole.parent().unwrap_or(&whole));
        Ok(config)
    }

    /// Parses a configuration.
    pub fn parse(text: &str) -> Result<Self, BridgeError> {
        /// The defaults stay a table, for rules to be joined with. Read by themselves, a mistake in them has a line.
        #[derive(Deserialize)]
        struct Defaults {
            #[serde(default, rename = "defaults")]
            _defaults: ScopeConfig,
        }
        let wrong = |error: toml::de::Error| BridgeError::Configuration(error.to_string());
        let config = toml::from_str(text).map_err(wrong)?;
        toml::from_str::<Defaults>(text).map_err(wrong)?;
        Ok(config)
    }

    fn resolve(&mut self, folder: &Path) {
        let below = |path: &mut PathBuf| *path = folder.join(&*path);
        self.data_dir.iter_mut().for_each(below);
        self.roots.iter_mut().for_each(below);
        let scopes = self.scopes.iter_mut().map(|rule| &mut rule.settings);
        for table in std::iter::once(&mut self.defaults).chain(scopes) {
            if let Some(toml::Value::String(workspace)) = table.get_mut("workspace") {
                *workspace = folder.join(&*workspace).to_string_lossy().into_owned();
            }
        }
        let matrix = self.matrix.iter_mut().flat_map(MatrixConfig::secrets_mut);
        let telegram = self.telegram.iter_mut().map(|telegram| &mut telegram.token);
        let webhook = self.webhook.iter_mut().map(|webhook| &mut webhook.secret);
        let secrets = matrix.chain(telegram).chain(webhook);
        secrets.filter_map(|secret| secret.file.as_mut()).for_each(below);
    }

    /// The environment variables that hold secrets. They must be hidden from the agent, because anyone who may talk
    /// to it could ask for them.
    pub fn secret_variables(&self) -> Vec<String> {
        let matrix = self.matrix.iter().flat_map(MatrixConfig::secrets);
        let telegram = self.telegram.iter().map(|telegram| &telegram.token);
        let webhook = self.webhook.iter().map(|webhook| &webhook.secret);
        matrix.chain(telegram).chain(webhook).filter_map(|secret| secret.env.clone()).collect()
    }

    /// The folders that sessions may work in.
    pub fn all_roots(&self) -> Vec<PathBuf> {
        let scopes = self.scopes.iter().map(|rule| &rule.settings);
        let tables = std::iter::once(&self.defaults).chain(scopes);
        let mut roots = self.roots.clone();
        roots.extend(tables.filter_map(|table| table.get("workspace")?.as_str()).map(PathBuf::from));
        roots.sort();
        roots.dedup();
        roots
    }

    /// Refuses numbers with which the bridge would do nothing, or never end.
    fn check_numbers(&self) -> Result<(), BridgeError> {
        let wrong = |name: &str, why: &str| Err(BridgeError::Configuration(format!("{name}: {why}")));
        let limits = &self.limits;
        let at_least_one = [
            ("limits.messages_per_minute", limits.messages_per_minute.map(u64::from)),
            ("limits.messages_per_ten_minutes", limits.messages_per_ten_minutes.map(u64::from)),
            ("limits.ask_timeout_minutes", limits.ask_timeout_minutes.map(u64::from)),
            ("limits.download_timeout_seconds", limits.download_timeout_seconds.map(u64::from)),
            ("limits.max_waiting", limits.max_waiting.map(|max| max as u64)),
            ("limits.max_parts", limits.max_parts.map(|max| max as u64)),
        ];
        if let Some((name, _)) = at_least_one.iter().find(|(_, value)| *value == Some(0)) {
            return wrong(name, "it must be 1 or more");
        }
        if limits.ask_timeout_minutes.is_some_and(|minutes| minutes > MAX_ASK_MINUTES) {
            return wrong("limits.ask_timeout_minutes", "it must be 10080 (a week) or less");
        }
        if limits.download_timeout_seconds.is_some_and(|seconds| seconds > 3_600) {
            return wrong("limits.download_timeout_seconds", "it must be 3600 (an hour) or less");
        }
        Ok(())
    }

    /// Checks the URLs that messages and secrets are sent to.
    fn check_addresses(&self) -> Result<(), BridgeError> {
        if let Some(webhook) = &self.webhook {
            check_address("webhook.url", &webhook.url)?;
        }
        if let Some(address) = self.telegram.as_ref().and_then(|telegram| telegram.api_url.as_deref()) {
            check_host("telegram.api_url", address)?;
        }
        // It may also be a server name.
        let homeserver = self.matrix.as_ref().map(|matrix| matrix.homeserver.as_str());
        if let Some(address) = homeserver.filter(|name| name.contains("://") || name.contains('@')) {
            check_host("matrix.homeserver", address)?;
        }
        Ok(())
    }

    /// The defaults with a rule's own settings on top.
    fn scope(&self, own: &Table) -> Result<ScopeSettings, BridgeError> {
        let mut table = self.defaults.clone();
        table.extend(own.clone());
        let config = ScopeConfig::read(&table).map_err(BridgeError::Configuration)?;
        config.settings().map_err(|(name, why)| BridgeError::Configuration(format!("{name}: {why}")))
    }

    /// The settings of the machine.
    pub fn settings(&self) -> Result<Settings, BridgeError> {
        let base = Settings::default();
        if !self.defaults.contains_key("workspace") {
            return Err(BridgeError::Configuration(
                "defaults.workspace: set the folder in which the agent works".to_owned(),
            ));
        }
        self.check_numbers()?;
        let default_scope = self.scope(&Table::new())?;
        self.check_addresses()?;
        let limits = &self.limits;
        let known = ["matrix", "telegram", "webhook", "terminal"];
        let named = self
            .people
            .iter()
            .map(|person| &person.channel)
            .chain(self.scopes.iter().map(|rule| &rule.channel));
        if let Some(unknown) = named.into_iter().find(|name| !known.contains(&name.as_str())) {
            return Err(BridgeError::Configuration(format!(
                "unknown channel {unknown:?}: it must be one of {}",
                known.join(", ")
            )));
        }
        let people: BTreeMap<_, _> = self
            .people
            .iter()
            .map(|person| {
                ((ChannelName::from(person.channel.as_str()), person.id.as_str().into()), person.role)
            })
            .collect();
        let scopes: Vec<ScopeRule> = self
            .scopes
            .iter()
            .map(|rule| {
                Ok(ScopeRule {
                    channel: rule.channel.as_str().into(),
                    chat: rule.chat.clone(),
                    thread: rule.thread.clone(),
                    user: rule.user.clone(),
                    settings: self.scope(&rule.settings)?,
                })
            })
            .collect::<Result<_, BridgeError>>()?;
        // A shared scope cannot have different settings for each thread or person.
        let named = |rule: &ScopeRule| (rule.thread.is_some(), rule.user.is_some(), rule.settings.per);
        let wanted = scopes.iter().find_map(|rule| match named(rule) {
            (true, _, Per::Chat | Per::User) => Some(("thread", "thread")),
            (_, true, Per::Chat | Per::Thread) => Some(("user", "user")),
            _ => None,
        });
        if let Some((name, scope)) = wanted {
            return Err(BridgeError::Configuration(format!(
                "scopes.{name}: a rule for one {name} needs scope = \"{scope}\", in the rule or in the defaults"
            )));
        }
        Ok(Settings {
            people,
            scopes,
            messages_per_minute: limits.messages_per_minute.unwrap_or(base.messages_per_minute),
            messages_per_ten_minutes: limits
                .messages_per_ten_minutes
                .unwrap_or(base.messages_per_ten_minutes),
            ask_timeout_ms: limits
                .ask_timeout_minutes
                .map_or(base.ask_timeout_ms, |minutes| i64::from(minutes) * 60_000),
            fetch_timeout_ms: limits
                .download_timeout_seconds
                .map_or(base.fetch_timeout_ms, |seconds| i64::from(seconds) * 1_000),
            only_admins_allow: limits.only_admins_allow.unwrap_or(base.only_admins_allow),
            max_waiting: limits.max_waiting.unwrap_or(base.max_waiting),
            max_parts: limits.max_parts.unwrap_or(base.max_parts),
            max_pictures: limits.max_pictures.unwrap_or(base.max_pictures),
            default_scope,
            ..base
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Config;
    use crate::machine::{QueueMode, Role};

    #[test]
    fn secret_variables_lists_every_secret() {
        let text = "[telegram]\ntoken = { env = 'A' }\n[webhook]\nlisten = '127.0.0.1:0'\nurl = 'https://x.example'\n\
                    secret = { env = 'B' }\n[matrix]\nhomeserver = 'https://y.example'\nuser = '@w:y.example'\n\
                    password = { env = 'C' }\naccess_token = { env = 'D' }\nstore_passphrase = { env = 'E' }\n";
        let mut names = Config::parse(text).unwrap().secret_variables();
        names.sort();
        assert_eq!(names, ["A", "B", "C", "D", "E"]);
    }

    #[test]
    fn the_sample_is_valid() {
        let config = Config::parse(super::SAMPLE).unwrap();
        assert!(config.settings().is_ok());
        assert!(config.telegram.is_none());
    }

    #[test]
    fn rules_override_the_defaults() {
        let text = "
            [defaults]
            workspace = \"/w\"
            model = \"opus\"
            [[scopes]]
            channel = \"telegram\"
            chat = -1
            queue = \"steer\"
            [[people]]
            channel = \"telegram\"
            id = 7
            role = \"admin\"
        ";
        let settings = Config::parse(text).unwrap().settings().unwrap();
        let rule = &settings.scopes[0];
        assert_eq!(rule.settings.queue, QueueMode::Steer);
        assert_eq!(rule.chat.as_deref(), Some("-1"));
        assert_eq!(rule.settings.spec.model.as_deref(), Some("opus"));
        assert_eq!(settings.people[&("telegram".into(), "7".into())], Role::Admin);
    }

    #[test]
    fn a_rule_overrides_with_any_value_and_can_set_every_option_of_a_session() {
        let text = "[defaults]\nworkspace='/w'\nallowed_tools=['Read']\nno_session_persistence=true\nfooter=true\n\
                    [[scopes]]\nchannel='telegram'\nallowed_tools=[]\nno_session_persistence=false\nmax_turns=3\n\
                    system_prompt='s'";
        let settings = Config::parse(text).unwrap().settings().unwrap();
        let (base, rule) = (&settings.default_scope, &settings.scopes[0].settings);
        assert_eq!((base.spec.allowed_tools.len(), base.spec.no_session_persistence), (1, true));
        assert_eq!((rule.spec.allowed_tools.len(), rule.spec.no_session_persistence), (0, false));
        assert_eq!((rule.spec.max_turns, rule.spec.system_prompt.as_deref()), (Some(3), Some("s")));
        assert!(rule.footer && rule.workspace == "/w");
    }

    #[test]
    fn limits_keep_their_old_names() {
        let text = "[defaults]\nworkspace='/w'\n[limits]\nmost_waiting=7\nmax_parts=2\nmost_pictures=1";
        let settings = Config::parse(text).unwrap().settings().unwrap();
        assert_eq!((settings.max_waiting, settings.max_parts, settings.max_pictures), (7, 2, 1));
    }

    #[test]
    fn errors_name_the_setting() {
        let error =
            |text: &str| Config::parse(text).and_then(|config| config.settings()).unwrap_err().to_string();
        assert!(error("").contains("defaults.workspace"));
        assert!(error("colour = 1").contains("unknown field `colour`"));
        assert!(
            error("[defaults]\nworkspace='/w'\n[[people]]\nchannel='icq'\nid='1'")
                .contains("unknown channel \"icq\"")
        );
        assert!(error("[defaults]\nqueue='later'").contains("unknown variant `later`"));
        let misspelt = error("data_dir='d'\n[defaults]\nworkspace='/w'\nmodelname='opus'");
        assert!(misspelt.contains("unknown field `modelname`") && misspelt.contains("line "), "{misspelt}");
        for (more, expected) in [
            ("[[scopes]]\nchannel='telegram'\nquue='steer'", "unknown field `quue`"),
            ("[[scopes]]\nqueue='steer'", "a scope must name its channel"),
            ("[[scopes]]\nchannel='telegram'\nchat=true", "chat must be a string"),
            ("[[people]]\nchannel='telegram'\nid=[1]", "it must be a string or a number"),
            ("[[scopes]]\nchannel='telegram'\nthread=7", "needs scope = \"thread\""),
            ("[[scopes]]\nchannel='telegram'\nuser=7\nscope='chat'", "needs scope = \"user\""),
            ("[limits]\nmessages_per_minute=0", "limits.messages_per_minute: it must be 1 or more"),
            ("[limits]\nask_timeout_minutes=10081", "limits.ask_timeout_minutes: it must be 10080"),
            ("[limits]\ndownload_timeout_seconds=0", "limits.download_timeout_seconds: it must be 1"),
            ("[[scopes]]\nchannel='telegram'\npermission_mode='bypassPermissions'", "a chat cannot use"),
            ("[[scopes]]\nchannel='telegram'\npermission_mode='yolo'", "it must be one of default, "),
            (
                "[webhook]\nlisten='127.0.0.1:0'\nurl='https://a:b@c.example'\nsecret={env='X'}",
                "webhook.url: the address has a name or a password before its host",
            ),
            (
                "[telegram]\ntoken={env='X'}\napi_url='https://a@b.example'",
                "telegram.api_url: the address has",
            ),
            ("[matrix]\nhomeserver='https://a@b.example'", "matrix.homeserver: the address has"),
            ("[matrix]\nhomeserver='a@b.example'", "matrix.homeserver: "),
            ("[[scopes]]\nchannel='telegram'\nmax_cost_usd=-1", "max_cost_usd: it must be more than 0"),
            ("[[scopes]]\nchannel='telegram'\nmax_turns=0", "max_turns: it must be 1 or more"),
            (
                "[[scopes]]\nchannel='telegram'\noutput_schema={}",
                "output_schema: a chat shows answers as text",
            ),
        ] {
            let found = error(&format!("[defaults]\nworkspace='/w'\n{more}"));
            assert!(found.contains(expected), "{more}: {found}");
        }
    }
}
