//! The proof that the simulated CLI is honest: it gets the input that was once sent to a real CLI, and the transcript
//! must be the same as the one from the real CLI's output.

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
