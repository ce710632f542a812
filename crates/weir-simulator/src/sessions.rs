//! Sessions on disk: one file of lines each, in the same folders and format as the real CLI.
//!
//! Only what a resumed session needs is read back: the messages and the cost.

use std::collections::{HashMap, HashSet};
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use super::clock;
use super::profile::Profile;
use super::rewind::Asked;
use crate::json::{Json, parse};
use crate::object;

/// The name of a working directory's session folder: every character that is not a letter or digit becomes a dash.
pub(crate) fn project_name(cwd: &Path) -> String {
    cwd.to_string_lossy()
        .chars()
        .map(|letter| if letter.is_ascii_alphanumeric() { letter } else { '-' })
        .collect()
}

/// The file of a session.
pub(crate) fn file_of(project_dir: &Path, session: &str) -> PathBuf {
    project_dir.join(format!("{session}.jsonl"))
}

/// The most recently written session in a folder.
pub(crate) fn newest(project_dir: &Path) -> Option<String> {
    let files = std::fs::read_dir(project_dir).ok()?.flatten().filter_map(|entry| {
        let path = entry.path();
        let id = path.file_stem()?.to_str()?.to_owned();
        let is_session =
            path.extension().is_some_and(|end| end == "jsonl") && uuid::Uuid::parse_str(&id).is_ok();
        is_session.then_some((entry.metadata().ok()?.modified().ok()?, id))
    });
    files.max().map(|(_, id)| id)
}

/// The contents of a session file.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Saved {
    /// The conversation, in the format of the API.
    pub(crate) messages: Vec<Json>,
    /// The last `cost-state` line.
    pub(crate) cost: Option<Json>,
    /// The uuid of the last line of the conversation.
    pub(crate) leaf: Option<String>,
    /// The messages of the user, each with what came before it.
    pub(crate) asked: Vec<Asked>,
}

/// Reads a session file, up to and including the line `last` if given. Unknown lines are skipped, and so is what was taken
/// back: only the lines that lead to the last one count.
pub(crate) fn load(path: &Path, last: Option<&str>) -> std::io::Result<Saved> {
    let mut lines = Vec::new();
    for line in BufReader::new(File::open(path)?).lines() {
        lines.extend(parse(&line?).ok());
    }
    let newest = newest_leaf(&lines);
    let whole = path_to(&lines, newest.as_deref());
    // What was taken back is not found any more.
    let leaf = match last {
        Some(last) => Some(last.to_owned()).filter(|last| whole.contains(last)),
        None => newest,
    };
    let path_to = path_to(&lines, leaf.as_deref());
    let mut saved = Saved::default();
    let mut last_answer = None;
    for line in lines {
        // Later lines only count towards the cost.
        let is_cut = saved.leaf == leaf;
        let uuid = line.str_of("uuid").map(str::to_owned);
        match line.str_of("type") {
            Some("cost-state") => saved.cost = Some(line),
            Some(kind @ ("user" | "assistant"))
                if uuid.as_ref().is_some_and(|uuid| path_to.contains(uuid)) =>
            {
                let Some(message) = line.get("message") else { continue };
                let content = message.get("content").cloned().unwrap_or(Json::Null);
                if kind == "user" && is_of_person(&line, &content) {
                    saved.asked.push(Asked {
                        uuid: uuid.clone().unwrap_or_default(),
                        text: crate::script::texts(&content).join("\n"),
                        before: saved.messages.len(),
                        after: saved.leaf.clone(),
                    });
                }
                saved.leaf = uuid;
                let id = message.str_of("id").map(str::to_owned);
                if kind == "assistant" && id.is_some() && id == last_answer {
                    append_blocks(saved.messages.last_mut(), message);
                    continue;
                }
                last_answer = if kind == "assistant" { id } else { None };
                saved.messages.push(object! { "role" => kind, "content" => content });
            }
            Some("compact-reset") if !is_cut => saved.messages.clear(),
            _ => {}
        }
    }
    Ok(saved)
}

