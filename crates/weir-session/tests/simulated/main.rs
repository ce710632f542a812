//! The session against the simulated CLI: real processes, real pipes.
#![cfg(target_os = "linux")]

#[cfg(test)]
mod endings;
#[cfg(test)]
mod lessons;
#[cfg(test)]
mod place;
#[cfg(test)]
mod pool;
#[cfg(test)]
#[path = "../programs/find.rs"]
mod programs;
#[cfg(test)]
mod sessions;
#[cfg(test)]
mod silence;
#[cfg(test)]
mod turns;
