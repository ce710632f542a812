//! The secret part of a token: generated, hashed, compared. It is never stored and never shown twice.

use std::fmt;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

/// Prefix of every token, so that people and secret scanners recognise one.
const PREFIX: &str = "weir_";

/// A token as given to its holder: 256 random bits as text.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Generates a new secret.
    ///
    /// # Errors
    /// If the system's random number generator fails.
    pub fn random() -> Result<Self, getrandom::Error> {
        let mut bytes = [0_u8; 32];
        getrandom::fill(&mut bytes)?;
        Ok(Self(format!("{PREFIX}{}", hex(&bytes))))
    }

    /// The text, to be shown to the holder.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

/// What is stored of a secret. One round of SHA-256 is enough: 256 random bits cannot be guessed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct SecretHash([u8; 32]);

impl SecretHash {
    /// Hashes a presented secret.
    pub fn of(presented: &str) -> Self {
        Self(Sha256::digest(presented.as_bytes()).into())
    }

    /// Whether both hashes are equal, compared in constant time.
    pub fn matches(&self, other: &Self) -> bool {
        self.0.ct_eq(&other.0).into()
    }
}

impl From<SecretHash> for String {
    fn from(hash: SecretHash) -> Self {
        hex(&hash.0)
    }
}

impl TryFrom<String> for SecretHash {
    type Error = String;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let mut bytes = [0_u8; 32];
        let digits: Option<Vec<u8>> =
            text.chars().map(|digit| digit.to_digit(16).and_then(|digit| u8::try_from(digit).ok())).collect();
        let digits = digits.filter(|digits| digits.len() == 64);
        let digits = digits.ok_or_else(|| "a hash must have 64 hexadecimal digits".to_owned())?;
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
            *byte = pair.iter().fold(0, |byte, digit| (byte << 4) | digit);
        }
        Ok(Self(bytes))
    }
}

/// Bytes as hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        text.push(char::from_digit(u32::from(byte >> 4), 16).unwrap_or_default());
        text.push(char::from_digit(u32::from(byte & 15), 16).unwrap_or_default());
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_round_trips_as_text() {
        let hash = SecretHash::of("weir_a");
        let text = String::from(hash.clone());
        assert_eq!(text.len(), 64);
        assert_eq!(SecretHash::try_from(text), Ok(hash.clone()));
        assert!(hash.matches(&SecretHash::of("weir_a")));
        assert!(!hash.matches(&SecretHash::of("weir_b")));
    }

    #[test]
    fn secrets_differ_and_are_not_printed() {
        let (one, other) = (Secret::random().unwrap(), Secret::random().unwrap());
        assert_ne!(one, other);
        assert_eq!(one.reveal().len(), PREFIX.len() + 64);
        assert!(!format!("{one:?}").contains(one.reveal()));
    }

    #[test]
    fn invalid_hashes_are_refused() {
        for text in ["", "zz", &"g".repeat(64), &"a".repeat(63)] {
            assert!(SecretHash::try_from(text.to_owned()).is_err(), "{text}");
        }
    }
}