/// Whether a line of the conversation is a message that can be taken back: no result of a tool, and nothing that the CLI
/// wrote by itself.
fn is_of_person(line: &Json, content: &Json) -> bool {
    let is_result = |block: &Json| block.str_of("type") == Some("tool_result");
    let is_of_cli = line.get("origin").is_some()
        || line.is_true("isSynthetic")
        || crate::script::texts(content).concat().starts_with("[Request interrupted by user");
    !content.items().iter().any(is_result) && !is_of_cli
}

/// The last line of the conversation, or the one that it was taken back to.
fn newest_leaf(lines: &[Json]) -> Option<String> {
    let mut leaf = None;
    for line in lines {
        match line.str_of("type") {
            Some("user" | "assistant") if !line.is_true("isSidechain") => {
                leaf = line.str_of("uuid").map(str::to_owned).or(leaf);
            }
            Some("last-prompt") if line.is_true("rewound") => {
                leaf = line.str_of("leafUuid").map(str::to_owned);
            }
            _ => {}
        }
    }
    leaf
}

/// The lines that lead to one.
fn path_to(lines: &[Json], leaf: Option<&str>) -> HashSet<String> {
    let parents: HashMap<&str, Option<&str>> =
        lines.iter().filter_map(|line| Some((line.str_of("uuid")?, line.str_of("parentUuid")))).collect();
    let (mut path, mut next) = (HashSet::new(), leaf);
    while let Some(uuid) = next {
        if !path.insert(uuid.to_owned()) {
            break;
        }
        next = parents.get(uuid).copied().flatten();
    }
    path
}

/// Merges blocks into a message, which is stored as several lines with one block each.
fn append_blocks(message: Option<&mut Json>, more: &Json) {
    if let Some(Json::Array(blocks)) = message.and_then(|message| message.get_mut("content")) {
        blocks.extend_from_slice(more.items_of("content"));
    }
}

/// Writes a session file, line by line. A failing disk does not stop the CLI.
#[derive(Debug)]
pub(crate) struct SessionFile {
    path: PathBuf,
    file: Option<File>,
    session: String,
    cwd: String,
    version: String,
    old: bool,
    leaf: Option<String>,
}

impl SessionFile {
    /// A session file, which is created when the first line is written.
    pub(crate) fn new(project_dir: &Path, session: &str, cwd: &str, profile: &Profile) -> Self {
        Self {
            path: file_of(project_dir, session),
            file: None,
            session: session.to_owned(),
            cwd: cwd.to_owned(),
            version: profile.version.clone(),
            old: profile.is_old(),
            leaf: None,
        }
    }

    /// Belongs to another folder from now on, unless something was written.
    pub(crate) fn relocate(&mut self, project_dir: &Path, cwd: String) {
        if self.file.is_none() && self.leaf.is_none() {
            self.path = file_of(project_dir, &self.session);
            self.cwd = cwd;
        }
    }

    /// The line that the next one follows.
    pub(crate) fn leaf(&self) -> Option<String> {
        self.leaf.clone()
    }

    /// Continues after this line.
    pub(crate) fn continue_after(&mut self, leaf: Option<String>) {
        self.leaf = leaf;
    }

    /// Copies another session's lines under the new name, up to and including the line `last` if given.
    pub(crate) fn copy_from(&mut self, other: &Path, last: Option<&str>) {
        let Ok(text) = std::fs::read_to_string(other) else { return };
        for line in text.lines() {
            if let Ok(mut line) = parse(line) {
                if line.get("sessionId").is_some() {
                    line.set("sessionId", self.session.as_str());
                }
                self.append(&line);
                if last.is_some() && line.str_of("uuid") == last {
                    return;
                }
            }
        }
    }

    fn append(&mut self, line: &Json) {
        if self.file.is_none() {
            if let Some(folder) = self.path.parent() {
                drop(std::fs::create_dir_all(folder));
            }
            self.file = OpenOptions::new().append(true).create(true).mode(0o600).open(&self.path).ok();
        }
        if let Some(file) = &mut self.file {
            drop(file.write_all(format!("{line}\n").as_bytes()));
        }
    }

