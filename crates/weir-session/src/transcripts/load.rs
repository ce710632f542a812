//! Reads a whole transcript, with the files of its sub-agents.

use std::fs;
use std::io::{self, Read as _};
use std::path::Path;

use weir_transcript::import::{AgentTranscript, ImportReport, Transcript, glance, import_view};
use weir_transcript::{FoldOptions, View};

use super::find::{GLANCE, TranscriptFile};
use super::open::open;

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
        Self::read_up_to(found, u64::MAX)
    }

    /// Reads a transcript, and those of its sub-agents, if they have no more bytes than this together.
    ///
    /// # Errors
    /// `FileTooLarge` if they have more, or why the transcript cannot be read.
    pub fn read_up_to(found: &TranscriptFile, max_bytes: u64) -> io::Result<Self> {
        let mut left = max_bytes;
        let main = read(&found.path, &mut left, |_| true)?.unwrap_or_default();
        let mut agents = agent_files(&found.path.with_extension("").join("subagents"), &mut left, |_| true)?;
        if let Some(folder) = found.path.parent() {
            // Older versions keep the agents' files of all sessions in the same folder.
            let is_ours = |head: &[u8]| {
                let seen = glance(head, &[], head.len() as u64);
                seen.session.as_deref() == Some(&found.id)
            };
            agents.extend(agent_files(folder, &mut left, is_ours)?);
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

/// The files of sub-agents in a folder. One that cannot be read is left out.
fn agent_files(
    folder: &Path,
    left: &mut u64,
    is_wanted: impl Fn(&[u8]) -> bool,
) -> io::Result<Vec<AgentFile>> {
    let Ok(entries) = fs::read_dir(folder) else { return Ok(Vec::new()) };
    let mut files = Vec::new();
    for path in entries.filter_map(|entry| Some(entry.ok()?.path())) {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let Some(id) = name.strip_prefix("agent-").and_then(|name| name.strip_suffix(".jsonl")) else {
            continue;
        };
        let id = id.to_owned();
        let mut read = |path: &Path, is_wanted: &dyn Fn(&[u8]) -> bool| match read(path, left, is_wanted) {
            Err(error) if error.kind() == io::ErrorKind::FileTooLarge => Err(error),
            other => Ok(other.ok().flatten()),
        };
        if let Some(lines) = read(&path, &is_wanted)? {
            let meta = read(&path.with_extension("meta.json"), &|_| true)?;
            files.push(AgentFile { id, lines, meta });
        }
    }
    files.sort_by(|a, b| a.id.cmp(&b.id));
    Ok(files)
}

/// A file, if its beginning is wanted. What it has is taken from what is left.
fn read(path: &Path, left: &mut u64, is_wanted: impl Fn(&[u8]) -> bool) -> io::Result<Option<Vec<u8>>> {
    let mut file = open(path)?;
    let mut bytes = Vec::new();
    file.by_ref().take(GLANCE).read_to_end(&mut bytes)?;
    if !is_wanted(&bytes) {
        return Ok(None);
    }
    // Also if it grows meanwhile.
    let rest = left.saturating_add(1).saturating_sub(bytes.len() as u64);
    file.by_ref().take(rest).read_to_end(&mut bytes)?;
    *left = left
        .checked_sub(bytes.len() as u64)
        .ok_or_else(|| io::Error::new(io::ErrorKind::FileTooLarge, "the transcript is too large"))?;
    Ok(Some(bytes))
}
