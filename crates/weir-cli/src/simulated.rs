//! This program as the simulated CLI: for the demo, the self-test and tests.

use std::path::{Path, PathBuf};

/// Called with this subcommand or under this name, `weir` acts as a simulated CLI.
pub(crate) const NAME: &str = "simulated-claude";

/// The arguments for the simulated CLI, if `weir` was called as one.
pub(crate) fn arguments() -> Option<Vec<String>> {
    let mut arguments = std::env::args_os().map(|argument| argument.to_string_lossy().into_owned());
    let name = PathBuf::from(arguments.next().unwrap_or_default());
    if name.file_stem().is_some_and(|stem| stem == NAME) {
        return Some(arguments.collect());
    }
    (arguments.next()? == NAME).then(|| arguments.collect())
}

/// Links this program under the name that makes it act as the simulated CLI.
pub(crate) fn link_in(folder: &Path) -> std::io::Result<PathBuf> {
    let this = std::env::current_exe()?;
    let program = folder.join(format!("{NAME}{}", std::env::consts::EXE_SUFFIX));
    #[cfg(unix)]
    std::os::unix::fs::symlink(&this, &program)?;
    #[cfg(not(unix))]
    std::fs::copy(&this, &program)?;
    Ok(program)
}
