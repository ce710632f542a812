//! What the view leaves out, from the log: whole outputs of tools, and pictures.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use weir_store::SessionId;
use weir_transcript::lookup;
use weir_wire::{Decoder, Line, MessageId, ToolUseId};

use crate::core::Core;
use crate::error::HostError;
use crate::item::Item;
use crate::labels;
use crate::load::walk_labelled;
use crate::message::{Document, Image, StoredMessage};

/// Finds the text that a tool call gave back. Blocks.
pub(crate) fn tool_output(core: &Core, id: &SessionId, tool: &ToolUseId) -> Result<String, HostError> {
    find(core, id, tool, lookup::tool_output)
}

/// Finds the pictures that a tool call gave back. Blocks.
pub(crate) fn tool_pictures(core: &Core, id: &SessionId, tool: &ToolUseId) -> Result<Vec<Image>, HostError> {
    let images = find(core, id, tool, lookup::tool_images)?;
    let decoded = images.into_iter().filter_map(|image| {
        Some(Image { media_type: image.media_type, data: STANDARD.decode(image.data).ok()? })
    });
    Ok(decoded.collect())
}

/// Finds the pictures that were sent with a message. Blocks.
pub(crate) fn message_pictures(
    core: &Core,
    id: &SessionId,
    message: &MessageId,
) -> Result<Vec<Image>, HostError> {
    sent_with(core, id, message, |stored| stored.images.clone())
}

/// Finds the documents that were sent with a message. Blocks.
pub(crate) fn message_documents(
    core: &Core,
    id: &SessionId,
    message: &MessageId,
) -> Result<Vec<Document>, HostError> {
    sent_with(core, id, message, |stored| stored.documents.clone())
}

/// Finds a message with pictures or documents, and gives what `read` takes of it.
fn sent_with<T>(
    core: &Core,
    id: &SessionId,
    message: &MessageId,
    read: impl Fn(&StoredMessage) -> T,
) -> Result<T, HostError> {
    let mut found = None;
    walk_labelled(core.source(), id, &labels::pictures_of(message), |event| {
        if let Some(Item::Message(stored) | Item::OldMessage(stored)) = Item::of(event)
            && stored.message_id == *message
        {
            found = Some(read(&stored));
        }
        Ok(found.is_none())
    })?;
    found.ok_or(HostError::NoSuchMessage)
}

/// Finds the last result of a tool call, and gives what `read` makes of it.
fn find<T>(
    core: &Core,
    id: &SessionId,
    tool: &ToolUseId,
    read: impl Fn(&Line<'_>, &ToolUseId) -> Option<T>,
) -> Result<T, HostError> {
    let mut decoder = Decoder::new();
    let mut found = None;
    walk_labelled(core.source(), id, &labels::output_of(tool), |event| {
        if let Some(Item::Line(raw)) = Item::of(event)
            && contains(&raw, tool.as_str().as_bytes())
            && let Some(output) = read(&decoder.decode(&raw), tool)
        {
            found = Some(output);
        }
        Ok(true)
    })?;
    found.ok_or(HostError::NoSuchTool)
}

/// A log of an older version has no labels: most lines do not name the call, and looking for its name is much cheaper
/// than decoding them.
fn contains(line: &[u8], name: &[u8]) -> bool {
    !name.is_empty() && memchr::memmem::find(line, name).is_some()
}
