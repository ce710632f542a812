//! Reads how a session ended from its raw log alone: for a run that was killed, and for the replay of a run.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use weir_transcript::{Fold, FoldOptions, HostEvent};
use weir_wire::{Decoder, Framer};

use super::hooks::Rules;
use super::record::SessionRecord;
use super::run::{AgentEnd, AgentRun};
use crate::protection::Protection;

/// Entries that the fold keeps: enough to match results with their calls.
const KEPT_ENTRIES: usize = 256;

/// Bytes of a log that are searched for the session id, which is in the first lines.
const SEARCHED_BYTES: u64 = 1 << 20;

/// Finds the raw log of a session in a folder.
pub fn find_log(folder: &Path, session_id: &str) -> Option<PathBuf> {
    let mut names: Vec<PathBuf> =
        std::fs::read_dir(folder).ok()?.filter_map(|entry| Some(entry.ok()?.path())).collect();
    names.retain(|path| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        name.ends_with(".ndjson") && !name.ends_with(".in.ndjson")
    });
    names.sort();
    names.into_iter().rev().find(|path| mentions(path, session_id))
}

fn mentions(path: &Path, session_id: &str) -> bool {
    let mut head = Vec::new();
    let read = File::open(path).and_then(|file| file.take(SEARCHED_BYTES).read_to_end(&mut head));
    read.is_ok() && head.windows(session_id.len()).any(|part| part == session_id.as_bytes())
}

/// How a session ended, if its log has a result. A session without a result was cut off.
pub fn run_from_log(path: &Path, cwd: &Path, protected: &Protection) -> std::io::Result<Option<AgentRun>> {
    let rules = Rules { cwd: cwd.to_owned(), protected: protected.clone() };
    let (fold, record) = read(path)?;
    Ok(has_result(&fold).then(|| found(path, record.run(fold.view(), &rules))))
}

/// How a session went that was running when Weir was killed: to its end, or until it was cut off. Then its tokens are
/// those that the model had reported until then, and its cost is unknown.
pub fn killed_run_from_log(path: &Path, cwd: &Path, protected: &Protection) -> std::io::Result<AgentRun> {
    let rules = Rules { cwd: cwd.to_owned(), protected: protected.clone() };
    let (fold, record) = read(path)?;
    let mut run = found(path, record.run(fold.view(), &rules));
    if !has_result(&fold) {
        run.end = AgentEnd::Interrupted;
        let all = fold.view().usages.iter().map(|used| &used.usage);
        run.tokens = all
            .map(|usage| {
                usage.input_tokens
                    + usage.output_tokens
                    + usage.cache_read_input_tokens
                    + usage.cache_creation_input_tokens
            })
            .sum();
    }
    Ok(run)
}

fn has_result(fold: &Fold) -> bool {
    fold.view().turns.iter().any(|turn| turn.result.is_some())
}

fn found(path: &Path, run: AgentRun) -> AgentRun {
    let stderr = path.with_extension("stderr");
    AgentRun { log: Some(path.to_owned()), stderr_log: stderr.is_file().then_some(stderr), ..run }
}

/// The final text of a session, or what it said until then if there is no result.
pub fn answer_from_log(path: &Path) -> std::io::Result<String> {
    let (fold, record) = read(path)?;
    Ok(record.text(fold.view()))
}

fn read(path: &Path) -> std::io::Result<(Fold, SessionRecord)> {
    let mut fold = Fold::new(FoldOptions { keep_entries: Some(KEPT_ENTRIES), ..FoldOptions::default() });
    let mut record = SessionRecord::default();
    let mut framer = Framer::new();
    let mut decoder = Decoder::new();
    let mut file = File::open(path)?;
    loop {
        let space = framer.space();
        let count = match file.read(space) {
            Ok(0) => break,
            Ok(count) => count,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        framer.filled(count);
        while let Some(frame) = framer.next_frame() {
            fold.line(&decoder.decode_frame(frame), &mut |view, change| record.observe(view, change));
        }
    }
    // A last line that was cut off is not a result.
    fold.host(&HostEvent::RecordingEnded, &mut |view, change| record.observe(view, change));
    Ok((fold, record))
}
