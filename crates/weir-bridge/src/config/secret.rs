//! Secrets: from a file or from the environment, never shown.

use std::fmt;
use std::path::PathBuf;

use serde::Deserialize;

use crate::error::BridgeError;

/// A secret. It is never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Makes a secret. Surrounding whitespace is removed, such as the newline at the end of a file.
    pub fn new(text: &str) -> Self {
        Self(text.trim().to_owned())
    }

    /// The secret in plain text.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// The secret as bytes.
    pub fn bytes(&self) -> &[u8] {
        self.0.as_bytes()
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

/// Where a secret comes from: a file or an environment variable.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SecretSource {
    /// A file that contains only the secret.
    pub file: Option<PathBuf>,
    /// An environment variable.
    pub env: Option<String>,
}

impl SecretSource {
    /// Reads the secret. `what` is its key in the configuration.
    pub fn read(&self, what: &str) -> Result<Secret, BridgeError> {
        let secret = match (&self.file, &self.env) {
            (Some(path), None) => {
                let read = std::fs::read_to_string(path);
                read.map_err(|error| {
                    let path = path.display();
                    BridgeError::Configuration(format!(
                        "{what}: cannot read {path}: {error}; put the secret there"
                    ))
                })?
            }
            (None, Some(name)) => std::env::var(name).map_err(|_| {
                BridgeError::Configuration(format!("{what}: the environment variable {name} is not set"))
            })?,
            _ => {
                return Err(BridgeError::Configuration(format!(
                    "{what}: set a file, as in {{ file = \"secret\" }}, or an environment variable, as in {{ env = \"NAME\" }}, but not both"
                )));
            }
        };
        let secret = Secret::new(&secret);
        if secret.0.is_empty() {
            return Err(BridgeError::Configuration(format!("{what}: the secret is empty")));
        }
        Ok(secret)
    }
}

#[cfg(test)]
mod tests {
    use super::{Secret, SecretSource};

    #[test]
    fn is_read_and_never_shown() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        std::fs::write(&path, "12:abc\n").unwrap();
        let secret = SecretSource { file: Some(path), env: None }.read("telegram.token").unwrap();
        assert_eq!(secret, Secret::new("12:abc"));
        assert!(!format!("{secret:?}").contains("abc"));
    }

    #[test]
    fn errors_name_the_missing_secret() {
        let error = SecretSource { file: None, env: None }.read("telegram.token").unwrap_err();
        assert!(error.to_string().contains("telegram.token: set a file"));
        let error =
            SecretSource { file: None, env: Some("WEIR_NO_SUCH_VARIABLE".into()) }.read("x").unwrap_err();
        assert!(error.to_string().contains("WEIR_NO_SUCH_VARIABLE is not set"));
    }
}
