//! Scenarios: what a host does with a CLI, as data, so that any driver can run them on any CLI.
//!
//! [`all`] is the list. [`run`] plays one with the small driver of [`crate::real`] and folds the events into an
//! [`Outcome`]; [`outline`] writes a view as lines, one fact each; [`compare`] compares two outlines, with the table
//! of known [`DIFFERENCES`]. The list does not depend on how it is run.

mod campaign;
mod compare;
mod differences;
mod list;
mod model;
mod outline;
mod played;
mod reply;
mod run;
mod table;
mod wait;

pub use campaign::{Report, Verdict, conform};
pub use compare::{Comparison, compare};
pub use differences::{Difference, Rule, Scope, Versions};
pub use list::{all, differs_by_version};
pub use model::{Action, Condition, Hook, PICTURE, Process, Reply, ReplyRule, Scenario};
pub use outline::outline;
pub use played::Played;
pub use run::{ASK_FLAGS, BASE_FLAGS, Cli, MODEL_FLAGS, Outcome, RunError, run};
pub use table::{DIFFERENCES, IMITATED, nearest};
