//! What a channel is: messages come in, operations go out.

mod health;
mod incoming;
mod names;
mod outgoing;
mod port;

pub use health::{Health, HealthOfAll, HealthReport};
pub use incoming::{Attachment, Incoming, IncomingBody, IncomingText, RemoteFile};
pub use names::{ChannelName, ChatId, MessageRef, Place, Sender, ThreadId, UserId};
pub use outgoing::{Button, Capabilities, Content, Operation, OperationError, OutgoingFile};
pub(crate) use port::Delivery;
pub use port::{Channel, Doing, IncomingFile, Inlet, NotKept};
