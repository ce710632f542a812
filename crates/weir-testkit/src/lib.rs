//! Support for tests: a scripted Messages API, real CLIs, scenarios for them and for the simulated CLI, small disks.
//!
//! No program that is shipped depends on it, and it depends on nothing that drives the CLI: its own small driver
//! judges the others.

pub mod api;
pub mod real;
pub mod redact;
pub mod scenario;
#[cfg(target_os = "linux")]
pub mod small_disk;

// The simulated CLI itself, and its scripts and JSON values, which the scripted API and the scenarios share.
pub use weir_simulator::{array, json, object, play, script};

/// Whether tests that try the same thing at many points in time or on many versions try all of them. `make test`
/// tries some; `make test-all` and CI set `WEIR_LONG_TESTS=1`.
pub fn is_long_run() -> bool {
    std::env::var_os("WEIR_LONG_TESTS").is_some_and(|value| value == "1")
}
