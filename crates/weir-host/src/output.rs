//! What the view leaves out, from the log: whole outputs of tools, and pictures.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use weir_store::SessionId;
use weir_wire::{Content, ContentBlock, Decoder, Message, MessageId, ToolUseId};

use crate::core::Core;
use crate::error::HostError;
use crate::item::Item;
use crate::labels;
use crate::load::walk_labelled;
use crate::message::Image;

/// Finds the text that a tool call gave back. Blocks.
pub(crate) fn tool_output(core: &Core, id: &SessionId, tool: &ToolUseId) -> Result<String, HostError> {
    find(core, id, tool, text)
}

/// Finds the pictures that a tool call gave back. Blocks.
pub(crate) fn tool_pictures(core: &Core, id: &SessionId, tool: &ToolUseId) -> Result<Vec<Image>, HostError> {
    find(core, id, tool, pictures)
}

/// Finds the pictures that were sent with a message. Blocks.
pub(crate) fn message_pictures(
    core: &Core,
    id: &SessionId,
    message: &MessageId,
) -> Result<Vec<Image>, HostError> {
    let mut found = None;
    walk_labelled(core.source(), id, &labels::pictures_of(message), |event| {
        if let Some(Item::Message(stored) | Item::OldMessage(stored)) = Item::of(event)
            && stored.message_id == *message
        {
            found = Some(stored.images.clone());
        }
        Ok(found.is_none())
    })?;
    found.ok_or(HostError::NoSuchMessage)
}

/// Finds the last result of a tool call, and gives what `read` makes of it.
fn find<T: Default>(
    core: &Core,
    id: &SessionId,
    tool: &ToolUseId,
    read: impl Fn(&Content<'_>) -> T,
) -> Result<T, HostError> {
    let mut decoder = Decoder::new();
    let mut found = None;
    walk_labelled(core.source(), id, &labels::output_of(tool), |event| {
        if let Some(Item::Line(raw)) = Item::of(event)
            && contains(&raw, tool.as_str().as_bytes())
            && let Some(output) = output(&mut decoder, &raw, tool, &read)
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

fn output<T: Default>(
    decoder: &mut Decoder,
    raw: &[u8],
    tool: &ToolUseId,
    read: impl Fn(&Content<'_>) -> T,
) -> Option<T> {
    let line = decoder.decode(raw);
    let Some(Message::User(message)) = line.body.message() else { return None };
    message.message.content.blocks().iter().find_map(|block| match block {
        ContentBlock::ToolResult(result) if result.tool_use_id.is_some_and(|id| id.to_id() == *tool) => {
            Some(result.content.as_ref().map(&read).unwrap_or_default())
        }
        _ => None,
    })
}

fn text(content: &Content<'_>) -> String {
    match content {
        Content::Text(text) => text.to_str().into_owned(),
        Content::Blocks(blocks) => {
            let texts = blocks.iter().filter_map(|block| match block {
                ContentBlock::Text(block) => Some(block.text.to_str()),
                _ => None,
            });
            texts.collect::<Vec<_>>().join("\n")
        }
    }
}

/// Pictures whose bytes are there. One that is only an address is not fetched.
fn pictures(content: &Content<'_>) -> Vec<Image> {
    let Content::Blocks(blocks) = content else { return Vec::new() };
    let pictures = blocks.iter().filter_map(|block| match block {
        ContentBlock::Image(block) => {
            let data = STANDARD.decode(block.media.data.as_ref()?.to_str().as_bytes()).ok()?;
            let media_type = block.media.media_type.as_ref()?.to_str().into_owned();
            Some(Image { media_type, data })
        }
        _ => None,
    });
    pictures.collect()
}
