//! Refuses commands that steer a run, if they come from inside of it: from a session, or from a gate.

use std::ffi::OsStr;
use std::path::Path;

use weir_loop::shell::{Folders, INSIDE};

use crate::exit::UsageError;

/// Refuses to steer a run from inside of it. The variable that Weir sets is looked for in this process and in those above
/// it, where a session cannot remove it.
pub(super) fn refuse(folders: &Folders) -> Result<(), UsageError> {
    let root = folders.root.canonicalize().unwrap_or_else(|_| folders.root.clone());
    let is_in_a_place =
        std::env::current_dir().is_ok_and(|folder| folder.starts_with(root.join("worktrees")));
    if !is_in_a_place && !is_below_a_run(&root) {
        return Ok(());
    }
    let text = "this is inside a run of the loop: only a person can steer it, from their own terminal";
    Err(UsageError(text.to_owned()))
}

/// Whether this process or one of those above it was started by the loop with this folder.
fn is_below_a_run(root: &Path) -> bool {
    let is_it = |value: &[u8]| {
        let value = Path::new(std::str::from_utf8(value).map_or(OsStr::new(""), OsStr::new));
        value.canonicalize().is_ok_and(|value| value == root)
    };
    let own = std::env::var_os(INSIDE);
    if own.is_some_and(|value| is_it(value.as_encoded_bytes())) {
        return true;
    }
    let mut process = std::process::id();
    for _ in 0..64 {
        let folder = Path::new("/proc").join(process.to_string());
        let variables = std::fs::read(folder.join("environ")).unwrap_or_default();
        let mut values = variables
            .split(|byte| *byte == 0)
            .filter_map(|one| one.strip_prefix(INSIDE.as_bytes())?.strip_prefix(b"="));
        if values.any(is_it) {
            return true;
        }
        // The name of the program, in parentheses, may contain anything.
        let status = std::fs::read_to_string(folder.join("stat")).unwrap_or_default();
        let above =
            status.rsplit_once(')').and_then(|(_, rest)| rest.split_whitespace().nth(1)?.parse().ok());
        match above {
            Some(above) if above > 1 => process = above,
            _ => return false,
        }
    }
    false
}
