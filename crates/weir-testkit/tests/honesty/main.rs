//! The proof that the simulated CLI is honest: what was once sent to a real CLI is sent to it, and the transcript must
//! come out the same as from what the real CLI wrote.

#[cfg(test)]
mod compare;
#[cfg(test)]
mod every_recording;
#[cfg(test)]
mod known;
#[cfg(test)]
mod recording;
#[cfg(test)]
mod replay;
#[cfg(test)]
mod setup;
