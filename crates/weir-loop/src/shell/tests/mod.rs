//! The loop with a real git and real gates, killed after each single thing that it does to the disk.
//!
//! Sessions are played in this process and leave the log that a real one leaves, so a run takes a fraction of a second
//! and hundreds of kills are affordable. `weir-cli/tests/loops/kill.rs` does it to the program, at random instants.

mod instants;
mod person;
mod place;
mod player;
