//! Editors on the simulated CLI: real processes, a real log, and messages of the protocol as they are on the wire.
#![cfg(target_os = "linux")]

#[cfg(test)]
mod asking;
#[cfg(test)]
mod bad_input;
#[cfg(test)]
mod conformance;
#[cfg(test)]
mod crate_client;
#[cfg(feature = "draft-v2")]
#[cfg(test)]
mod draft;
#[cfg(test)]
mod peer;
#[cfg(test)]
mod place;
#[cfg(test)]
mod sessions;
#[cfg(test)]
mod sharing;
#[cfg(test)]
mod turns;
