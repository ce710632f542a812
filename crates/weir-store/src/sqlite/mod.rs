//! The store in a SQLite file.
//!
//! Several processes may use one file: SQLite serialises their writes, events get their numbers inside the
//! transaction, and viewers see what other processes write within [`SqliteOptions::poll_interval`]. So a terminal can
//! list and search while a server runs. Which process drives a session is not decided here.

mod checkpointer;
mod disk;
mod heads;
mod health;
mod index;
mod maintenance;
mod open;
mod queue;
mod read;
mod read_gate;
mod readers;
mod rows;
mod runs;
mod schema;
mod store;
mod task;
mod vacuum;
mod write;
mod writer;

pub use maintenance::{BackedUp, Compacted, FileReport, Restored, back_up, check_file, compact, restore};
pub use open::{DEFAULT_RESERVE, Durability, SqliteOptions};
pub use store::SqliteStore;
