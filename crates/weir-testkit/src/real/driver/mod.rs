//! A synchronous driver for one CLI process: lines in, lines out, waiting with a deadline.
//!
//! Three threads read its output, its errors and its exit, so no pipe fills up and polling is not needed. The
//! [`Responder`] answers requests of the CLI on the reading thread. The process is ended and reaped when the driver
//! is dropped.

mod error;
mod model;
mod process;
mod state;
mod threads;

pub use error::DriverError;
pub use model::{Happening, Launch, Received, Responder, Response};
pub use process::Driver;
