//! Taking a conversation back to before one of its messages, as data for clients, and finding the point in the log.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use weir_store::StoredSession;
use weir_transcript::lookup::main_agent_uuid;
use weir_transcript::{HostEvent, RewindPoint};
use weir_wire::{Decoder, MessageId};

use crate::core::Core;
use crate::error::HostError;
use crate::frame_builder::FrameBuilder;
use crate::history::History;
use crate::item::Item;
use crate::load::walk;
use crate::message::StoredMessage;

/// How a conversation is taken back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Rewind {
    /// The message: the model forgets it and what came after it.
    #[cfg_attr(feature = "schema", schema(value_type = String))]
    pub message_id: MessageId,
    /// Whether the files that the agent's tools have changed since are restored too. What commands have done is not
    /// known. The session needs `file_checkpointing`.
    #[serde(default)]
    pub files: bool,
    /// Whether to only say what would happen.
    #[serde(default)]
    pub dry_run: bool,
    /// Whether files may be overwritten that no reference of git would keep: see `unkept`.
    #[serde(default)]
    pub lose_files: bool,
    /// Sends the message again afterwards, with its pictures and files.
    #[serde(default)]
    pub resend: bool,
    /// The text to send instead; only with `resend`.
    #[serde(default)]
    pub text: Option<String>,
}

/// What taking a conversation back has done, or would do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct RewindOutcome {
    /// Whether it was done. Otherwise this is what would happen.
    pub done: bool,
    /// The text of the message, to be edited and sent again.
    pub text: String,
    /// How many pictures and documents were with it.
    pub images: u32,
    /// How many messages the model forgets.
    pub forgotten: u32,
    /// The newest message that it forgets. A branch from it has the conversation as it was.
    #[cfg_attr(feature = "schema", schema(value_type = String))]
    pub newest_message_id: MessageId,
    /// The files, if they were asked for.
    pub files: Option<RewoundFiles>,
    /// The message that was sent again.
    #[cfg_attr(feature = "schema", schema(value_type = Option<String>))]
    pub resent_message_id: Option<MessageId>,
}

/// Files that are restored to their state at a message.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct RewoundFiles {
    /// Why they cannot be restored.
    pub problem: Option<String>,
    /// The files that change.
    pub paths: Vec<String>,
    /// Lines added.
    pub insertions: u64,
    /// Lines removed.
    pub deletions: u64,
    /// Those whose present content no reference of git keeps, because they are ignored or in no repository.
    pub unkept: Vec<String>,
    /// The reference that has all other files as they were before.
    pub kept: Option<String>,
}

/// A message to which a conversation can be taken back.
#[derive(Debug)]
pub(crate) struct Target {
    /// Where the conversation stands before it; none for the very beginning.
    pub(crate) to: Option<RewindPoint>,
    pub(crate) text: String,
    pub(crate) images: u32,
    /// The message itself, if it was sent here and not in a terminal.
    pub(crate) stored: Option<Arc<StoredMessage>>,
    /// It and the messages after it, as far as the model knows them.
    pub(crate) since: Vec<MessageId>,
}

/// A message that the model knows.
struct Sent {
    id: MessageId,
    to: Option<RewindPoint>,
    /// The message that began the turn that it was sent into.
    turn_of: Option<MessageId>,
}

/// Finds a message that the model knows. Blocks.
pub(crate) fn target(core: &Core, row: &StoredSession, message: &MessageId) -> Result<Target, HostError> {
    let mut history = History::new(core.options.keep_entries);
    let (mut frames, mut decoder) = (FrameBuilder::default(), Decoder::new());
    let mut newest: Option<RewindPoint> = None;
    let mut sent: Vec<Sent> = Vec::new();
    let (mut text, mut images, mut stored) = (None, 0, None);
    let mut was_known = false;
    walk(core.source(), &row.id, 0, |event| {
        let mut line = None;
        match Item::read(&event.kind, event.payload.clone()) {
            Some(Item::Line(raw)) => line = main_agent_uuid(&decoder.decode(&raw)),
            Some(Item::Message(found) | Item::OldMessage(found)) if found.message_id == *message => {
                stored = Some(found);
            }
            Some(Item::Host(HostEvent::MessageQueued { message: id, text: said, images: with, .. }))
                if id == *message =>
            {
                (text, images) = (Some(said), with);
            }
            Some(Item::Host(HostEvent::MessageSent { message: id })) => {
                was_known |= id == *message;
                // It may have been written to a process that did not take it.
                sent.retain(|sent| sent.id != id);
                let runs = history.view().status.is_in_turn();
                let begun_by = |sent: &Sent| sent.turn_of.clone().unwrap_or_else(|| sent.id.clone());
                let turn_of = sent.last().filter(|_| runs).map(begun_by);
                sent.push(Sent { id, to: newest.clone(), turn_of });
            }
            Some(Item::Host(HostEvent::Rewound { message: id, to })) => {
                let place = sent.iter().position(|sent| sent.id == id);
                sent.truncate(place.unwrap_or(sent.len()));
                newest = to;
            }
            _ => {}
        }
        history.replay(event, &mut frames);
        if let (Some(line), Some(session)) = (line, &history.view().session.id) {
            newest = Some(RewindPoint { session: session.clone(), line });
        }
        Ok(true)
    })?;
    let Some(place) = sent.iter().position(|sent| sent.id == *message) else {
        return Err(match was_known {
            true => HostError::CannotRewind(
                "the conversation was taken back behind this message already; a branch from it has the conversation \
                 as it was"
                    .to_owned(),
            ),
            false => HostError::NoSuchMessage,
        });
    };
    let since = sent.split_off(place);
    let ids = since.iter().map(|sent| sent.id.clone()).collect();
    let Some(Sent { to, turn_of, .. }) = since.into_iter().next() else {
        return Err(HostError::NoSuchMessage);
    };
    if let Some(first) = turn_of {
        return Err(HostError::CannotRewind(format!(
            "the message was sent into a running turn; take the conversation back to the one that began the turn: {first}"
        )));
    }
    let text = text.or_else(|| stored.as_ref().map(|stored| stored.text.clone()));
    Ok(Target { to, text: text.unwrap_or_default(), images, stored, since: ids })
}
