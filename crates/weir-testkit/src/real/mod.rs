//! Real CLIs for tests: where they are installed, their flags, and a small driver.
//!
//! The driver is synchronous and meant for the tests of this crate: programs use `weir-session`. Nothing in here
//! installs anything (that is `scripts/setup-real-cli.sh`), uses an account, or connects beyond loopback.

mod driver;
mod exit;
mod flags;
mod installed;

pub use driver::{Driver, DriverError, Happening, Launch, Received, Responder, Response};
pub use exit::Exit;
pub use flags::{FLAGS, Flag, check_flags};
pub(crate) use installed::cache;
pub use installed::{RealCli, RealCliError, Version, parse_version};
