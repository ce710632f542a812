//! What a list of sessions shows, from the beginning and the end of a file.

use super::record::{Record, text_at};
use super::tags::Said;

/// The number of messages in a transcript.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MessageCount {
    /// The exact number.
    Exactly(u64),
    /// The number in what was read, without the middle of the file.
    AtLeast(u64),
}

/// What is known without reading all of a transcript.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Glance {
    /// The session's id, which is also the name of the file.
    pub session: Option<String>,
    /// Its working directory.
    pub cwd: Option<String>,
    /// The CLI's version.
    pub version: Option<String>,
    /// The git branch.
    pub git_branch: Option<String>,
    /// Its title, if it has one.
    pub title: Option<String>,
    /// Its tag, if it has one.
    pub tag: Option<String>,
    /// The first message.
    pub first_prompt: Option<String>,
    /// When it began, in milliseconds since 1970.
    pub started_at: Option<i64>,
    /// When something last happened.
    pub updated_at: Option<i64>,
    /// Messages of people and of the model, on all branches.
    pub messages: MessageCount,
    /// Whether it is the file of a sub-agent instead of a session.
    pub is_agent: bool,
}

/// Reads the beginning and the end of a file of this length. 64 KiB of each are enough; if they cover the whole
/// file or overlap, they are joined.
pub fn glance(head: &[u8], tail: &[u8], length: u64) -> Glance {
    let missing = length.saturating_sub(head.len() as u64 + tail.len() as u64);
    let overlap = (head.len() as u64 + tail.len() as u64).saturating_sub(length);
    let overlap = usize::try_from(overlap).unwrap_or(usize::MAX).min(tail.len());
    let whole;
    let (head, tail) = if missing == 0 {
        whole = [head, tail.get(overlap..).unwrap_or_default()].concat();
        (whole.as_slice(), [].as_slice())
    } else {
        // Lines that were cut are ignored.
        let end = head.iter().rposition(|byte| *byte == b'\n').unwrap_or(0);
        let start = tail.iter().position(|byte| *byte == b'\n').unwrap_or(tail.len());
        (head.get(..end).unwrap_or_default(), tail.get(start..).unwrap_or_default())
    };
    let mut found = Glance {
        session: None,
        cwd: None,
        version: None,
        git_branch: None,
        title: None,
        tag: None,
        first_prompt: None,
        started_at: None,
        updated_at: None,
        messages: MessageCount::Exactly(0),
        is_agent: false,
    };
    let mut messages = 0;
    let mut queued = None;
    for record in Record::all(head).iter().chain(&Record::all(tail)) {
        found.look_at(record, &mut messages, &mut queued);
    }
    found.first_prompt = found.first_prompt.or(queued);
    found.messages =
        if missing == 0 { MessageCount::Exactly(messages) } else { MessageCount::AtLeast(messages) };
    found
}

impl Glance {
    fn look_at(&mut self, record: &Record<'_>, messages: &mut u64, queued: &mut Option<String>) {
        let fill = |place: &mut Option<String>, key: &str| {
            if place.is_none() {
                *place = record.text(key).filter(|text| !text.is_empty());
            }
        };
        fill(&mut self.session, "sessionId");
        fill(&mut self.cwd, "cwd");
        fill(&mut self.version, "version");
        fill(&mut self.git_branch, "gitBranch");
        self.started_at = self.started_at.or(record.at);
        self.updated_at = self.updated_at.max(record.at);
        match record.kind.as_str() {
            "summary" => self.title = record.text("summary").or(self.title.take()),
            "ai-title" => self.title = record.text("aiTitle").or(self.title.take()),
            "custom-title" => self.title = record.text("customTitle").or(self.title.take()),
            // An empty one takes it away.
            "tag" => self.tag = record.text("tag").filter(|tag| !tag.is_empty()),
            "queue-operation" if queued.is_none() => *queued = text_at(record.json, "content"),
            "assistant" => *messages += 1,
            "user" if record.results.is_empty() && !record.is_true("isMeta") => {
                *messages += 1;
                self.is_agent |= record.sidechain && record.parent.is_none() && self.first_prompt.is_none();
                let said = record.said();
                if self.first_prompt.is_none() && Said::of(&said) == Said::Message {
                    self.first_prompt = Some(said);
                }
            }
            _ => {}
        }
    }
}
