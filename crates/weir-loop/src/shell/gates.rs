//! Runs the gates: programs with arguments, without a shell, with a time limit, and without leftover processes.

use std::path::Path;

use weir_process::{PlainCommand, Secrets};

use super::git::Git;
use crate::config::Gate;
use crate::outcome::GateResult;
use crate::prompt::cut_start;

/// Bytes of a gate's output that are kept.
const MAX_OUTPUT: usize = 16 << 10;

/// Runs all gates in a working tree, one after the other, in the same sandbox as git.
pub async fn run_gates(gates: &[Gate], git: &Git, state: &Path, secrets: &Secrets) -> Vec<GateResult> {
    let mut results = Vec::with_capacity(gates.len());
    for gate in gates {
        results.push(run_gate(gate, git, state, secrets).await);
    }
    results
}

async fn run_gate(gate: &Gate, git: &Git, state: &Path, secrets: &Secrets) -> GateResult {
    let failed = |ending: String| GateResult {
        name: gate.name.clone(),
        passed: false,
        ending,
        output: String::new(),
        took_ms: 0,
    };
    let Some((program, args)) = gate.command.split_first() else {
        return failed("it has no command".to_owned());
    };
    let mut command =
        PlainCommand::new(program).args(args).cwd(git.folder()).timeout(gate.timeout.duration());
    // Gates run code that a session has written.
    command.sandbox = git.sandbox().cloned();
    command.keep_bytes = MAX_OUTPUT;
    command.state_directory = Some(state.to_owned());
    command.purpose = format!("gate {}", gate.name);
    match command.run().await {
        Err(error) => failed(error.to_string()),
        Ok(done) => {
            let passed = done.is_success();
            let ending = if done.timed_out {
                format!("it took longer than {}", gate.timeout)
            } else {
                done.exit.to_string()
            };
            let output =
                if passed { String::new() } else { format!("{}{}", done.stdout.text(), done.stderr.text()) };
            GateResult {
                name: gate.name.clone(),
                passed,
                ending,
                output: cut_start(&secrets.mask(&output), MAX_OUTPUT),
                took_ms: u64::try_from(done.took.as_millis()).unwrap_or(u64::MAX),
            }
        }
    }
}
