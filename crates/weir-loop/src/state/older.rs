//! Takes over a run of the version before, whose state was `run.json` and its journals. The next write replaces them.

use std::path::Path;

use serde::Deserialize;

use super::file::{RUN, contents};
use super::journal::{self, Wrong};
use super::write::WORKERS;
use super::{RunState, StateError, VERSION};

/// The version before.
const OLDER: u32 = 2;

/// The journal of the run, next to `run.json`. A task with its own worktree had its own journal.
pub(super) const JOURNAL: &str = "run.journal.ndjson";

/// The journal of such a task.
pub(super) const WORKER_JOURNAL: &str = "journal.ndjson";

/// Reads `run.json` and its journals, if there is a `run.json` of the version before.
pub(super) fn take_over(folder: &Path) -> Result<Option<RunState>, StateError> {
    let path = folder.join(RUN);
    let Some(text) = contents(&path)? else { return Ok(None) };
    let workers = super::write::below(&folder.join(WORKERS)).into_iter();
    let paths = workers.map(|folder| folder.join(WORKER_JOURNAL)).chain([folder.join(JOURNAL)]);
    let mut journals = Vec::new();
    for path in paths {
        journals.extend(contents(&path)?);
    }
    read(&text, &journals).map(Some).map_err(|wrong| match wrong {
        Wrong::Damaged(message) => StateError::Damaged { message, path },
        // An export of this version is not a state.
        Wrong::OtherVersion(found) if found == u64::from(VERSION) => {
            StateError::Damaged { message: "its journal is missing".to_owned(), path }
        }
        Wrong::OtherVersion(found) => StateError::OtherVersion { found, path },
    })
}

fn read(text: &[u8], journals: &[Vec<u8>]) -> Result<RunState, Wrong> {
    #[derive(Deserialize)]
    struct Named {
        #[serde(default)]
        journal: String,
    }
    let mut run = whole(text, OLDER)?;
    let named: Named = serde_json::from_slice(text)?;
    let mut lines = Vec::new();
    for text in journals {
        // Lines that follow another `run.json` are left over from before it was written, and are in it.
        lines.extend(journal::lines(text)?.into_iter().filter(|line| line.of == named.journal));
    }
    journal::catch_up(&mut run, lines)?;
    run.version = VERSION;
    Ok(run)
}

/// Reads a state that is one object, of at most this version.
pub(super) fn whole(text: &[u8], newest: u32) -> Result<RunState, Wrong> {
    #[derive(Deserialize)]
    struct Head {
        version: u64,
    }
    // The version first: the rest of another version may have any shape.
    let head: Head = serde_json::from_slice(text)?;
    if !(u64::from(OLDER)..=u64::from(newest)).contains(&head.version) {
        return Err(Wrong::OtherVersion(head.version));
    }
    Ok(serde_json::from_slice(text)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;
    use crate::state::{StateWriter, load};
    use crate::tasks::{Source, TaskList};

    #[test]
    fn a_run_of_the_version_before_is_taken_over_with_its_journals() {
        let folder = tempfile::tempdir().unwrap();
        let list = TaskList::parse(Source::Markdown("- [ ] a\n- [ ] b\n".into())).unwrap();
        let run = RunState::new("r1".into(), 5, list.tasks, &Config::default());
        let mut whole = serde_json::to_value(&run).unwrap();
        whole["version"] = 2.into();
        whole["journal"] = "j1".into();
        std::fs::write(folder.path().join(RUN), whole.to_string()).unwrap();
        let mut line = |of: &str, number: u64, task: usize, state: &str| {
            let mut task = whole["tasks"][task].take();
            task["state"] = state.into();
            let line = serde_json::json!({"of": of, "number": number, "updated_at": 7, "active_ms": number, "tasks": [task.clone()]});
            format!("{line}\n")
        };
        let main = line("j1", 2, 1, "skipped");
        let worker = line("j1", 1, 0, "active");
        let stale = "{\"of\":\"j0\",\"number\":1,\"updated_at\":1,\"active_ms\":99}\n";
        std::fs::write(folder.path().join(JOURNAL), format!("{stale}{main}{{\"of\":\"j1\",\"num")).unwrap();
        let workers = folder.path().join(WORKERS).join("a");
        std::fs::create_dir_all(&workers).unwrap();
        std::fs::write(workers.join(WORKER_JOURNAL), worker).unwrap();
        let taken = load(folder.path()).unwrap().unwrap();
        assert_eq!((taken.version, taken.active_ms, taken.updated_at), (VERSION, 2, 7));
        let states: Vec<String> = taken.tasks.iter().map(|task| format!("{:?}", task.state)).collect();
        assert_eq!(states, ["Active", "Skipped"]);
        // The first write replaces the old files.
        StateWriter::new(folder.path()).write(&taken).unwrap();
        assert!(!folder.path().join(JOURNAL).exists() && !workers.exists());
        assert_eq!(load(folder.path()).unwrap().unwrap(), taken);
    }

    #[test]
    fn an_export_is_not_a_state() {
        let folder = tempfile::tempdir().unwrap();
        let run = RunState::new("r1".into(), 5, Vec::new(), &Config::default());
        StateWriter::new(folder.path()).write(&run).unwrap();
        std::fs::remove_file(folder.path().join(super::super::file::JOURNAL)).unwrap();
        let error = load(folder.path()).unwrap_err().to_string();
        assert!(error.contains("its journal is missing"), "{error}");
    }
}
