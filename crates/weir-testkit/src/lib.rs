//! Support for tests: places and waiting, the simulated CLI as a process, a scripted Messages API, real CLIs,
//! scenarios for both, small disks, NATS servers.
//!
//! No shipped program depends on it. It is below `weir-session` and `weir-host`, so that their unit tests can use it:
//! its own small driver judges theirs.

pub mod api;
mod captures;
mod git;
pub mod http;
mod memory_folder;
#[cfg(unix)]
pub mod nats;
mod place;
mod processes;
mod random;
pub mod real;
pub mod redact;
mod remains;
pub mod scenario;
mod simulated;
#[cfg(target_os = "linux")]
pub mod small_disk;
mod wait;

pub use captures::Capture;
pub use git::{begin_repository, git};
pub use memory_folder::memory_folder;
pub use place::{DUMMY_KEY, Place};
pub use processes::{Leftover, end_leftovers, processes_where};
pub use random::Random;
pub use remains::{check_no_lock_or_record, raw_log_lines, raw_logs};
pub use simulated::{quick_stop, simulated_claude};
pub use wait::{DEADLINE, blocking, soon, until, until_some};

// The simulated CLI itself, and its scripts and JSON values, which the scripted API and the scenarios share.
pub use weir_simulator::{array, json, object, play, script};

/// Whether tests that try the same thing at many points in time or on many versions try all of them. `make test`
/// tries some; `make test-all` and CI set `WEIR_LONG_TESTS=1`.
pub fn is_long_run() -> bool {
    std::env::var_os("WEIR_LONG_TESTS").is_some_and(|value| value == "1")
}
