//! A synchronous driver for one CLI process: lines in, lines out, waiting with a deadline.
//!
//! Three threads read its output, its errors and its end, so no pipe fills up and nobody has to poll. Requests of
//! the CLI are answered on the reading thread, by the [`Responder`]. The process is ended and reaped when the
//! driver is dropped.

mod error;
mod model;
mod process;
mod state;
mod threads;

pub use error::DriverError;
pub use model::{Happening, Launch, Received, Responder, Response};
pub use process::Driver;
