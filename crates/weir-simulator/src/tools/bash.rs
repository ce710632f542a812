//! `Bash`, in the foreground and in the background.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use weir_base::text::head;

use super::Call;
use super::outcome::{Outcome, Shape};
use super::shell::{self, Ended};
use crate::agent::Agent;
use crate::cancel::{Cancel, Stop};
use crate::json::{Json, without_surrogates};
use crate::ledger::Tokens;
use crate::lines;
use crate::object;
use crate::sim::Sim;
use crate::tasks::Task;

/// The default timeout for a command.
const TIMEOUT: Duration = Duration::from_secs(120);
/// Longer outputs are saved, and the model gets the beginning.
const MAX_OUTPUT: usize = 30_000;
const PREVIEW: usize = 2_000;

pub(super) fn run(sim: &Arc<Sim>, agent: &Agent, call: &Call) -> Outcome {
    let command = without_surrogates(call.input.str_of("command").unwrap_or_default());
    if call.input.is_true("run_in_background") {
        return in_background(sim, agent, call, &command);
    }
    let timeout =
        call.input.number_of("timeout").map_or(TIMEOUT, |time| Duration::from_millis(time.max(1.0) as u64));
    let outputs = match Outputs::create(sim, &call.id) {
        Ok(outputs) => outputs,
        Err(error) => return Outcome::failure(format!("cannot write the output of the command: {error}")),
    };
    let started = outputs.files().and_then(|files| shell::start(&command, sim.cwd(), files, &agent.cancel));
    let ended = match started {
        Ok(running) => running.wait(Some(timeout)),
        Err(error) => return Outcome::failure(format!("cannot start bash: {error}")),
    };
    let (stdout, stderr) = outputs.read_and_remove();
    finished(sim, agent, call, ended, timeout, &stdout, &stderr)
}

fn finished(
    sim: &Sim,
    agent: &Agent,
    call: &Call,
    ended: Ended,
    timeout: Duration,
    stdout: &str,
    stderr: &str,
) -> Outcome {
    let old = sim.profile.is_old();
    // The newer version sends both to the same place; the older one joins them afterwards, errors first if the
    // command failed.
    let joined = |first: &str, second: &str, gap: &str| match (first.is_empty(), second.is_empty()) {
        (false, false) => format!("{first}{gap}{second}"),
        _ => format!("{first}{second}"),
    };
    match ended {
        Ended::Exited(0) => {
            if sim.profile.asks_small_model_about_output() && stdout.len() <= MAX_OUTPUT {
                let usual = Tokens { input: 100, output: 50, ..Tokens::default() };
                sim.ledger().charge(&sim.profile, sim.profile.small_model(), usual);
            }
            success(sim, agent, call, &joined(stdout, stderr, "\n"))
        }
        Ended::Exited(status) => {
            let output = if old { joined(stderr, stdout, "\n\n") } else { joined(stdout, stderr, "\n") };
            Outcome::failure(joined(&format!("Exit code {status}"), &output, "\n"))
        }
        Ended::TimedOut => {
            let output = joined(stdout, stderr, "\n");
            let seconds = timeout.as_secs();
            Outcome::failure(joined(
                &format!("Exit code 143\nCommand timed out after {seconds}s"),
                &output,
                "\n",
            ))
        }
        Ended::Stopped(Stop::Terminate) => Outcome::failure("Exit code 137"),
        Ended::Stopped(reason) => Outcome::Stopped(reason),
    }
}

fn success(sim: &Sim, agent: &Agent, call: &Call, output: &str) -> Outcome {
    let mut structured = object! {
        "stdout" => if sim.profile.is_old() { output } else { head(output, MAX_OUTPUT) },
        "stderr" => "",
        "interrupted" => false,
        "isImage" => false,
    };
    if !sim.profile.is_old() {
        structured.set("noOutputExpected", false);
    }
    let mut content = output.to_owned();
    if output.len() > MAX_OUTPUT {
        let name = if sim.profile.is_old() { call.id.clone() } else { format!("b{}", agent.ids.base36(8)) };
        let folder = sim.project_dir().join(sim.session_id()).join("tool-results");
        let path = folder.join(format!("{name}.txt"));
        // On a failing disk the model gets a path that leads nowhere, as with the real CLI.
        drop(std::fs::create_dir_all(&folder).and_then(|()| std::fs::write(&path, output)));
        let preview = head(output, PREVIEW);
        let preview = preview.rfind('\n').and_then(|end| preview.get(..end)).unwrap_or(preview);
        content = format!(
            "<persisted-output>\nOutput too large ({}). Full output saved to: {}\n\nPreview (first 2KB):\n{preview}\n...\n</persisted-output>",
            size(output.len()),
            path.display(),
        );
        if !sim.profile.is_old() {
            structured.set("persistedOutputPath", path.display().to_string());
            structured.set("persistedOutputSize", output.len());
        }
    }
    if content.is_empty() && !sim.profile.is_old() {
        content = "(Bash completed with no output)".to_owned();
    }
    Outcome::Success { content: Json::String(content), structured, shape: Shape::WithError }
}

