//! Puts sessions and pools through random conversations and faults, for as long as one likes.
//!
//! Everything follows from a seed: [`plan::Plan`] is what one conversation does, made by [`random::Random`]. A plan is
//! played on the simulated CLI (`play`, `pooled`) and then looked at: every message has ended, no answer went to
//! another message, money was counted once, no process, lock or record is left, the raw log has every byte, and the
//! view is what a replay gives. Some plans are a store on a small disk that fills and empties (`disk`). [`soak`] does that for many plans at a time and watches memory and file descriptors.
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
pub mod random;
mod recorder;
mod settings;
mod soak;
mod tally;

pub use settings::{Settings, SettingsError};
pub use soak::{Failure, soak};
pub use tally::Tally;

/// The first argument of a program that is to be the simulated CLI.
pub const SIMULATED: &str = "simulated-claude";
