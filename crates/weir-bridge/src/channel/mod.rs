//! Channels: messages come in, operations go out.

mod health;
mod incoming;
mod names;
mod outgoing;
mod port;

pub use health::{ChannelsHealth, Health, HealthReport};
pub use incoming::{Attachment, Incoming, IncomingBody, IncomingText, RemoteFile};
pub use names::{ChannelName, ChatId, MessageRef, Place, Sender, ThreadId, UserId};
pub use outgoing::{Button, Capabilities, Content, Operation, OperationError, OutgoingFile};
pub(crate) use port::Delivery;
pub use port::{BoxFuture, Channel, IncomingFile, Inlet, NotKept};
