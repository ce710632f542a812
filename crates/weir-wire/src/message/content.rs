//! Content blocks: the parts of a message.
//!
//! Each block is decoded on its own, so that a block in a new shape does not affect its neighbours.

use crate::decode::object::{Field, Problems, wire_struct};
use crate::id::{IdRef, ToolUseId};
use crate::json::{JsonKind, Node, RawJson, Text};

/// The content of a message: a plain string, or blocks.
#[derive(Debug, Clone)]
pub enum Content<'a> {
    /// The short form: a string.
    Text(Text<'a>),
    /// The long form: blocks.
    Blocks(Vec<ContentBlock<'a>>),
}

impl Default for Content<'_> {
    fn default() -> Self {
        Self::Blocks(Vec::new())
    }
}

impl<'a> Content<'a> {
    /// The blocks; the short form has none.
    pub fn blocks(&self) -> &[ContentBlock<'a>] {
        match self {
            Self::Text(_) => &[],
            Self::Blocks(blocks) => blocks,
        }
    }

    /// The text, without any other content.
    pub fn to_text(&self) -> String {
        match self {
            Self::Text(text) => text.to_str().into_owned(),
            Self::Blocks(blocks) => blocks.iter().fold(String::new(), |mut out, block| {
                if let ContentBlock::Text(block) = block {
                    out.push_str(&block.text.to_str());
                }
                out
            }),
        }
    }
}

impl<'a> Field<'a> for Content<'a> {
    fn decode(node: Node<'a, '_>, problems: &mut Problems) -> Option<Self> {
        if let Some(text) = node.text() {
            return Some(Self::Text(text));
        }
        if node.kind() != JsonKind::Array || node.is_opaque() {
            problems.expected("a string or an array of blocks", node);
            return None;
        }
        let mut blocks = Vec::with_capacity(node.children().count());
        blocks.extend(node.children().map(ContentBlock::read));
        Some(Self::Blocks(blocks))
    }
}

