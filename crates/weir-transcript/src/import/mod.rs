//! Reads the CLI's own transcripts as history.
//!
//! The CLI keeps a session in `<projects>/<folder>/<session>.jsonl`, in a different format from its stream:
//! lines form a tree by `uuid` and `parentUuid`, sub-agents have their own files, and most of a newer file is
//! irrelevant. This module turns such files into the events that a live session would have produced, so that
//! the same fold builds the same view, and the same store can keep them.
//!
//! Nothing in this module opens a file: the caller has the bytes. What the files do not record (the beginning
//! and the end of a turn) is reconstructed from what they do, and never claims a success or a cost that the
//! file does not show.
//!
//! `record` parses one line, `tree` finds the newest branch, `agents` assigns lines to sub-agents, `convert`
//! turns lines into events, `shape` converts a line to its form in the stream, `tags` recognises texts that are
//! not messages, `glance` collects what a list of sessions shows.

mod agents;
mod convert;
mod glance;
mod json;
mod record;
mod shape;
mod tags;
mod tree;

use std::collections::BTreeMap;

use weir_wire::{CliSessionId, Decoder};

use crate::fold::{Fold, FoldOptions};
use crate::host::HostEvent;
use crate::view::View;

pub use glance::{Glance, MessageCount, glance};

/// The files of a session.
#[derive(Debug, Clone, Default)]
pub struct Transcript<'a> {
    /// `<session>.jsonl`.
    pub main: &'a [u8],
    /// The files of its sub-agents, in any order.
    pub agents: Vec<AgentTranscript<'a>>,
}

/// The file of a sub-agent: `<session>/subagents/agent-<id>.jsonl`, or on older versions `agent-<id>.jsonl`
/// next to the session's file.
#[derive(Debug, Clone, Default)]
pub struct AgentTranscript<'a> {
    /// The id in the file's name.
    pub id: &'a str,
    /// The file.
    pub lines: &'a [u8],
    /// `agent-<id>.meta.json`, which newer versions write next to it.
    pub meta: Option<&'a [u8]>,
}

/// An event from a transcript, in the form that the fold takes.
#[derive(Debug, Clone, PartialEq)]
pub struct ImportedEvent {
    /// When it happened, in milliseconds since 1970.
    pub at: Option<i64>,
    /// What happened.
    pub body: ImportedBody,
}

/// What happened.
#[derive(Debug, Clone, PartialEq)]
pub enum ImportedBody {
    /// A line in the shape of the stream, without a line feed.
    Line(Vec<u8>),
    /// A host event.
    Host(HostEvent),
}

/// What was read, and what was not.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ImportReport {
    /// The session.
    pub session: Option<CliSessionId>,
    /// Lines of all files.
    pub lines: u64,
    /// Messages of people and of the model on the branch that was followed.
    pub messages: u64,
    /// Lines with messages on abandoned branches.
    pub skipped: u64,
    /// Number of abandoned branches.
    pub skipped_branches: u64,
    /// Sub-agents whose place in the session was not found, and which are left out.
    pub unplaced_agents: u64,
    /// Lines that are not part of the transcript, by type.
    pub left_out: BTreeMap<String, u64>,
    /// Lines that are not understood; they still become events.
    pub unknown: u64,
}

/// Turns a transcript into events, oldest first.
pub fn import(transcript: &Transcript<'_>, sink: &mut dyn FnMut(ImportedEvent)) -> ImportReport {
    convert::Converter::run(transcript, sink)
}

/// The view of a transcript.
pub fn import_view(transcript: &Transcript<'_>, options: FoldOptions) -> (View, ImportReport) {
    let mut decoder = Decoder::new();
    let mut fold = Fold::new(options);
    let report = import(transcript, &mut |event| {
        if let Some(at) = event.at {
            fold.set_time(at);
        }
        match event.body {
            ImportedBody::Line(line) => fold.line(&decoder.decode(&line), &mut |_, _| {}),
            ImportedBody::Host(host) => fold.host(&host, &mut |_, _| {}),
        }
    });
    (fold.into_view(), report)
}
