//! Tests with real processes, started and ended. `/bin/sh` plays the CLI.
#![cfg(target_os = "linux")]

#[cfg(test)]
mod dropped;
#[cfg(test)]
mod hosts;
#[cfg(test)]
mod logs;
#[cfg(test)]
mod memory;
#[cfg(test)]
mod probing;
#[cfg(test)]
mod stop;
#[cfg(test)]
mod streams;
#[cfg(test)]
mod support;
#[cfg(test)]
mod trees;
#[cfg(test)]
mod user;
