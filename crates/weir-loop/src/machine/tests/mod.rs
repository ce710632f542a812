//! Tests the machine in a simulated world that responds at once, without processes, files or a clock.

mod goes_on;
mod limits;
mod nights;
mod order;
mod outcomes;
mod pause;
mod review;
mod skipped;
mod world;

use world::{THREE, World, config, crash, good, limited};

use super::*;
use crate::agent::{AgentEnd, AgentRun, DeniedTool, LimitInfo};
use crate::config::{OnDenial, Time};
use crate::limits::LimitReached;
use crate::outcome::Outcome;