/// One part of a message.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum ContentBlock<'a> {
    /// Text for the reader.
    Text(TextBlock<'a>),
    /// The model's thinking.
    Thinking(ThinkingBlock<'a>),
    /// Thinking that only the API can read.
    RedactedThinking(RedactedThinkingBlock<'a>),
    /// The model calls a tool of the CLI.
    ToolUse(ToolUseBlock<'a>),
    /// The result of a tool.
    ToolResult(ToolResultBlock<'a>),
    /// An image.
    Image(MediaBlock<'a>),
    /// A document such as a PDF.
    Document(MediaBlock<'a>),
    /// The model calls a tool that the API or an MCP server runs.
    ServerToolUse(ServerToolUseBlock<'a>),
    /// The result of such a tool (`web_search_tool_result` and similar).
    ServerToolResult(ServerToolResultBlock<'a>),
    /// A kind of block that this version of Weir does not know.
    Unknown {
        /// Its `type`, if it has one.
        kind: Option<Text<'a>>,
        /// The block.
        json: RawJson<'a>,
    },
    /// A known kind of block whose fields do not match.
    Mismatch {
        /// Its `type`.
        kind: Text<'a>,
        /// What does not match.
        reason: String,
        /// The block.
        json: RawJson<'a>,
    },
}

wire_struct! {
    /// Text for the reader.
    TextBlock {
        /// The text.
        required text: Text<'a> = "text",
        /// Sources of statements in the text.
        optional citations: RawJson<'a> = "citations",
    }
}

wire_struct! {
    /// The model's thinking.
    ThinkingBlock {
        /// The text; empty if the API gives only a signature.
        required thinking: Text<'a> = "thinking",
        /// Proves to the API that the thinking is its own.
        optional signature: Text<'a> = "signature",
    }
}

wire_struct! {
    /// Thinking that only the API can read.
    RedactedThinkingBlock {
        /// The encrypted text.
        required data: Text<'a> = "data",
    }
}

wire_struct! {
    /// The model calls a tool.
    ToolUseBlock {
        /// Id of the call; the result carries the same id. The CLI always sends it; other programs may not.
        optional id: IdRef<'a, ToolUseId> = "id",
        /// The tool.
        required name: Text<'a> = "name",
        /// Its arguments; [`crate::ToolInput`] knows those of the common tools.
        required input: RawJson<'a> = "input",
    }
}

wire_struct! {
    /// The result of a tool.
    ToolResultBlock {
        /// The call that this answers. The CLI always sends it; other programs may not.
        optional tool_use_id: IdRef<'a, ToolUseId> = "tool_use_id",
        /// What the model sees. Absent if a tool printed nothing.
        optional content: Content<'a> = "content",
        /// Whether the tool failed or was not run.
        optional is_error: bool = "is_error",
    }
}

wire_struct! {
    /// An image or a document.
    MediaBlock {
        /// Where the bytes are.
        required media: MediaSource<'a> = "source",
        /// The name of a document.
        optional title: Text<'a> = "title",
    }
}

wire_struct! {
    /// Where the bytes of an image or document are.
    MediaSource {
        /// `base64`, `url`, `file` or `text`.
        required kind: Text<'a> = "type",
        /// The MIME type of the bytes.
        optional media_type: Text<'a> = "media_type",
        /// The bytes, for `base64` and `text`.
        optional data: Text<'a> = "data",
        /// The address, for `url`.
        optional url: Text<'a> = "url",
    }
}

wire_struct! {
    /// The model calls a tool that the API or an MCP server runs.
    ServerToolUseBlock {
        /// Id of the call.
        required id: IdRef<'a, ToolUseId> = "id",
        /// The tool.
        required name: Text<'a> = "name",
        /// The MCP server, if it is one.
        optional server_name: Text<'a> = "server_name",
        /// Its arguments.
        required input: RawJson<'a> = "input",
    }
}

wire_struct! {
    /// The result of a tool that the API ran.
    ServerToolResultBlock {
        /// The kind of result, such as `web_search_tool_result`.
        required kind: Text<'a> = "type",
        /// The call that this answers.
        required tool_use_id: IdRef<'a, ToolUseId> = "tool_use_id",
        /// The result; its shape depends on the tool.
        optional content: RawJson<'a> = "content",
        /// Whether the tool failed.
        optional is_error: bool = "is_error",
    }
}

impl<'a> ContentBlock<'a> {
    /// Decodes a block; cannot fail.
    pub(crate) fn read(node: Node<'a, '_>) -> Self {
        let Some(kind) = node.get("type").and_then(|kind| kind.text()) else {
            return Self::Unknown { kind: None, json: node.raw() };
        };
        let mut problems = Problems::default();
        let block = Self::read_kind(kind, node, &mut problems);
        match block {
            Some(block) if problems.is_empty() => block,
            _ if problems.is_empty() => Self::Unknown { kind: Some(kind), json: node.raw() },
            _ => Self::Mismatch { kind, reason: problems.into_reason(), json: node.raw() },
        }
    }

    fn read_kind(kind: Text<'a>, node: Node<'a, '_>, problems: &mut Problems) -> Option<Self> {
        let name = kind.to_str();
        match &*name {
            "text" => Field::decode(node, problems).map(Self::Text),
            "thinking" => Field::decode(node, problems).map(Self::Thinking),
            "redacted_thinking" => Field::decode(node, problems).map(Self::RedactedThinking),
            "tool_use" => Field::decode(node, problems).map(Self::ToolUse),
            "tool_result" => Field::decode(node, problems).map(Self::ToolResult),
            "image" => Field::decode(node, problems).map(Self::Image),
            "document" => Field::decode(node, problems).map(Self::Document),
            "server_tool_use" | "mcp_tool_use" => Field::decode(node, problems).map(Self::ServerToolUse),
            _ if name.ends_with("_tool_result") => Field::decode(node, problems).map(Self::ServerToolResult),
            _ => None,
        }
    }
}

impl<'a> Field<'a> for ContentBlock<'a> {
    fn decode(node: Node<'a, '_>, _: &mut Problems) -> Option<Self> {
        Some(Self::read(node))
    }
}
