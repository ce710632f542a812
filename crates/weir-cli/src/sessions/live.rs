//! Live sessions, known by their locks.

use std::path::Path;

use serde::Serialize;
use weir_process::{Lock, LockOwner};

use crate::screen::date;

/// A live session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Live {
    #[serde(skip)]
    pub(crate) id: String,
    /// The Weir process that has it.
    pub(crate) pid: u32,
    /// Since when, in seconds since 1970.
    pub(crate) since: u64,
}

impl Live {
    pub(crate) fn in_words(&self) -> String {
        format!("weir process {} since {} UTC", self.pid, date(self.since))
    }
}

/// Live sessions, oldest first. Stale locks of killed processes are ignored.
pub(crate) fn live(state: &Path) -> Vec<Live> {
    let Ok(entries) = std::fs::read_dir(state.join("locks")) else { return Vec::new() };
    let mut live: Vec<Live> = entries
        .filter_map(|entry| {
            let path = entry.ok()?.path();
            let name = path.file_name()?.to_str()?.strip_prefix("session-")?.strip_suffix(".lock")?;
            let id = decode(name)?;
            let LockOwner { process, since, .. } = Lock::owner(&path)?;
            Some(Live { id, pid: process.pid, since })
        })
        .collect();
    live.sort_by(|a, b| a.since.cmp(&b.since).then_with(|| a.id.cmp(&b.id)));
    live
}

/// Decodes a file name: `_2e` is a dot.
fn decode(name: &str) -> Option<String> {
    let mut parts = name.split('_');
    let mut bytes = parts.next()?.as_bytes().to_vec();
    for part in parts {
        bytes.push(u8::from_str_radix(part.get(..2)?, 16).ok()?);
        bytes.extend_from_slice(part.get(2..)?.as_bytes());
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_locks_that_are_held_are_live() {
        let state = tempfile::tempdir().unwrap();
        let locks = state.path().join("locks");
        let held = Lock::acquire(&locks.join("session-a_2eb.lock"), "x").unwrap();
        let _workspace = Lock::acquire(&locks.join("workspace-_2fx.lock"), "x").unwrap();
        std::fs::write(locks.join("session-left.lock"), "{}").unwrap();
        let found = live(state.path());
        assert_eq!(found.iter().map(|live| live.id.as_str()).collect::<Vec<_>>(), ["a.b"]);
        assert_eq!(found[0].pid, std::process::id());
        drop(held);
        assert_eq!(live(state.path()), []);
    }
}
