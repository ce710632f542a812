//! Names that channels give to things. They are opaque here: only the channel that made one can read it.

use serde::{Deserialize, Serialize};

macro_rules! name {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(String);

        impl $name {
            /// The name as it is written.
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
    /// A channel, as the configuration names it.
    ChannelName
);
name!(
    /// A chat, a room, a group.
    ChatId
);
name!(
    /// A thread or a topic inside a chat.
    ThreadId
);
name!(
    /// A person or a bot.
    UserId
);
name!(
    /// A message that the channel shows.
    MessageRef
);

/// Where a message stands.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Place {
    /// The channel.
    pub channel: ChannelName,
    /// The chat in it.
    pub chat: ChatId,
    /// The thread in the chat, where it has threads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread: Option<ThreadId>,
}

/// Who wrote something.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sender {
    /// The channel's name for them, which they cannot choose.
    pub id: UserId,
    /// What they call themselves. Only for showing.
    pub name: String,
    /// The channel says that it is a bot, or it is ourselves.
    #[serde(default)]
    pub is_bot: bool,
}
