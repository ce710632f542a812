//! Changes messages that wait in the queue.

use std::sync::Arc;

use weir_store::{SessionId, SessionUpdate};
use weir_transcript::HostEvent;
use weir_wire::MessageId;

use super::Host;
use crate::error::HostError;
use crate::item::{Item, Note};
use crate::message::{MessageInfo, StoredMessage};
use crate::message_queue::Record;
use crate::settings::Actor;

/// What to change about a message that waits. What is left out stays.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ChangeMessage {
    /// Another text. Whoever writes it is then its author, and pays for it.
    pub text: Option<String>,
    /// Its place in the queue: 0 for the next one; last if there are fewer.
    pub position: Option<u32>,
}

impl Host {
    /// Changes a message that was not sent to the CLI yet: what it says, or when it is sent.
    ///
    /// # Errors
    /// If there is no such message, it is too late, or the text does not fit.
    pub async fn change_message(
        &self,
        id: &SessionId,
        message: &MessageId,
        change: ChangeMessage,
        by: &Actor,
    ) -> Result<MessageInfo, HostError> {
        let live = self.live(id).await?;
        let max = self.core.options.max_message_bytes;
        let (message, by) = (message.clone(), by.clone());
        self.to_the_end(async move {
            let items = {
                let mut state = live.lock();
                let record = state.log.messages.get(&message).ok_or(HostError::NoSuchMessage)?;
                if let Some(text) = &change.text {
                    check(&record.message, text, max)?;
                }
                let late = if record.state.is_final() { record.state.as_str() } else { "being sent" };
                if !state.log.messages.claim(&message) {
                    return Err(HostError::NotCancellable { state: late });
                }
                let reworded = change
                    .text
                    .clone()
                    .map(|text| Item::Host(HostEvent::MessageReworded { message: message.clone(), text }));
                let note = Note::MessageChanged {
                    message_id: message.clone(),
                    text: change.text,
                    position: change.position,
                    by: by.name,
                    account: by.account,
                };
                std::iter::once(Item::Note(note)).chain(reworded).collect()
            };
            let recorded = live.recorder.recorded(items, SessionUpdate::default()).await;
            let info = {
                let mut state = live.lock();
                state.log.messages.unclaim(&message);
                state.log.messages.get(&message).map(Record::info)
            };
            live.refresh();
            live.kick();
            recorded?;
            info.ok_or(HostError::NoSuchMessage)
        })
        .await
    }
}

/// Whether a message may have this text.
fn check(message: &Arc<StoredMessage>, text: &str, max: usize) -> Result<(), HostError> {
    let invalid = |reason: String| Err(HostError::Invalid(reason));
    if message.command.is_some() {
        return invalid("a command has no text to change; cancel it and send another one".to_owned());
    }
    if text.trim().is_empty() && message.images.is_empty() {
        return invalid("a message needs a text or a picture".to_owned());
    }
    if message.size() - message.text.len() + text.len() > max {
        return invalid(format!("a message may have at most {max} bytes"));
    }
    Ok(())
}
