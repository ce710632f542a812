//! Runs the gates: programs with arguments, without a shell, with a time limit, and without leftover processes. They run
//! in a checkout that holds exactly the files of one commit, which is laid out anew for each gate.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::Path;
use std::sync::PoisonError;

use weir_process::{PlainCommand, Sandbox};

use super::context::Context;
use super::git::{GitError, remove};
use crate::config::Gate;
use crate::event::LoopEvent;
use crate::outcome::GateResult;
use crate::prompt::cut_start;
use crate::tasks::TaskId;

/// Bytes of a gate's output that are kept.
const MAX_OUTPUT: usize = 16 << 10;

/// Bytes of the output of a gate that passed. A list of thousands keeps it for the report.
const MAX_PASSED_OUTPUT: usize = 400;

/// A variable that tells programs in a place in which loop's folder they run.
pub const INSIDE: &str = "WEIR_LOOP_INSIDE";

/// What is checked, and where.
#[derive(Debug, Clone, Copy)]
pub(super) struct Check<'a> {
    /// The place of gates.
    pub(super) slot: u32,
    /// The files.
    pub(super) tree: &'a str,
    /// The commit that the git of gates shows.
    pub(super) head: &'a str,
    /// The task whose work it is, for viewers.
    pub(super) task: Option<&'a TaskId>,
}

/// Runs all gates on a tree, one after the other.
pub(super) async fn run_gates(context: &Context, check: Check<'_>) -> Result<Vec<GateResult>, GitError> {
    if context.config.gates.is_empty() {
        return Ok(Vec::new());
    }
    let places = &context.ready().await?.places;
    if places.forget_strange_caches(check.slot)? {
        context.forget_setup();
    }
    let results = run_in_checkout(context, check).await;
    places.note_caches(check.slot);
    results
}

async fn run_in_checkout(context: &Context, check: Check<'_>) -> Result<Vec<GateResult>, GitError> {
    let Check { slot, tree, head, task } = check;
    let gates = &context.config.gates;
    let ready = context.ready().await?;
    let places = &ready.places;
    let is_as_before = || ready.outside.changed().map_or(Ok(()), |what| Err(GitError::Outside(what)));
    let git = places.lay_out_gates(slot, tree, head).await?;
    is_as_before()?;
    if let Some(failed) = run_setup(context, git.folder()).await? {
        return Ok(vec![failed]);
    }
    let mut results = Vec::with_capacity(gates.len());
    for (place, gate) in gates.iter().enumerate() {
        if place > 0 {
            // What one gate leaves is not there for the next.
            places.lay_out_gates(slot, tree, head).await?;
        }
        tell(context, task, gate, None);
        let result = run_gate(context, gate, git.folder()).await;
        tell(context, task, gate, Some(&result));
        results.push(result);
        is_as_before()?;
    }
    Ok(results)
}

/// Tells viewers that a gate begins, or what came of it.
fn tell(context: &Context, task: Option<&TaskId>, gate: &Gate, result: Option<&GateResult>) {
    let Some(task) = task.cloned() else { return };
    // A run that has ended has no viewers.
    let _ = context.live.send(LoopEvent::Gate { task, gate: gate.name.clone(), result: result.cloned() });
}

/// Runs the setup in a folder, if the files that it depends on have changed since. Returns its result if it fails.
pub(super) async fn run_setup(context: &Context, folder: &Path) -> Result<Option<GateResult>, GitError> {
    let programs = context.config.setup_as_gates();
    if programs.is_empty() {
        return Ok(None);
    }
    let key = key(context, folder);
    let is_done = context.setup.lock().unwrap_or_else(PoisonError::into_inner).is_done(folder, &key);
    if is_done {
        return Ok(None);
    }
    for name in context.config.setup.iter().flat_map(|setup| &setup.caches) {
        let path = folder.join(name);
        remove(&path).map_err(|source| GitError::Own { path, source })?;
    }
    for gate in &programs {
        let result = run_gate(context, gate, folder).await;
        if !result.passed {
            return Ok(Some(result));
        }
    }
    context.setup.lock().unwrap_or_else(PoisonError::into_inner).note(folder, key);
    Ok(None)
}

/// Changes when a file changes that the setup depends on.
fn key(context: &Context, folder: &Path) -> String {
    let mut hasher = DefaultHasher::new();
    for name in context.config.setup.iter().flat_map(|setup| &setup.files) {
        std::fs::read(folder.join(name)).unwrap_or_default().hash(&mut hasher);
    }
    format!("{:016x}", hasher.finish())
}

async fn run_gate(context: &Context, gate: &Gate, folder: &Path) -> GateResult {
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
    let mut command = PlainCommand::new(program).args(args).cwd(folder).timeout(gate.timeout.duration());
    command.environment = command.environment.set(INSIDE, &context.folders.root);
    // Gates run code that a session has written.
    command.sandbox = fence(context, folder);
    command.keep_bytes = MAX_OUTPUT;
    command.state_directory = Some(context.folders.state());
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
            let output = format!("{}{}", done.stdout.text(), done.stderr.text());
            let room = if passed { MAX_PASSED_OUTPUT } else { MAX_OUTPUT };
            GateResult {
                name: gate.name.clone(),
                passed,
                ending,
                output: cut_start(&context.secrets.mask(&output), room),
                took_ms: u64::try_from(done.took.as_millis()).unwrap_or(u64::MAX),
            }
        }
    }
}

fn fence(context: &Context, folder: &Path) -> Option<Sandbox> {
    let sandbox = context.sandbox.as_ref()?;
    // The places are known: the gates run in one of them.
    context.ready.get().map(|ready| ready.places.fence(sandbox, folder))
}
