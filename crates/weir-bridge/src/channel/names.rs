//! Ids assigned by channels. They are opaque here: only the channel that made one can interpret it.

use serde::{Deserialize, Serialize};

macro_rules! name {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(String);

        impl $name {
            /// The id as a string.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl<T: Into<String>> From<T> for $name {
            fn from(name: T) -> Self {
                Self(name.into())
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

name!(
    /// Name of a channel in the configuration.
    ChannelName
);
name!(
    /// Id of a chat, room or group.
    ChatId
);
name!(
    /// Id of a thread or topic in a chat.
    ThreadId
);
name!(
    /// Id of a person or bot.
    UserId
);
name!(
    /// Id of a message in a channel.
    MessageRef
);

/// The location of a message.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Place {
    /// The channel.
    pub channel: ChannelName,
    /// The chat in the channel.
    pub chat: ChatId,
    /// The thread in the chat, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread: Option<ThreadId>,
}

/// The sender of a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sender {
    /// Id assigned by the channel. The person cannot choose it.
    pub id: UserId,
    /// Display name, chosen by the person.
    pub name: String,
    /// Whether the sender is a bot, according to the channel, or the bridge itself.
    #[serde(default)]
    pub is_bot: bool,
}
