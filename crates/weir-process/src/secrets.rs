//! Values that must not be printed or logged.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use crate::log::Masker;

/// A secret that cannot be masked.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum SecretError {
    /// The value is so short that other text would be masked with it.
    #[error(
        "the secret {name} has {length} bytes; masking text this short would change other text as well, \
         so give at least {minimum} bytes",
        minimum = Secrets::MIN_LENGTH
    )]
    TooShort {
        /// The name of the secret.
        name: String,
        /// Its length in bytes.
        length: usize,
    },
}

/// Values that are masked in raw logs and wherever Weir prints text from the CLI.
///
/// Each value is replaced by `[weir: masked NAME]`, both in its plain and its JSON-escaped forms. Nothing else
/// is changed. Cheap to clone.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub struct Secrets {
    /// `None` if there are no secrets, which is the usual case.
    entries: Option<Arc<Vec<Entry>>>,
}

/// One value, prepared for searching.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Entry {
    pub(crate) name: String,
    /// The plain value and its escaped forms, without duplicates.
    pub(crate) forms: Vec<Vec<u8>>,
}

impl Secrets {
    /// Minimum length of a value; shorter ones are refused.
    pub const MIN_LENGTH: usize = 4;

    /// No secrets.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a value. The name is shown in its place.
    pub fn insert(&mut self, name: &str, value: &str) -> Result<(), SecretError> {
        if value.len() < Self::MIN_LENGTH {
            return Err(SecretError::TooShort { name: name.to_owned(), length: value.len() });
        }
        let escaped = escape(value, false);
        // For text inside JSON inside JSON, such as tool arguments that are streamed in pieces.
        let twice = escape(&escaped, false);
        let mut forms = vec![value.to_owned(), escaped, twice, escape(value, true)];
        forms.push(escape(value, false).replace('/', "\\/"));
        forms.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        forms.dedup();
        let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
        let name = name.chars().map(|c| if is_plain(c) { c } else { '_' }).collect();
        let forms = forms.into_iter().map(String::into_bytes).collect();
        Arc::make_mut(self.entries.get_or_insert_default()).push(Entry { name, forms });
        Ok(())
    }

    /// Whether there is nothing to mask.
    pub fn is_empty(&self) -> bool {
        self.entries().is_empty()
    }

    /// The text with every secret replaced.
    pub fn mask<'a>(&self, text: &'a str) -> Cow<'a, str> {
        if self.is_empty() {
            return Cow::Borrowed(text);
        }
        let mut masked = Vec::new();
        let mut masker = Masker::new(self);
        masker.push(text.as_bytes(), &mut masked);
        masker.finish(&mut masked);
        // Only whole strings were replaced, so this is still UTF-8.
        match String::from_utf8(masked) {
            Ok(masked) if masked == text => Cow::Borrowed(text),
            Ok(masked) => Cow::Owned(masked),
            Err(error) => Cow::Owned(String::from_utf8_lossy(error.as_bytes()).into_owned()),
        }
    }

    pub(crate) fn entries(&self) -> &[Entry] {
        self.entries.as_deref().map_or(&[], Vec::as_slice)
    }
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.entries().iter().map(|entry| &entry.name)).finish()
    }
}

/// Whether a variable with this name is likely to hold a secret.
pub fn looks_secret(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    ["KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIAL", "AUTH"]
        .iter()
        .any(|word| name.contains(word))
}

/// The value as it appears inside a JSON string, without the quotes.
fn escape(value: &str, ascii_only: bool) -> String {
    let mut escaped = String::with_capacity(value.len());
    for character in value.chars() {
        match character {
            '"' => escaped.push_str("\\\""),
            '\\' => escaped.push_str("\\\\"),
            '\n' => escaped.push_str("\\n"),
            '\r' => escaped.push_str("\\r"),
            '\t' => escaped.push_str("\\t"),
            '\u{8}' => escaped.push_str("\\b"),
            '\u{c}' => escaped.push_str("\\f"),
            control if control < ' ' => push_unicode_escape(&mut escaped, control),
            other if ascii_only && !other.is_ascii() => push_unicode_escape(&mut escaped, other),
            other => escaped.push(other),
        }
    }
    escaped
}

fn push_unicode_escape(escaped: &mut String, character: char) {
    use fmt::Write as _;
    for unit in character.encode_utf16(&mut [0; 2]) {
        // Writing to a string cannot fail.
        let _ = write!(escaped, "\\u{unit:04x}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_and_escaped_forms_are_masked_and_nothing_else() {
        let mut secrets = Secrets::new();
        secrets.insert("API KEY", "p\"ss/wörd\n").unwrap();
        let line = r#"{"a":"p\"ss/wörd\n","b":"p\"ss\/wörd\n","c":"p\"ss/w\u00f6rd\n","d":"p\\\"ss/wörd\\n","e":"pss"}"#;
        let marker = "[weir: masked API_KEY]";
        let expected =
            format!(r#"{{"a":"{marker}","b":"{marker}","c":"{marker}","d":"{marker}","e":"pss"}}"#);
        assert_eq!(secrets.mask(line), expected);
        assert_eq!(secrets.mask("p\"ss/wörd\n!"), format!("{marker}!"));
        assert!(matches!(secrets.mask("nothing"), Cow::Borrowed("nothing")));
    }

    #[test]
    fn a_short_secret_is_refused() {
        let error = Secrets::new().insert("PIN", "123").unwrap_err();
        assert_eq!(error, SecretError::TooShort { name: "PIN".to_owned(), length: 3 });
        assert!(error.to_string().contains("at least 4 bytes"));
    }

    #[test]
    fn debug_shows_names_only() {
        let mut secrets = Secrets::new();
        secrets.insert("KEY", "hunter22").unwrap();
        assert_eq!(format!("{secrets:?}"), "[\"KEY\"]");
    }

    #[test]
    fn names_that_look_secret() {
        for name in ["ANTHROPIC_API_KEY", "github_token", "DB_PASSWORD", "AWS_SECRET_ACCESS_KEY"] {
            assert!(looks_secret(name), "{name}");
        }
        for name in ["PATH", "HOME", "LANG", "ANTHROPIC_BASE_URL"] {
            assert!(!looks_secret(name), "{name}");
        }
    }
}
