//! The host on the simulated CLI: real processes, a real log.
#![cfg(target_os = "linux")]

#[cfg(test)]
mod asking;
#[cfg(test)]
mod brake;
#[cfg(test)]
mod broken_log;
mod changing;
#[cfg(test)]
mod client_tools;
#[cfg(test)]
mod crowding;
#[cfg(test)]
mod faulty;
#[cfg(test)]
mod flood;
#[cfg(test)]
mod killed;
#[cfg(test)]
mod lifecycle;
#[cfg(test)]
mod message_stream;
#[cfg(test)]
mod older_file;
#[cfg(test)]
mod past;
#[cfg(test)]
mod place;
#[cfg(test)]
mod power_loss;
#[cfg(test)]
mod property;
#[cfg(test)]
mod reading;
#[cfg(test)]
mod real;
#[cfg(test)]
mod retention;
#[cfg(test)]
mod rewind;
#[cfg(test)]
mod talking;
#[cfg(test)]
mod watching;
#[cfg(test)]
mod worktrees;
