//! What a recording needs: files, sessions, and the moments at which its lines were sent.

use std::path::Path;

use crate::recording::Recording;

/// A picture of two by two pixels, as recorded.
const PICTURE: &[u8] = &[
    137, 80, 78, 71, 13, 10, 26, 10, 0, 0, 0, 13, 73, 72, 68, 82, 0, 0, 0, 2, 0, 0, 0, 2, 8, 2, 0, 0, 0, 253,
    212, 154, 115, 0, 0, 0, 17, 73, 68, 65, 84, 120, 156, 99, 248, 207, 192, 192, 240, 31, 140, 128, 24, 0,
    29, 240, 3, 253, 211, 208, 125, 38, 0, 0, 0, 0, 73, 69, 78, 68, 174, 66, 96, 130,
];

const APP: &str = "def add(a, b):\n    return a - b\n";
const NOTEBOOK: &str = r#"{"cells": [{"cell_type": "code", "id": "c1", "execution_count": null, "metadata": {}, "outputs": [], "source": ["print(1)\n"]}], "metadata": {"language_info": {"name": "python"}}, "nbformat": 4, "nbformat_minor": 5}"#;

/// Creates the files that existed.
pub(crate) fn files(name: &str, folder: &Path) {
    let write = |file: &str, content: &[u8]| std::fs::write(folder.join(file), content).unwrap();
    match name {
        "tools" => write("app.py", APP.as_bytes()),
        "write-overwrite-edit" => {
            write("app.py", format!("{APP}\n\ndef sub(a, b):\n    return a - b\n").as_bytes());
        }
        "notebook-edit" => write("n.ipynb", NOTEBOOK.as_bytes()),
        "read-image" => write("i.png", PICTURE),
        "glob-grep-webfetch" => {
            write("a.txt", b"needle one\nhay\nneedle two\n");
            write("b.txt", b"hay\n");
            let earlier = std::fs::File::open(folder.join("a.txt")).unwrap();
            earlier.set_modified(std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000)).unwrap();
        }
        _ => {}
    }
}

/// The first message of a session whose recording is missing.
pub(crate) const EARLIER: &str = r#"{"type":"user","message":{"role":"user","content":"@@[{\"text\": \"one\", \"usage\": {\"input_tokens\": 1000, \"output_tokens\": 200}}]"},"session_id":"default","parent_tool_use_id":null}"#;

/// Groups recordings that continue the same session, in order.
pub(crate) fn chains(all: Vec<Recording>) -> Vec<Vec<Recording>> {
    let order = |recording: &Recording| match recording.name.as_str() {
        "resume-cost-first" => Some(("cost", 0)),
        "resume-cost-second" => Some(("cost", 1)),
        "resume-cost-fork" => Some(("cost", 2)),
        "resume-max-budget" => Some(("budget", 0)),
        "resume-clear" => Some(("budget", 1)),
        _ => None,
    };
    let mut chains: Vec<Vec<Recording>> = Vec::new();
    for recording in all {
        let same = |chain: &&mut Vec<Recording>| {
            let first = chain.first().unwrap();
            first.version == recording.version
                && order(first)
                    .map(|(name, _)| name)
                    .is_some_and(|name| order(&recording).is_some_and(|(own, _)| own == name))
        };
        match chains.iter_mut().find(same) {
            Some(chain) => chain.push(recording),
            None => chains.push(vec![recording]),
        }
    }
    for chain in &mut chains {
        chain.sort_by_key(|recording| order(recording).map(|(_, place)| place));
    }
    chains
}

/// When a line of the input is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Moment {
    Immediately,
    /// After this many lines of this type, and subtype if there is one.
    After(&'static str, &'static str, usize),
    /// After this many pieces of text.
    AfterDeltas(usize),
}

/// When the line with this number was sent, if not at the usual moment.
pub(crate) fn moment(recording: &Recording, place: usize) -> Option<Moment> {
    use Moment::{After, AfterDeltas, Immediately};
    let old = recording.is_old();
    match (recording.name.as_str(), place) {
        ("coalesced", 1) => {
            Some(if old { After("system", "init", 1) } else { After("command_lifecycle", "", 2) })
        }
        ("coalesced", 2) => Some(Immediately),
        ("queue-steer", 1) => Some(After("assistant", "", 2)),
        ("queue-steer", 2..=4) => Some(Immediately),
        ("queue-steer", 5) if old => Some(After("result", "", 1)),
        // The last lifecycle line of the first turn comes after its result.
        ("queue-steer", 5) => Some(After("command_lifecycle", "", 8)),
        ("queue-interrupt", 1) => Some(After("assistant", "", 2)),
        ("queue-interrupt", 2) => Some(if old { Immediately } else { After("command_lifecycle", "", 3) }),
        ("interrupt", 2) => Some(AfterDeltas(5)),
        ("cost-three-turns-interrupt", 2) => Some(AfterDeltas(8)),
        ("cost-interrupt-second-round", 1) => Some(AfterDeltas(4)),
        ("background-bash-stop", 1) => Some(After("result", "", 1)),
        _ => None,
    }
}

/// Whether the input was closed as soon as everything was sent.
pub(crate) fn closes_early(recording: &Recording) -> bool {
    matches!(recording.name.as_str(), "subagent-background" | "big-tool-result")
}

/// How many results there have to be before the input is closed.
pub(crate) fn results_before_end(recording: &Recording, in_recording: usize) -> usize {
    if closes_early(recording) { 0 } else { in_recording }
}
