//! Runs random conversations and faults on sessions and pools for any length of time.
//!
//! Everything is determined by a seed: [`plan::Plan`] is what one session does, generated with [`weir_testkit::Random`].
//! A plan is played on the simulated CLI (`play`, `pooled`) and then checked: every message has ended, no reply went to
//! another message, costs were counted once, no process, lock or record is left, the raw log has every byte, and the
//! view equals a replay. Some plans are a store on a small disk that fills and empties (`disk`). [`soak`] does that
//! for many plans at a time and watches memory and file descriptors.
//!
//! Only for tests: it prints nothing itself, and starts nothing but the simulated CLI.

mod check;
#[cfg(target_os = "linux")]
pub mod disk;
mod leaks;
mod place;
pub mod plan;
mod play;
mod pooled;
mod recorder;
mod settings;
mod soak;
mod tally;

pub use settings::{Settings, SettingsError};
pub use soak::{Failure, soak};
pub use tally::Tally;

/// First argument that turns the program into the simulated CLI.
pub const SIMULATED: &str = "simulated-claude";
