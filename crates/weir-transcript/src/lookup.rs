//! What single lines hold, for logs that are searched without folding them: the text to find a line by, the calls that
//! it belongs to, and what the view leaves out.

use weir_wire::{Body, Content, ContentBlock, Line, Message, ToolUseId, ToolUseResult};

/// How many calls are remembered until their results arrive. An agent has a few at a time.
const MAX_OPEN: usize = 1000;

/// What a line is about, for a reader that looks for such lines. It still has to check the line itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LineTopic {
    /// A call that changes files, or its result.
    FileChange,
    /// The result of this call.
    ToolOutput(ToolUseId),
}

/// Finds the topics of consecutive lines.
#[derive(Debug, Default)]
pub struct LineTopics {
    /// Calls that change files and have no result yet, the oldest first.
    open: Vec<ToolUseId>,
}

impl LineTopics {
    /// The topics of the next line.
    pub fn of(&mut self, line: &Line<'_>) -> Vec<LineTopic> {
        let mut topics = Vec::new();
        match line.body.message() {
            Some(Message::Assistant(message)) => {
                for block in message.message.content.blocks() {
                    if let ContentBlock::ToolUse(call) = block
                        && changes_files(&call.name.to_str())
                    {
                        if let Some(id) = call.id {
                            self.begin_call(id.to_id());
                        }
                        topics.push(LineTopic::FileChange);
                    }
                }
            }
            Some(Message::User(message)) => {
                let structured = message.tool_use_result.as_ref();
                let mut changes =
                    matches!(structured, Some(ToolUseResult::FileChange(_) | ToolUseResult::Notebook(_)));
                for block in message.message.content.blocks() {
                    if let ContentBlock::ToolResult(result) = block
                        && let Some(id) = result.tool_use_id
                    {
                        let tool = id.to_id();
                        changes |= self.end_call(&tool);
                        topics.push(LineTopic::ToolOutput(tool));
                    }
                }
                if changes {
                    topics.push(LineTopic::FileChange);
                }
            }
            _ => {}
        }
        topics.dedup();
        topics
    }

    fn begin_call(&mut self, tool: ToolUseId) {
        if self.open.len() >= MAX_OPEN {
            self.open.remove(0);
        }
        self.open.push(tool);
    }

    /// Returns whether the call was open, and forgets it.
    fn end_call(&mut self, tool: &ToolUseId) -> bool {
        let place = self.open.iter().position(|open| open == tool);
        place.map(|place| self.open.remove(place)).is_some()
    }
}

/// Tools from whose calls the fold derives file changes, with or without a structured result.
fn changes_files(name: &str) -> bool {
    matches!(name, "Write" | "Edit" | "MultiEdit" | "NotebookEdit")
}

/// What a line can be found by: what the model said.
pub fn search_text(line: &Line<'_>) -> Option<String> {
    let Some(Message::Assistant(message)) = line.body.message() else { return None };
    Some(joined_text(&message.message.content)).filter(|said| !said.is_empty())
}

/// The uuid of a line of the main agent's conversation.
pub fn main_agent_uuid(line: &Line<'_>) -> Option<String> {
    let (parent, uuid) = match &line.body {
        Body::Known(Message::Assistant(message)) => (message.parent_tool_use_id, message.uuid),
        Body::Known(Message::User(message)) => (message.parent_tool_use_id, message.uuid),
        _ => return None,
    };
    uuid.filter(|_| parent.is_none()).map(|uuid| uuid.to_str().into_owned())
}

/// A picture in a tool's output, as the CLI writes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EncodedImage {
    /// Its media type.
    pub media_type: String,
    /// Its bytes in base64.
    pub data: String,
}

/// The whole text that a tool call gave back, if the line has its result.
pub fn tool_output(line: &Line<'_>, tool: &ToolUseId) -> Option<String> {
    tool_result(line, tool, joined_text)
}

/// The pictures that a tool call gave back, if the line has its result. One that is only an address is left out.
pub fn tool_images(line: &Line<'_>, tool: &ToolUseId) -> Option<Vec<EncodedImage>> {
    tool_result(line, tool, |content| {
        let images = content.blocks().iter().filter_map(|block| match block {
            ContentBlock::Image(block) => Some(EncodedImage {
                media_type: block.media.media_type.as_ref()?.to_str().into_owned(),
                data: block.media.data.as_ref()?.to_str().into_owned(),
            }),
            _ => None,
        });
        images.collect()
    })
}

fn tool_result<T: Default>(line: &Line<'_>, tool: &ToolUseId, read: impl Fn(&Content<'_>) -> T) -> Option<T> {
    let Some(Message::User(message)) = line.body.message() else { return None };
    message.message.content.blocks().iter().find_map(|block| match block {
        ContentBlock::ToolResult(result) if result.tool_use_id.is_some_and(|id| id.to_id() == *tool) => {
            Some(result.content.as_ref().map(&read).unwrap_or_default())
        }
        _ => None,
    })
}