/// A human-readable size.
fn size(bytes: usize) -> String {
    let kilobytes = bytes as f64 / 1024.0;
    if kilobytes < 1024.0 { format!("{kilobytes:.1}KB") } else { format!("{:.1}MB", kilobytes / 1024.0) }
}

fn in_background(sim: &Arc<Sim>, agent: &Agent, call: &Call, command: &str) -> Outcome {
    let old = sim.profile.is_old();
    let id = format!("b{}", if old { agent.ids.hex(6) } else { agent.ids.base36(8) });
    let run_id = format!("0{}-{}", agent.ids.base36(8), agent.ids.hex(8));
    let description = call.input.str_of("description").unwrap_or(command).to_owned();
    let path = sim.task_dir().join(format!("{id}.output"));
    let file = std::fs::create_dir_all(sim.task_dir()).and_then(|()| File::create(&path));
    let files = file.and_then(|file| Ok((file.try_clone()?, file)));
    let files = match files {
        Ok(files) => files,
        Err(error) => return Outcome::failure(format!("cannot write {}: {error}", path.display())),
    };
    let cancel = Cancel::new();
    let running = match shell::start(command, sim.cwd(), files, &cancel) {
        Ok(running) => running,
        Err(error) => return Outcome::failure(format!("cannot start bash: {error}")),
    };
    let task = Task {
        id: id.clone(),
        run_id: run_id.clone(),
        tool_use_id: call.id.clone(),
        description: description.clone(),
        agent: None,
        cancel,
    };
    sim.tasks.start(sim, &agent.ids, task);
    if sim.profile.reports_tasks() {
        let started = object! {
            "task_id" => id.as_str(),
            "run_id" => run_id,
            "tool_use_id" => call.id.as_str(),
            "description" => description.as_str(),
            "is_backgrounded" => true,
            "task_type" => "local_bash",
        };
        sim.out.line(&lines::system(sim, &agent.ids, "task_started", started));
    }
    if sim.profile.asks_small_model_about_output() {
        let usual = Tokens { input: 100, output: 50, ..Tokens::default() };
        sim.ledger().charge(&sim.profile, sim.profile.small_model(), usual);
    }
    let (runner, ids, task) = (Arc::clone(sim), agent.ids.fork(&id), id.clone());
    std::thread::spawn(move || {
        let ended = running.wait(None);
        let (succeeded, how) = match ended {
            Ended::Exited(0) => (true, "completed (exit code 0)".to_owned()),
            Ended::Exited(status) => (false, format!("failed with exit code {status}")),
            Ended::Stopped(_) | Ended::TimedOut => (false, "was stopped".to_owned()),
        };
        let summary = format!("Background command \"{description}\" {how}");
        runner.tasks.finish(&runner, &ids, &task, succeeded, &summary, None);
    });
    let mut text = format!(
        "Command running in background with ID: {id}. Output is being written to: {}",
        path.display()
    );
    if !old {
        text.push_str(
            ". You will be notified when it completes. To check interim output, use Read on that file path.",
        );
    }
    let mut structured =
        object! { "stdout" => "", "stderr" => "", "interrupted" => false, "isImage" => false };
    if !old {
        structured.set("noOutputExpected", false);
    }
    structured.set("backgroundTaskId", id);
    Outcome::Success { content: Json::String(text), structured, shape: Shape::WithError }
}

/// Where the output of a running command goes.
struct Outputs {
    stdout: PathBuf,
    stderr: PathBuf,
}

impl Outputs {
    fn create(sim: &Sim, call: &str) -> std::io::Result<Self> {
        let folder = sim.task_dir();
        std::fs::create_dir_all(&folder)?;
        let name = |end: &str| folder.join(format!("{}-{call}.{end}", std::process::id()));
        let stdout = name("stdout");
        let stderr = if sim.profile.is_old() { name("stderr") } else { stdout.clone() };
        Ok(Self { stdout, stderr })
    }

    fn files(&self) -> std::io::Result<(File, File)> {
        let stdout = File::create(&self.stdout)?;
        let stderr =
            if self.stderr == self.stdout { stdout.try_clone()? } else { File::create(&self.stderr)? };
        Ok((stdout, stderr))
    }

    fn read_and_remove(&self) -> (String, String) {
        let read = |path: &Path| {
            let bytes = std::fs::read(path).unwrap_or_default();
            drop(std::fs::remove_file(path));
            String::from_utf8_lossy(&bytes).trim_end_matches('\n').to_owned()
        };
        let stdout = read(&self.stdout);
        (stdout, if self.stderr == self.stdout { String::new() } else { read(&self.stderr) })
    }
}
