//! The session against a CLI that the test plays.
//!
//! Time stands still in these tests unless everything waits: a limit of an hour passes in an instant, and nothing
//! depends on how fast the machine is.

#[cfg(test)]
mod asks;
#[cfg(test)]
mod brake;
#[cfg(test)]
mod control;
#[cfg(test)]
mod dropped;
#[cfg(test)]
mod dying;
#[cfg(test)]
mod follow;
#[cfg(test)]
mod history;
#[cfg(test)]
mod life;
#[cfg(test)]
mod limits;
#[cfg(test)]
mod one_shot;
#[cfg(test)]
mod played;
#[cfg(test)]
mod queue;
#[cfg(test)]
mod reconfigured;
#[cfg(test)]
mod stop;
#[cfg(test)]
mod stream;
#[cfg(test)]
mod turns;
#[cfg(test)]
mod unasked;