/// The texts, one after another.
fn joined_text(content: &Content<'_>) -> String {
    let mut joined = String::new();
    match content {
        Content::Text(text) => joined.push_str(&text.to_str()),
        Content::Blocks(blocks) => {
            let texts = blocks.iter().filter_map(|block| match block {
                ContentBlock::Text(block) => Some(&block.text),
                _ => None,
            });
            for (index, text) in texts.enumerate() {
                if index > 0 {
                    joined.push('\n');
                }
                joined.push_str(&text.to_str());
            }
        }
    }
    joined
}

#[cfg(test)]
mod tests {
    use weir_wire::Decoder;

    use super::*;
    use crate::{Change, Fold, FoldOptions};

    fn captures() -> Vec<std::path::PathBuf> {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/fixtures/captures");
        let mut files = Vec::new();
        for version in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            if version.is_dir() {
                files.extend(std::fs::read_dir(version).unwrap().map(|entry| entry.unwrap().path()));
            }
        }
        files.retain(|path| path.to_string_lossy().ends_with(".out.ndjson"));
        files.sort();
        files
    }

    /// The paths and diffs in a log of these lines.
    fn changes<'a>(lines: impl Iterator<Item = &'a [u8]>) -> Vec<(String, String)> {
        let (mut fold, mut decoder) = (Fold::new(FoldOptions::default()), Decoder::new());
        let mut changes = Vec::new();
        for line in lines {
            fold.line(&decoder.decode(line), &mut |_, change| {
                if let Change::FileChanged(change) = change {
                    changes.push((change.path.clone(), change.diff.clone()));
                }
            });
        }
        changes
    }

    #[test]
    fn lines_about_files_have_the_same_changes_as_all_lines() {
        let mut seen = 0;
        for file in captures() {
            let bytes = std::fs::read(&file).unwrap();
            let lines = || bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
            let (mut topics, mut decoder) = (LineTopics::default(), Decoder::new());
            let about_files: Vec<&[u8]> = lines()
                .filter(|line| topics.of(&decoder.decode(line)).contains(&LineTopic::FileChange))
                .collect();
            let all = changes(lines());
            assert_eq!(changes(about_files.iter().copied()), all, "{}", file.display());
            seen += all.len();
        }
        assert!(seen > 5, "only {seen} changes in all recordings");
    }

    #[test]
    fn a_result_is_found_by_its_call() {
        let mut decoder = Decoder::new();
        let raw = br#"{"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"x"},{"type":"tool_result","tool_use_id":"t2","content":[{"type":"text","text":"y"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AAAA"}},{"type":"text","text":"z"}]}]}}"#;
        let line = decoder.decode(raw);
        let topics = LineTopics::default().of(&line);
        assert_eq!(topics, [LineTopic::ToolOutput("t1".into()), LineTopic::ToolOutput("t2".into())]);
        assert_eq!(tool_output(&line, &"t1".into()).as_deref(), Some("x"));
        assert_eq!(tool_output(&line, &"t2".into()).as_deref(), Some("y\nz"));
        assert_eq!(tool_output(&line, &"t3".into()), None);
        let image = EncodedImage { media_type: "image/png".into(), data: "AAAA".into() };
        assert_eq!(tool_images(&line, &"t2".into()), Some(vec![image]));
        assert_eq!(tool_images(&line, &"t1".into()), Some(Vec::new()));
        assert!(LineTopics::default().of(&decoder.decode(br#"{"type":"system"}"#)).is_empty());
    }

    #[test]
    fn a_line_is_found_by_what_the_model_said() {
        let mut decoder = Decoder::new();
        let raw = br#"{"type":"assistant","message":{"content":[{"type":"text","text":"one"},{"type":"thinking","thinking":"two"},{"type":"text","text":"three"}]}}"#;
        assert_eq!(search_text(&decoder.decode(raw)).as_deref(), Some("one\nthree"));
        assert_eq!(search_text(&decoder.decode(br#"{"type":"system"}"#)), None);
    }

    #[test]
    fn only_lines_of_the_main_agent_can_be_branched_from() {
        let mut decoder = Decoder::new();
        let mut uuid = |raw: &str| main_agent_uuid(&decoder.decode(raw.as_bytes()));
        let main = r#"{"type":"assistant","uuid":"u1","parent_tool_use_id":null,"message":{"content":[]}}"#;
        assert_eq!(uuid(main).as_deref(), Some("u1"));
        assert_eq!(uuid(&main.replace("null", "\"t1\"")), None);
        assert_eq!(uuid(r#"{"type":"system","uuid":"u2"}"#), None);
    }
}
