//! The whole output of a tool call, from the log.

use weir_store::ConversationId;
use weir_wire::{Content, ContentBlock, Decoder, Message, ToolUseId};

use crate::core::Core;
use crate::error::HostError;
use crate::item::Item;
use crate::labels;
use crate::load::walk_labelled;

/// Finds what a tool call gave back. Blocks.
pub(crate) fn tool_output(core: &Core, id: &ConversationId, tool: &ToolUseId) -> Result<String, HostError> {
    let mut decoder = Decoder::new();
    let mut found = None;
    walk_labelled(&*core.options.store, id, &labels::output_of(tool), |event| {
        if let Some(Item::Line(raw)) = Item::of(event)
            && contains(&raw, tool.as_str().as_bytes())
            && let Some(output) = output(&mut decoder, &raw, tool)
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

fn output(decoder: &mut Decoder, raw: &[u8], tool: &ToolUseId) -> Option<String> {
    let line = decoder.decode(raw);
    let Some(Message::User(message)) = line.body.message() else { return None };
    message.message.content.blocks().iter().find_map(|block| match block {
        ContentBlock::ToolResult(result) if result.tool_use_id.to_id() == *tool => {
            Some(result.content.as_ref().map(text).unwrap_or_default())
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