    /// Writes a line that is not part of the conversation.
    pub(crate) fn note(&mut self, line: &Json) {
        self.append(line);
    }

    /// Records that a message was taken from the queue.
    pub(crate) fn dequeued(&mut self) {
        let line = object! {
            "type" => "queue-operation",
            "operation" => "dequeue",
            "timestamp" => clock::timestamp(),
            "sessionId" => self.session.as_str(),
        };
        self.append(&line);
    }

    /// Writes a line of the conversation: a user message, a model message, or tool results.
    pub(crate) fn message(&mut self, kind: &str, message: &Json, uuid: &str, extra: Json) {
        let chain = object! { "parentUuid" => self.leaf.take(), "isSidechain" => false };
        let place = object! { "cwd" => self.cwd.as_str(), "sessionId" => self.session.as_str(), "version" => self.version.as_str(), "gitBranch" => "" };
        let what = object! { "type" => kind, "message" => message, "uuid" => uuid, "timestamp" => clock::timestamp() };
        let line = if self.old {
            chain.with("userType", "external").with_all(place).with_all(what).with_all(extra)
        } else {
            let entry = object! { "userType" => "external", "entrypoint" => "sdk-cli" };
            chain.with_all(what).with_all(extra).with_all(entry).with_all(place)
        };
        self.append(&line);
        self.leaf = Some(uuid.to_owned());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::array;

    #[test]
    fn names_match_the_real_cli() {
        assert_eq!(project_name(Path::new("/workspace/my_demo.x")), "-workspace-my-demo-x");
    }

    #[test]
    fn what_was_written_is_read_back() {
        let folder = tempfile::tempdir().unwrap();
        let mut file = SessionFile::new(folder.path(), "s", "/w", &Profile::of("2.1.325"));
        file.dequeued();
        file.message("user", &object! { "role" => "user", "content" => "hi" }, "u1", object! {});
        for (uuid, text) in [("u2", "one"), ("u3", "two")] {
            let block = object! { "type" => "text", "text" => text };
            file.message("assistant", &object! { "id" => "m", "content" => array![block] }, uuid, object! {});
        }
        file.note(&object! { "type" => "cost-state", "totalCostUSD" => 1.5 });
        let saved = load(&file_of(folder.path(), "s"), None).unwrap();
        assert_eq!(saved.messages.len(), 2);
        assert_eq!(saved.messages[1].items_of("content").len(), 2);
        assert_eq!(saved.leaf.as_deref(), Some("u3"));
        assert_eq!(saved.cost.unwrap().number_of("totalCostUSD"), Some(1.5));

        let mut fork = SessionFile::new(folder.path(), "f", "/w", &Profile::of("2.1.325"));
        fork.copy_from(&file_of(folder.path(), "s"), None);
        assert_eq!(load(&file_of(folder.path(), "f"), None).unwrap().messages.len(), 2);
        let mut part = SessionFile::new(folder.path(), "p", "/w", &Profile::of("2.1.325"));
        part.copy_from(&file_of(folder.path(), "s"), Some("u1"));
        assert_eq!(load(&file_of(folder.path(), "p"), None).unwrap().messages.len(), 1);
        assert_eq!(load(&file_of(folder.path(), "s"), Some("u1")).unwrap().messages.len(), 1);
        let text = std::fs::read_to_string(file_of(folder.path(), "f")).unwrap();
        assert!(text.contains(r#""sessionId":"f""#) && !text.contains(r#""sessionId":"s""#));
    }

    #[test]
    fn the_newest_session_is_the_one_written_last() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(newest(folder.path()), None);
        let (first, second) =
            ("11111111-1111-4111-8111-111111111111", "22222222-2222-4222-8222-222222222222");
        for (id, time) in [(first, 2000), (second, 1000)] {
            let file = File::create(file_of(folder.path(), id)).unwrap();
            file.set_modified(std::time::UNIX_EPOCH + std::time::Duration::from_secs(time)).unwrap();
        }
        assert_eq!(newest(folder.path()).as_deref(), Some(first));
    }
}
