//! The sections of the configuration that switch channels on.

use std::net::SocketAddr;

use serde::Deserialize;

use super::{Secret, SecretSource};
use crate::error::BridgeError;

/// Matrix.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MatrixConfig {
    /// The homeserver: its address, or the name of the server.
    pub homeserver: String,
    /// The bot's account, as in `@weir:example.org`. Needed with a password.
    pub user: Option<String>,
    /// Its password.
    pub password: Option<SecretSource>,
    /// A token of a login that was made elsewhere, instead of a password.
    pub access_token: Option<SecretSource>,
    /// Encrypts what is kept of Matrix on this machine.
    pub store_passphrase: Option<SecretSource>,
}

/// How the bridge gets into its account on Matrix.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MatrixLogin {
    /// With a password, once; the login is kept.
    Password {
        /// The account.
        user: String,
        /// The password.
        password: Secret,
    },
    /// With the token of a login that was made elsewhere.
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
                "matrix: name `user` and `password`, or `access_token`, but not both".to_owned(),
            )),
        }
    }

    /// Reads the passphrase, if there is one.
    pub fn passphrase(&self) -> Result<Option<Secret>, BridgeError> {
        self.store_passphrase.as_ref().map(|source| source.read("matrix.store_passphrase")).transpose()
    }
}

/// Telegram.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TelegramConfig {
    /// The bot's token.
    pub token: SecretSource,
    /// Another server of the Bot API than Telegram's.
    pub api_url: Option<String>,
}

/// A webhook.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WebhookConfig {
    /// Where to listen.
    pub listen: SocketAddr,
    /// Where to send.
    pub url: String,
    /// The secret that both sides know.
    pub secret: SecretSource,
    /// The other side can change messages.
    #[serde(default)]
    pub edits: bool,
    /// Longest message, in characters.
    #[serde(default = "longest")]
    pub longest: usize,
}

fn longest() -> usize {
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
            assert!(matrix(&text).login().unwrap_err().to_string().contains("matrix: name `user`"), "{text}");
        }
    }
}
