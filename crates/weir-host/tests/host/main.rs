//! The host on the simulated CLI: real processes, a real log.
#![cfg(target_os = "linux")]

#[cfg(test)]
mod asking;
#[cfg(test)]
mod brake;
#[cfg(test)]
mod broken_log;
#[cfg(test)]
mod killed;
#[cfg(test)]
mod lifecycle;
#[cfg(test)]
mod place;
#[cfg(test)]
mod property;
#[cfg(test)]
mod reading;
#[cfg(test)]
mod real;
#[cfg(test)]
mod talking;
#[cfg(test)]
mod watching;
