//! Sessions that a CLI runs right now, as newer CLIs note them in their own folder (`sessions/<pid>.json`). It is what
//! `claude agents --json` prints, without starting one.

use std::io::Read as _;
use std::path::Path;

use serde::Deserialize;
use weir_process::ProcessId;

use super::open::open;

/// A longer note is not one of the CLI's.
const MAX_BYTES: u64 = 64 << 10;

/// A session that a CLI runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LiveSession {
    /// The CLI's id of the session.
    pub id: String,
    /// The process that runs it.
    pub process: ProcessId,
}

/// What is read of a note.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Note {
    pid: u32,
    session_id: String,
    /// When the process started, in the system's own unit.
    #[serde(default)]
    proc_start: serde_json::Value,
}

/// The sessions that run, of Weir and of others. Older CLIs note nothing.
pub fn live_sessions(config: &Path) -> Vec<LiveSession> {
    let Ok(entries) = std::fs::read_dir(config.join("sessions")) else { return Vec::new() };
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let notes = paths.filter(|path| path.extension().is_some_and(|extension| extension == "json"));
    notes.filter_map(|path| live(&path)).collect()
}

/// The session of a note, if its process still runs.
fn live(path: &Path) -> Option<LiveSession> {
    let mut text = Vec::new();
    open(path).ok()?.take(MAX_BYTES).read_to_end(&mut text).ok()?;
    let note: Note = serde_json::from_slice(&text).ok()?;
    let process = ProcessId::of(note.pid).filter(|process| process.is_alive())?;
    let noted = match &note.proc_start {
        serde_json::Value::String(text) => text.parse::<u64>().ok(),
        value => value.as_u64(),
    };
    // A later process may have the same pid. Where one of both is not known, the pid decides.
    let is_same = noted.is_none_or(|start| process.start == 0 || start == process.start);
    is_same.then_some(LiveSession { id: note.session_id, process })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_sessions_whose_process_runs_are_live() {
        let config = tempfile::tempdir().unwrap();
        assert_eq!(live_sessions(config.path()), []);
        let folder = config.path().join("sessions");
        std::fs::create_dir(&folder).unwrap();
        let own = ProcessId::current();
        let write = |name: &str, text: String| std::fs::write(folder.join(name), text).unwrap();
        let (pid, start) = (own.pid, own.start);
        write("1.json", format!(r#"{{"pid":{pid},"sessionId":"one","procStart":"{start}","name":"x"}}"#));
        write("2.json", format!(r#"{{"pid":{pid},"sessionId":"two"}}"#));
        write("3.json", format!(r#"{{"pid":{pid},"sessionId":"later","procStart":"{}"}}"#, start + 1));
        write("4.json", r#"{"pid":4294967295,"sessionId":"gone"}"#.to_owned());
        write("5.json", "not json".to_owned());
        write("6.key", format!(r#"{{"pid":{pid},"sessionId":"key"}}"#));
        // Reading a pipe would wait for ever.
        #[cfg(unix)]
        rustix::fs::mknodat(
            rustix::fs::CWD,
            folder.join("7.json"),
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::RWXU,
            0,
        )
        .unwrap();
        let mut ids: Vec<_> = live_sessions(config.path()).into_iter().map(|live| live.id).collect();
        ids.sort();
        if start == 0 {
            ids.retain(|id| id != "later");
        }
        assert_eq!(ids, ["one", "two"]);
    }
}
