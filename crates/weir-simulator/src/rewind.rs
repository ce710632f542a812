//! Taking the conversation back, and the files with it: `rewind_conversation` and `rewind_files`.
//!
//! Requests are answered while the engine waits, so a cut is kept here until the next message.

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use super::sim::Sim;
use crate::json::{Json, parse};
use crate::object;

/// A message that can be taken back.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Asked {
    pub(crate) uuid: String,
    pub(crate) text: String,
    /// How many messages the model knew before it.
    pub(crate) before: usize,
    /// The line that it follows.
    pub(crate) after: Option<String>,
}

/// Where the conversation continues.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Cut {
    pub(crate) messages: usize,
    pub(crate) leaf: Option<String>,
}

/// The files as they were at a message, as far as they were changed after it.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Checkpoint {
    uuid: String,
    /// The text of each file, or that there was none.
    files: BTreeMap<PathBuf, Option<String>>,
}

/// What can be taken back.
#[derive(Debug, Default)]
pub(crate) struct Rewinds {
    pub(crate) asked: Vec<Asked>,
    pub(crate) cut: Option<Cut>,
    checkpoints: Vec<Checkpoint>,
}

const NOT_ENABLED: &str = "File rewinding is not enabled.";

/// The answer to `rewind_conversation`; an error if the request is invalid.
pub(crate) fn conversation(sim: &Sim, request: &Json) -> Result<Json, &'static str> {
    let Some(target) = request.str_of("target_message_uuid") else {
        return Err("rewind_conversation: target_message_uuid must be a string");
    };
    let refused = |error: &str, reason: &str| {
        object! {
            "rewound" => false, "prefillText" => Json::Null, "precedingAssistantUuid" => Json::Null,
            "error" => error, "reason" => reason,
        }
    };
    if sim.queue.current().is_some() {
        return Ok(refused("turn running", "turn_running"));
    }
    let mut rewinds = sim.rewinds();
    let Some(place) = rewinds.asked.iter().position(|asked| asked.uuid == target) else {
        return Ok(refused("target not found", "target_not_found"));
    };
    if place + 1 < rewinds.asked.len() {
        return Ok(refused("stale target", "stale_target"));
    }
    let Some(asked) = rewinds.asked.pop() else { return Ok(refused("target not found", "target_not_found")) };
    rewinds.cut = Some(Cut { messages: asked.before, leaf: asked.after.clone() });
    drop(rewinds);
    note_cut(sim, &asked);
    Ok(object! {
        "rewound" => true, "targetMessageUuid" => target, "prefillText" => asked.text,
        "precedingAssistantUuid" => asked.after,
    })
}

/// Writes down where a process that resumes the session continues.
fn note_cut(sim: &Sim, asked: &Asked) {
    if !sim.options.persist {
        return;
    }
    let line = object! {
        "type" => "last-prompt", "leafUuid" => asked.after.clone(), "explicit" => true, "rewound" => true,
        "cutUuid" => asked.uuid.as_str(), "sessionId" => sim.session_id(),
    };
    // A failing disk does not stop the CLI.
    if let Ok(mut file) = OpenOptions::new().append(true).open(sim.transcript_path()) {
        drop(file.write_all(format!("{line}\n").as_bytes()));
    }
}

/// A message begins a turn: files that are changed from now on can be restored to their state at it.
pub(crate) fn message(sim: &Sim, asked: Asked) {
    let uuid = asked.uuid.clone();
    let mut rewinds = sim.rewinds();
    rewinds.asked.push(asked);
    rewinds.checkpoints.push(Checkpoint { uuid, ..Checkpoint::default() });
}

/// A tool is about to change a file.
pub(crate) fn before_change(sim: &Sim, path: &Path) {
    if !sim.settings.file_checkpointing {
        return;
    }
    let mut rewinds = sim.rewinds();
    let Some(newest) = rewinds.checkpoints.last_mut() else { return };
    newest.files.entry(path.to_owned()).or_insert_with(|| std::fs::read_to_string(path).ok());
    let saved = to_json(&rewinds.checkpoints);
    drop(rewinds);
    let file = file_of(sim, &sim.session_id());
    if let Some(folder) = file.parent().filter(|_| sim.options.persist) {
        drop(std::fs::create_dir_all(folder).and_then(|()| std::fs::write(&file, saved.to_string())));
    }
}

