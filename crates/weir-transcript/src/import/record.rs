//! One line of a transcript.

use weir_wire::{RawJson, ToolUseId};

use crate::time::stamp_milliseconds;

/// A line, with what determines its type and its place in the tree.
#[derive(Debug, Clone)]
pub(super) struct Record<'a> {
    /// The line as it is in the file.
    pub(super) raw: &'a [u8],
    /// The line as JSON; `null` if it is not JSON.
    pub(super) json: RawJson<'a>,
    /// Its type; empty if it has none.
    pub(super) kind: String,
    pub(super) uuid: Option<String>,
    pub(super) parent: Option<String>,
    /// The previous line, if a compaction has cut the tree.
    pub(super) logical_parent: Option<String>,
    /// Whether it belongs to a sub-agent.
    pub(super) sidechain: bool,
    pub(super) at: Option<i64>,
    /// The API's id of the message that it is a part of.
    pub(super) message_id: Option<String>,
    /// The tool calls in it.
    pub(super) calls: Vec<ToolUseId>,
    /// The tool calls whose results are in it.
    pub(super) results: Vec<ToolUseId>,
    /// The sub-agent whose start or end the result reports.
    pub(super) result_agent: Option<String>,
}

impl<'a> Record<'a> {
    /// All lines of a file that are not empty.
    pub(super) fn all(file: &'a [u8]) -> Vec<Self> {
        let lines = file.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
        lines.filter(|line| !line.is_empty()).map(Self::new).collect()
    }

    pub(super) fn new(raw: &'a [u8]) -> Self {
        let json = RawJson::parse(raw).unwrap_or_default();
        let mut record = Self {
            raw,
            json,
            kind: String::new(),
            uuid: None,
            parent: None,
            logical_parent: None,
            sidechain: false,
            at: None,
            message_id: None,
            calls: Vec::new(),
            results: Vec::new(),
            result_agent: None,
        };
        for (key, value) in json.members() {
            let text = || value.as_text().map(|text| text.to_str().into_owned());
            match &*key.to_str() {
                "type" => record.kind = text().unwrap_or_default(),
                "uuid" => record.uuid = text(),
                "parentUuid" => record.parent = text(),
                "logicalParentUuid" => record.logical_parent = text(),
                "isSidechain" => record.sidechain = value.as_bool() == Some(true),
                "timestamp" => record.at = value.as_text().and_then(stamp_milliseconds),
                "message" => record.read_message(value),
                "toolUseResult" => record.result_agent = text_at(value, "agentId"),
                _ => {}
            }
        }
        record
    }

    fn read_message(&mut self, message: RawJson<'a>) {
        self.message_id = text_at(message, "id");
        for block in message.get("content").unwrap_or_default().elements() {
            let id = |key| text_at(block, key).map(ToolUseId::new);
            match text_at(block, "type").as_deref() {
                Some("tool_use") => self.calls.extend(id("id")),
                Some("tool_result") => self.results.extend(id("tool_use_id")),
                _ => {}
            }
        }
    }

    /// Whether it is a `user` or `assistant` line.
    pub(super) fn is_message(&self) -> bool {
        matches!(self.kind.as_str(), "user" | "assistant")
    }

    pub(super) fn is_true(&self, key: &str) -> bool {
        self.json.get(key).and_then(|value| value.as_bool()) == Some(true)
    }

    pub(super) fn text(&self, key: &str) -> Option<String> {
        text_at(self.json, key)
    }

    pub(super) fn content(&self) -> RawJson<'a> {
        self.json.get("message").and_then(|message| message.get("content")).unwrap_or_default()
    }

    /// The text of the message.
    pub(super) fn said(&self) -> String {
        let content = self.content();
        if let Some(text) = content.as_text() {
            return text.to_str().into_owned();
        }
        let texts = content.elements().filter_map(|block| text_at(block, "text"));
        texts.collect::<Vec<_>>().join("\n")
    }

    /// Number of images, and number of documents in the message.
    pub(super) fn attached(&self) -> (u32, u32) {
        let count = |kind: &str| {
            let is_it = |block: &RawJson<'_>| text_at(*block, "type").as_deref() == Some(kind);
            u32::try_from(self.content().elements().filter(is_it).count()).unwrap_or(u32::MAX)
        };
        (count("image"), count("document"))
    }
}

/// The string at this key.
pub(super) fn text_at(json: RawJson<'_>, key: &str) -> Option<String> {
    json.get(key)?.as_text().map(|text| text.to_str().into_owned())
}
