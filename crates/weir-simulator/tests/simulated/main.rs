//! Tests of the simulated CLI as a process: everything it can do, and every way it can misbehave.

#[cfg(test)]
mod agents;
#[cfg(test)]
mod background;
#[cfg(test)]
mod command_line;
#[cfg(test)]
mod control;
#[cfg(test)]
mod errors;
#[cfg(test)]
mod hosts;
#[cfg(test)]
mod input;
#[cfg(test)]
mod interrupts;
#[cfg(test)]
mod misbehaviour;
#[cfg(test)]
mod permissions;
#[cfg(test)]
mod persona;
#[cfg(test)]
mod sessions;
#[cfg(test)]
mod streams;
#[cfg(test)]
mod support;
#[cfg(test)]
mod tools;
#[cfg(test)]
mod turns;
