//! Identifiers as distinct types, so that one kind is never passed where another is expected.

use std::borrow::Borrow;
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::json::Text;

macro_rules! string_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(value_type = String))]
        #[serde(transparent)]
        pub struct $name(Arc<str>);

        impl $name {
            /// Wraps an identifier without checking it.
            pub fn new(id: impl Into<Arc<str>>) -> Self {
                Self(id.into())
            }

            /// The identifier as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl From<Text<'_>> for $name {
            fn from(text: Text<'_>) -> Self {
                Self(text.to_str().into())
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self(text.into())
            }
        }

        impl Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }

        impl AsRef<str> for $name {
            fn as_ref(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}({})", stringify!($name), self.0)
            }
        }
    };
}

string_id! {
    /// A session, by the id that the CLI reports in `system/init`.
    CliSessionId
}
string_id! {
    /// One tool call (`toolu_…`); also identifies the sub-agent that the call started.
    ToolUseId
}
string_id! {
    /// A message that we sent, by the `uuid` that we gave it.
    MessageId
}
string_id! {
    /// A message from the model (`msg_…`); several lines can carry parts of the same message.
    ApiMessageId
}
string_id! {
    /// A control request, in either direction, and its response.
    RequestId
}
string_id! {
    /// A task that runs concurrently with the session: a sub-agent or a background command.
    TaskId
}

/// A turn, numbered from one in the order in which turns begin. The CLI has no ids for turns; this one is
/// Weir's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
#[serde(transparent)]
pub struct TurnId(pub u64);

impl fmt::Display for TurnId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// An identifier borrowed from its line.
///
/// ```
/// use weir_wire::{IdRef, RawJson, CliSessionId};
///
/// let json = RawJson::parse(b"\"c4861a3b\"")?;
/// let id: IdRef<'_, CliSessionId> = json.as_text().unwrap_or_default().into();
/// assert_eq!(id.to_id(), CliSessionId::from("c4861a3b"));
/// # Ok::<(), weir_wire::JsonFault>(())
/// ```
pub struct IdRef<'a, T> {
    text: Text<'a>,
    kind: PhantomData<fn() -> T>,
}

impl<'a, T> IdRef<'a, T> {
    /// The identifier as text.
    pub fn text(&self) -> Text<'a> {
        self.text
    }
}

impl<'a, T: From<Text<'a>>> IdRef<'a, T> {
    /// The identifier as an owned value.
    pub fn to_id(&self) -> T {
        self.text.into()
    }
}

impl<'a, T> From<Text<'a>> for IdRef<'a, T> {
    fn from(text: Text<'a>) -> Self {
        Self { text, kind: PhantomData }
    }
}

impl<T> Clone for IdRef<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for IdRef<'_, T> {}

impl<T> Default for IdRef<'_, T> {
    fn default() -> Self {
        Text::default().into()
    }
}

impl<T: AsRef<str>> PartialEq<T> for IdRef<'_, T> {
    fn eq(&self, other: &T) -> bool {
        self.text == *other.as_ref()
    }
}

impl<T> fmt::Debug for IdRef<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.text, f)
    }
}

impl<T> fmt::Display for IdRef<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.text, f)
    }
}