/// The answer to `rewind_files`; an error if files cannot be restored at all.
pub(crate) fn files(sim: &Sim, request: &Json) -> Result<Json, &'static str> {
    let is_preview = request.is_true("dry_run");
    if !sim.settings.file_checkpointing {
        let refused = object! { "canRewind" => false, "error" => NOT_ENABLED };
        return if is_preview && !sim.profile.is_old() { Ok(refused) } else { Err(NOT_ENABLED) };
    }
    let message = request.str_of("user_message_id").unwrap_or_default();
    let Some(changes) = changes(&sim.rewinds().checkpoints, message) else {
        return Ok(object! { "canRewind" => false, "error" => "No file checkpoint found for this message." });
    };
    if !is_preview {
        for (path, text) in &changes {
            let done = match text {
                Some(text) => std::fs::write(path, text),
                None => std::fs::remove_file(path),
            };
            drop(done);
        }
        return Ok(object! { "canRewind" => true, "skippedLinks" => 0_u64 });
    }
    let (mut insertions, mut deletions) = (0_u64, 0_u64);
    for (path, text) in &changes {
        let now = std::fs::read_to_string(path).unwrap_or_default();
        let patch = super::tools::patch::structured_patch(&now, text.as_deref().unwrap_or_default());
        for line in patch.items().iter().flat_map(|hunk| hunk.items_of("lines")).filter_map(Json::as_str) {
            insertions += u64::from(line.starts_with('+'));
            deletions += u64::from(line.starts_with('-'));
        }
    }
    let paths = changes.iter().map(|(path, _)| Json::from(path.display().to_string()));
    Ok(object! {
        "canRewind" => true, "filesChanged" => Json::Array(paths.collect()), "insertions" => insertions,
        "deletions" => deletions,
    })
}

/// The files that differ from their state at a message, each with that state.
fn changes(checkpoints: &[Checkpoint], message: &str) -> Option<Vec<(PathBuf, Option<String>)>> {
    let place = checkpoints.iter().position(|checkpoint| checkpoint.uuid == message)?;
    let mut states: BTreeMap<PathBuf, Option<String>> = BTreeMap::new();
    for (path, text) in checkpoints.iter().skip(place).flat_map(|checkpoint| &checkpoint.files) {
        states.entry(path.clone()).or_insert_with(|| text.clone());
    }
    let differs = |(path, text): &(PathBuf, Option<String>)| std::fs::read_to_string(path).ok() != *text;
    Some(states.into_iter().filter(differs).collect())
}

fn file_of(sim: &Sim, session: &str) -> PathBuf {
    sim.settings.config_dir.join("file-history").join(session).join("checkpoints.json")
}

/// Continues with what an earlier process of the session has written down.
pub(crate) fn restore(sim: &Sim, session: &str, asked: Vec<Asked>) {
    let saved = std::fs::read_to_string(file_of(sim, session)).ok().and_then(|text| parse(&text).ok());
    let known = saved.as_ref().map(from_json).unwrap_or_default();
    let mut rewinds = sim.rewinds();
    // A message without changed files has a checkpoint too.
    rewinds.checkpoints = asked
        .iter()
        .map(|asked| {
            let found = known.iter().find(|checkpoint| checkpoint.uuid == asked.uuid).cloned();
            found.unwrap_or_else(|| Checkpoint { uuid: asked.uuid.clone(), ..Checkpoint::default() })
        })
        .collect();
    rewinds.asked = asked;
}

fn to_json(checkpoints: &[Checkpoint]) -> Json {
    let file = |(path, text): (&PathBuf, &Option<String>)| {
        object! { "path" => path.display().to_string(), "text" => text.clone() }
    };
    let checkpoints = checkpoints.iter().map(|checkpoint| {
        let files = checkpoint.files.iter().map(file).collect();
        object! { "uuid" => checkpoint.uuid.as_str(), "files" => Json::Array(files) }
    });
    Json::Array(checkpoints.collect())
}

fn from_json(saved: &Json) -> Vec<Checkpoint> {
    let file = |file: &Json| {
        (PathBuf::from(file.str_of("path").unwrap_or_default()), file.str_of("text").map(str::to_owned))
    };
    let checkpoint = |checkpoint: &Json| Checkpoint {
        uuid: checkpoint.str_of("uuid").unwrap_or_default().to_owned(),
        files: checkpoint.items_of("files").iter().map(file).collect(),
    };
    saved.items().iter().map(checkpoint).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_state_since_the_message_counts() {
        let folder = tempfile::tempdir().unwrap();
        let (a, b) = (folder.path().join("a"), folder.path().join("b"));
        std::fs::write(&a, "3").unwrap();
        std::fs::write(&b, "new").unwrap();
        let checkpoint = |uuid: &str, files: &[(&PathBuf, Option<&str>)]| Checkpoint {
            uuid: uuid.to_owned(),
            files: files.iter().map(|(path, text)| ((*path).clone(), text.map(str::to_owned))).collect(),
        };
        let all = [
            checkpoint("u1", &[(&a, Some("1"))]),
            checkpoint("u2", &[(&a, Some("2")), (&b, None)]),
            checkpoint("u3", &[]),
        ];
        let text = |text: &str| Some(text.to_owned());
        assert_eq!(changes(&all, "u1").unwrap(), [(a.clone(), text("1")), (b.clone(), None)]);
        assert_eq!(changes(&all, "u2").unwrap(), [(a, text("2")), (b, None)]);
        assert_eq!(changes(&all, "u3").unwrap(), []);
        assert_eq!(changes(&all, "u4"), None);
        assert_eq!(from_json(&to_json(&all)), all);
        assert_eq!(to_json(&[]), crate::array![]);
    }
}
