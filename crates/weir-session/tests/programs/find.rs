//! Finds the simulated CLI that is built next to the tests.

use std::path::{Path, PathBuf};

/// The simulated CLI. It is an example of this package, so that `cargo test` builds it.
pub(crate) fn simulated_claude() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let built = test.parent().and_then(Path::parent).unwrap();
    let name = format!("simulated-claude{}", std::env::consts::EXE_SUFFIX);
    let program = built.join("examples").join(name);
    assert!(
        program.is_file(),
        "{} not found: `cargo test -p weir-session` builds it; for a single test run `cargo build --examples` first",
        program.display()
    );
    program
}
