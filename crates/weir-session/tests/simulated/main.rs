//! The session against the simulated CLI: real processes, real pipes.
#![cfg(target_os = "linux")]

#[cfg(test)]
mod brake;
#[cfg(test)]
#[cfg(feature = "mcp")]
#[path = "../programs/calc.rs"]
mod calc;
#[cfg(test)]
mod endings;
#[cfg(test)]
mod lessons;
#[cfg(test)]
mod logs;
#[cfg(test)]
#[cfg(feature = "mcp")]
mod mcp;
#[cfg(test)]
mod old;
#[cfg(test)]
mod place;
#[cfg(test)]
mod pool;
#[cfg(test)]
mod sessions;
#[cfg(test)]
mod silence;
#[cfg(test)]
mod slots;
#[cfg(test)]
mod spares;
#[cfg(test)]
mod tools;
#[cfg(test)]
mod turns;
