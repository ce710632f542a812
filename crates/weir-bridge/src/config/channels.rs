//! The sections of the configuration that enable channels.

use std::net::SocketAddr;

use serde::Deserialize;

use super::{Secret, SecretSource};
use crate::error::BridgeError;

/// Settings of the Matrix channel.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MatrixConfig {
    /// URL or server name of the homeserver.
    pub homeserver: String,
    /// The bot's account, as in `@weir:example.org`. Needed with a password.
    pub user: Option<String>,
    /// Its password.
    pub password: Option<SecretSource>,
    /// Access token of an existing login, instead of a password.
    pub access_token: Option<SecretSource>,
    /// Passphrase that encrypts the Matrix data on this machine.
    pub store_passphrase: Option<SecretSource>,
}

/// How the bridge logs in to Matrix.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MatrixLogin {
    /// With a password, once. The login is stored.
    Password {
        /// The account.
        user: String,
        /// The password.
        password: Secret,
    },
    /// With the access token of an existing login.
    AccessToken(Secret),
}

impl MatrixConfig {
    pub(super) fn secrets(&self) -> impl Iterator<Item = &SecretSource> {
        [&self.password, &self.access_token, &self.store_passphrase].into_iter().flatten()
    }

    pub(super) fn secrets_mut(&mut self) -> impl Iterator<Item = &mut SecretSource> {
        [&mut self.password, &mut self.access_token, &mut self.store_passphrase].into_iter().flatten()
    }

    /// Reads the secrets that are needed to log in.
    pub fn login(&self) -> Result<MatrixLogin, BridgeError> {
        match (&self.user, &self.password, &self.access_token) {
            (Some(user), Some(password), None) => {
                Ok(MatrixLogin::Password { user: user.clone(), password: password.read("matrix.password")? })
            }
            (_, None, Some(token)) => Ok(MatrixLogin::AccessToken(token.read("matrix.access_token")?)),
            _ => Err(BridgeError::Configuration(
                "matrix: set `user` and `password`, or `access_token`, but not both".to_owned(),
            )),
        }
    }

    /// Reads the passphrase, if one is configured.
    pub fn passphrase(&self) -> Result<Option<Secret>, BridgeError> {
        self.store_passphrase.as_ref().map(|source| source.read("matrix.store_passphrase")).transpose()
    }
}

/// Settings of the Telegram channel.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TelegramConfig {
    /// The bot's token.
    pub token: SecretSource,
    /// URL of a Bot API server other than Telegram's.
    pub api_url: Option<String>,
}

/// Settings of the webhook channel.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WebhookConfig {
    /// Address to listen on.
    pub listen: SocketAddr,
    /// URL to send to.
    pub url: String,
    /// The shared secret.
    pub secret: SecretSource,
    /// Whether the other side can edit messages.
    #[serde(default)]
    pub edits: bool,
    /// Maximum message length in characters.
    #[serde(default = "default_max_length", alias = "longest")]
    pub max_length: usize,
}

fn default_max_length() -> usize {
    16_000
}

#[cfg(test)]
mod tests {
    use super::{MatrixConfig, MatrixLogin};

    fn matrix(text: &str) -> MatrixConfig {
        toml::from_str(&format!("homeserver = \"example.org\"\n{text}")).unwrap()
    }

    #[test]
    fn a_password_needs_a_user_and_a_token_does_not() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("secret");
        std::fs::write(&file, "opened\n").unwrap();
        let secret = format!("{{ file = '{}' }}", file.display());
        let login = matrix(&format!("user = \"@w:e.org\"\npassword = {secret}")).login().unwrap();
        assert!(matches!(login, MatrixLogin::Password { user, .. } if user == "@w:e.org"));
        let login = matrix(&format!("access_token = {secret}")).login().unwrap();
        assert!(!format!("{login:?}").contains("opened"), "{login:?}");
        for text in [String::new(), format!("password = {secret}"), "user = \"@w:e.org\"".to_owned()] {
            assert!(matrix(&text).login().unwrap_err().to_string().contains("matrix: set `user`"), "{text}");
        }
    }
}
