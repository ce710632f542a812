//! Reads a whole transcript, with the files of its sub-agents.

use std::fs;
use std::io;
use std::path::Path;

use weir_transcript::import::{AgentTranscript, ImportReport, Transcript, glance, import_view};
use weir_transcript::{FoldOptions, View};

use super::find::TranscriptFile;

/// The files of a session.
#[derive(Debug)]
pub struct LoadedTranscript {
    main: Vec<u8>,
    agents: Vec<AgentFile>,
}

#[derive(Debug)]
struct AgentFile {
    id: String,
    lines: Vec<u8>,
    meta: Option<Vec<u8>>,
}

impl AgentFile {
    fn transcript(&self) -> AgentTranscript<'_> {
        AgentTranscript { id: &self.id, lines: &self.lines, meta: self.meta.as_deref() }
    }
}

impl LoadedTranscript {
    /// Reads a transcript, and those of its sub-agents.
    pub fn read(found: &TranscriptFile) -> io::Result<Self> {
        let main = fs::read(&found.path)?;
        let mut agents = agent_files(&found.path.with_extension("").join("subagents"), |_| true);
        if let Some(folder) = found.path.parent() {
            // Older versions keep the agents' files of all sessions in the same folder.
            let is_ours = |lines: &[u8]| {
                let seen = glance(lines, &[], lines.len() as u64);
                seen.session.as_deref() == Some(&found.id)
            };
            agents.extend(agent_files(folder, is_ours));
        }
        Ok(Self { main, agents })
    }

    /// The files, for [`weir_transcript::import`].
    pub fn transcript(&self) -> Transcript<'_> {
        let agents = self.agents.iter().map(AgentFile::transcript).collect();
        Transcript { main: &self.main, agents }
    }

    /// The whole session; nothing is dropped or cut.
    pub fn view(&self) -> (View, ImportReport) {
        let whole = FoldOptions { keep_entries: None, output_limit: usize::MAX, unknown_limit: usize::MAX };
        import_view(&self.transcript(), whole)
    }
}

fn agent_files(folder: &Path, is_wanted: impl Fn(&[u8]) -> bool) -> Vec<AgentFile> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let mut files: Vec<AgentFile> = entries
        .filter_map(|entry| {
            let path = entry.ok()?.path();
            let name = path.file_name()?.to_str()?;
            let id = name.strip_prefix("agent-")?.strip_suffix(".jsonl")?.to_owned();
            let lines = fs::read(&path).ok().filter(|lines| is_wanted(lines))?;
            Some(AgentFile { id, lines, meta: fs::read(path.with_extension("meta.json")).ok() })
        })
        .collect();
    files.sort_by(|a, b| a.id.cmp(&b.id));
    files
}
