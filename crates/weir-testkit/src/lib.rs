//! A simulated claude, and a scripted Messages API for the real one.
//!
//! Nothing in here is part of a release except the embedded demo.

pub mod api;
pub mod json;
pub mod real;
pub mod redact;
pub mod scenario;
pub mod script;
pub mod simulated;
#[cfg(target_os = "linux")]
pub mod small_disk;

/// Whether tests that try the same thing at many points in time or on many versions try all of them. `make test`
/// tries some; `make test-all` and CI set `WEIR_LONG_TESTS=1`.
pub fn is_long_run() -> bool {
    std::env::var_os("WEIR_LONG_TESTS").is_some_and(|value| value == "1")
}
