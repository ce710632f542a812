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
