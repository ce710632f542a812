//! What a channel is: messages come in, operations go out.

mod incoming;
mod names;
mod outgoing;
mod port;

pub use incoming::{Attachment, Incoming, IncomingBody};
pub use names::{ChannelName, ChatId, MessageRef, Place, Sender, ThreadId, UserId};
pub use outgoing::{Button, Capabilities, Content, Operation, OperationError};
pub(crate) use port::Delivery;
pub use port::{Channel, Doing, Health, IncomingFile, Inlet, NotKept};
