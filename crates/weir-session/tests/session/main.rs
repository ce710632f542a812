//! The session against a CLI played by the test.
//!
//! Time only passes in these tests while everything is waiting: a limit of an hour passes in an instant, and
//! nothing depends on the speed of the machine.

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
