//! The simulated CLI as a process of a test.

use std::path::{Path, PathBuf};
use std::time::Duration;

use weir_process::StopOptions;

/// The simulated CLI that Cargo builds for the tests of a package: `simulated_claude(env!("CARGO_PKG_NAME"))`.
///
/// Cargo tells tests only about programs of their own package, so each package has the file
/// `weir-testkit/programs/simulated_claude.rs` as an example named `PACKAGE-simulated-claude`.
///
/// # Panics
/// If it was not built, with the command that builds it.
#[track_caller]
#[expect(clippy::expect_used, reason = "a test that cannot continue should stop")]
pub fn simulated_claude(package: &str) -> PathBuf {
    let test = std::env::current_exe().expect("the path of the test is known");
    // Unit and integration tests are in `deps`, next to `examples`.
    let built = test.parent().and_then(Path::parent).expect("the test is in a folder of Cargo");
    let name = format!("{package}-simulated-claude{}", std::env::consts::EXE_SUFFIX);
    let program = built.join("examples").join(name);
    assert!(program.is_file(), "{} not found: run `cargo build -p {package} --examples`", program.display());
    program
}

/// Ends processes quickly, without killing one that only needs a moment on a busy machine.
pub const fn quick_stop() -> StopOptions {
    StopOptions {
        grace: Duration::from_secs(1),
        terminate: Duration::from_secs(1),
        descendants: Duration::from_millis(200),
        kill: Duration::from_secs(20),
    }
}
