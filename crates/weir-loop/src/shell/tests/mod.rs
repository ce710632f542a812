//! The loop with a real git and real gates, killed after each change that it makes to the disk.
//!
//! Sessions are played in this process and leave the same log as a real one, so a run takes a fraction of a second and
//! hundreds of kills are affordable. `weir-cli/tests/loops/kill.rs` kills the program itself, at random instants.

mod edits;
mod instants;
mod person;
mod place;
mod player;
