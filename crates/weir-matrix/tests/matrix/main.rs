//! Chats on Matrix, with a real homeserver (`scripts/setup-synapse.sh`) and the simulated CLI.
#![cfg(test)]
#![cfg(unix)]
// The futures of the SDK are deeply nested.
#![recursion_limit = "256"]

mod asks;
mod changes;
mod conversations;
mod files;
mod killed;
mod logins;
mod people;
mod person;
mod place;
mod synapse;

use serde_json::Value;

/// A message that tells the simulated CLI what to do.
fn script(steps: &Value) -> String {
    format!("@@{steps}")
}
