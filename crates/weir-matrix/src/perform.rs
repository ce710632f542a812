//! Performs operations in rooms.

use matrix_sdk::attachment::AttachmentConfig;
use matrix_sdk::room::reply::{EnforceThread, Reply};
use matrix_sdk::ruma::events::reaction::ReactionEventContent;
use matrix_sdk::ruma::events::relation::Annotation;
use matrix_sdk::ruma::events::room::message::{AddMentions, ReplyWithinThread, RoomMessageEventContent};
use matrix_sdk::ruma::{OwnedEventId, OwnedTransactionId, RoomId};
use matrix_sdk::{Client, Room};
use weir_bridge::channel::{MessageRef, Operation, OperationError, OutgoingFile, Place};

use crate::content;
use crate::failure::{judge, judge_http};

/// Performs an operation in a room.
pub(crate) async fn perform(
    client: &Client,
    operation: Operation,
) -> Result<Option<MessageRef>, OperationError> {
    let room = room(client, operation.place())?;
    match operation {
        Operation::Post { place, content, reply_to, key } => {
            let reply_to = reply_to.as_ref().map(event).transpose()?;
            let message = content::message(&content.text, thread(&place)?, reply_to);
            send(&room, message, Some(transaction(&key))).await
        }
        Operation::Edit { message, content, .. } => {
            let edit = content::edit(&content.text, event(&message)?);
            send(&room, edit, None).await.map(|_| None)
        }
        Operation::Delete { message, .. } => {
            let redacted = room.redact(&event(&message)?, None, None).await;
            done(redacted.map_err(|error| judge_http(&error)))
        }
        Operation::Typing { .. } => done(room.typing_notice(true).await.map_err(|error| judge(&error))),
        Operation::React { message, reaction, .. } => {
            let reaction = ReactionEventContent::new(Annotation::new(event(&message)?, reaction));
            done(room.send(reaction).await.map_err(|error| judge(&error)))
        }
        Operation::Upload { place, file, key } => upload(&room, thread(&place)?, file, &key).await,
    }
}

fn room(client: &Client, place: &Place) -> Result<Room, OperationError> {
    let room = RoomId::parse(place.chat.as_str()).ok().and_then(|id| client.get_room(&id));
    room.ok_or_else(|| OperationError::Refused("the bot is not in this room".to_owned()))
}

fn event(message: &MessageRef) -> Result<OwnedEventId, OperationError> {
    OwnedEventId::try_from(message.as_str())
        .map_err(|error| OperationError::Gone(format!("{message} is not a valid Matrix message id: {error}")))
}

fn thread(place: &Place) -> Result<Option<OwnedEventId>, OperationError> {
    let root = place.thread.as_ref().map(|thread| OwnedEventId::try_from(thread.as_str()));
    root.transpose()
        .map_err(|error| OperationError::Refused(format!("not a valid Matrix thread id: {error}")))
}

/// The transaction id, by which the homeserver recognises a repeated message.
fn transaction(key: &str) -> OwnedTransactionId {
    format!("weir-{key}").into()
}

fn done<T>(result: Result<T, Option<OperationError>>) -> Result<Option<MessageRef>, OperationError> {
    match result {
        Ok(_) | Err(None) => Ok(None),
        Err(Some(error)) => Err(error),
    }
}

async fn send(
    room: &Room,
    content: RoomMessageEventContent,
    transaction: Option<OwnedTransactionId>,
) -> Result<Option<MessageRef>, OperationError> {
    let mut sending = room.send(content);
    if let Some(transaction) = transaction {
        sending = sending.with_transaction_id(transaction);
    }
    match sending.await {
        Ok(sent) => Ok(Some(sent.response.event_id.as_str().into())),
        Err(error) => judge(&error).map_or(Ok(None), Err),
    }
}

async fn upload(
    room: &Room,
    thread: Option<OwnedEventId>,
    file: OutgoingFile,
    key: &str,
) -> Result<Option<MessageRef>, OperationError> {
    let reply = thread.map(|event_id| Reply {
        event_id,
        enforce_thread: EnforceThread::Threaded(ReplyWithinThread::No),
        add_mentions: AddMentions::No,
    });
    let config = AttachmentConfig::new().txn_id(transaction(key)).reply(reply);
    let OutgoingFile { name, media_type, data } = file;
    let kind = media_type.parse().unwrap_or(mime::APPLICATION_OCTET_STREAM);
    let sent = room.send_attachment(name, &kind, data, config).await;
    match sent {
        Ok(sent) => Ok(Some(sent.event_id.as_str().into())),
        Err(error) => judge(&error).map_or(Ok(None), Err),
    }
}
