//! Tests of the machine alone: events in, actions out.

mod brake;
mod guard;
mod host;
mod played;
mod property;

use std::time::Duration;

use serde_json::json;
use weir_wire::{CliSessionId, MessageId};

use self::host::{Host, Process};
use super::{Command, Greeting, Limits, MachineSettings, Phase, Reply, SendMode, Spawn};
use crate::ask::Decision;
use crate::error::SessionError;

fn init() -> serde_json::Value {
    json!({"type": "system", "subtype": "init", "session_id": "s1", "model": "m", "tools": [], "mcp_servers": []})
}

fn result(names: &[&str]) -> serde_json::Value {
    json!({"type": "result", "subtype": "success", "is_error": false, "result": "words", "num_turns": 1,
        "session_id": "s1", "total_cost_usd": 0.1, "user_message_uuids": names})
}

/// A host in the middle of the turn of message `m1`.
fn running(settings: MachineSettings) -> Host {
    let mut host = Host::ready(settings);
    host.send("m1", SendMode::Queue);
    host.says(&init());
    host
}

#[test]
fn nothing_is_started_without_a_command() {
    let mut host = Host::new(MachineSettings::default());
    host.pass(Duration::from_secs(3600));
    assert_eq!(host.process, Process::None);
    assert_eq!(host.machine.deadline(), None);
    host.send("m1", SendMode::Queue);
    assert_eq!(host.spawns, [Spawn::default()]);
}

#[test]
fn the_next_process_resumes_the_session_that_the_cli_named() {
    let settings = MachineSettings { resume: Some(CliSessionId::new("s0")), ..MachineSettings::default() };
    let mut host = running(settings);
    host.says(&result(&["m1"]));
    host.exits(0);
    host.send("m2", SendMode::Queue);
    let resumed = |id: &str| Spawn { resume: Some(CliSessionId::new(id)), ..Spawn::default() };
    assert_eq!(host.spawns, [resumed("s0"), resumed("s1")]);
}

#[test]
fn an_unexpected_working_directory_is_reported_once() {
    let in_folder = |cwd: &str| {
        let mut line = init();
        line["cwd"] = json!(cwd);
        line
    };
    let mut host = Host::ready(MachineSettings { cwd: Some("/asked".into()), ..MachineSettings::default() });
    let warnings = |host: &Host| {
        let text = format!("{:?}", host.machine.view().entries);
        text.matches("the CLI works in /other, but was asked to work in /asked").count()
    };
    for (message, cwd, told) in [("m1", "/asked", 0), ("m2", "/other", 1), ("m3", "/other", 1)] {
        host.send(message, SendMode::Queue);
        host.says(&in_folder(cwd));
        host.says(&result(&[message]));
        assert_eq!(warnings(&host), told, "{message}");
    }
}

#[test]
fn only_the_first_process_forks() {
    let fork =
        MachineSettings { fork: true, resume: Some(CliSessionId::new("s0")), ..MachineSettings::default() };
    let mut host = Host::new(fork);
    host.command(|ticket| Command::Start { ticket });
    host.started();
    // It ended before it named the copy, so there is none yet.
    host.exits(1);
    host.command(|ticket| Command::Start { ticket });
    host.started();
    host.answer_last(&json!({}));
    host.send("m1", SendMode::Queue);
    host.says(&init());
    host.exits(1);
    host.command(|ticket| Command::Start { ticket });
    let spawn = |id: &str, fork| Spawn { resume: Some(CliSessionId::new(id)), fork, ..Spawn::default() };
    assert_eq!(host.spawns, [spawn("s0", true), spawn("s0", true), spawn("s1", false)]);
}

#[test]
fn a_cli_without_a_handshake_is_ready_at_once() {
    let mut host = Host::new(MachineSettings { greeting: Greeting::None, ..MachineSettings::default() });
    host.send("m1", SendMode::Queue);
    host.started();
    assert_eq!(host.written.len(), 1);
    assert_eq!(host.written[0]["type"], "user");
}

#[test]
fn a_failed_start_leaves_nothing_behind() {
    let limits = Limits { starting: Some(Duration::from_secs(1)), ..Limits::default() };
    let mut host = Host::new(MachineSettings { limits, ..MachineSettings::default() });
    let start = host.command(|ticket| Command::Start { ticket });
    // The limit passes while the start hangs, and then the start fails.
    host.pass(Duration::from_secs(2));
    assert_eq!(host.process, Process::StartCancelled);
    host.start_fails();
    assert!(host.replies[&start].is_err());
    // The next process has its full time and takes messages.
    host.send("m1", SendMode::Queue);
    host.started();
    host.answer_last(&json!({}));
    assert_eq!(host.written.last().unwrap()["type"], "user");
    assert_eq!(host.machine.phase(), Phase::Model);
    host.says(&init());
    host.says(&result(&["m1"]));
    assert!(host.ended[&MessageId::new("m1")].is_ok());
}

#[test]
fn a_process_that_is_gone_needs_no_ticks() {
    let limits = Limits { idle: Some(Duration::from_secs(5)), ..Limits::default() };
    let mut host = Host::ready(MachineSettings { limits, ..MachineSettings::default() });
    host.pass(Duration::from_secs(6));
    assert_eq!(host.process, Process::Ending);
    host.exits(0);
    assert_eq!(host.machine.deadline(), None);
    host.pass(Duration::from_secs(3600));
}

#[test]
fn a_task_that_ends_before_the_handshake_does_not_keep_the_clock_busy() {
    let mut host = Host::new(MachineSettings { keep_process: false, ..MachineSettings::default() });
    host.send("m1", SendMode::Queue);
    host.started();
    for tasks in [json!([{"task_id": "t"}]), json!([])] {
        host.says(&json!({"type": "system", "subtype": "background_tasks_changed", "tasks": tasks}));
    }
    host.pass(Duration::from_secs(5));
    assert_eq!(host.process, Process::Running);
}

#[test]
fn the_cli_s_own_word_says_when_a_session_is_settled() {
    let state = |state: &str| json!({"type": "system", "subtype": "session_state_changed", "state": state});
    let tasks = |tasks: serde_json::Value| json!({"type": "system", "subtype": "background_tasks_changed", "tasks": tasks});
    let mut host = running(MachineSettings::default());
    host.says(&state("running"));
    host.says(&result(&["m1"]));
    let settling = host.command(|ticket| Command::Settle { ticket });
    assert!(!host.replies.contains_key(&settling), "it still works");
    host.says(&state("idle"));
    assert!(host.replies.contains_key(&settling));
    // Without its word, a task that has ended is waited for a moment longer: the CLI may begin a turn.
    host.says(&tasks(json!([{"task_id": "t"}])));
    host.says(&tasks(json!([])));
    let settling = host.command(|ticket| Command::Settle { ticket });
    assert!(!host.replies.contains_key(&settling));
    host.says(&state("idle"));
    assert!(host.replies.contains_key(&settling));
    // Nothing waits for a watcher.
    host.says(&tasks(json!([{"task_id": "w", "ambient": true}])));
    let settling = host.command(|ticket| Command::Settle { ticket });
    assert!(host.replies.contains_key(&settling));
}

#[test]
fn an_answer_after_a_long_wait_starts_the_time_limit_of_the_tool() {
    let limits = Limits { tool: Some(Duration::from_secs(5)), ..Limits::default() };
    let mut host = running(MachineSettings { limits, ..MachineSettings::default() });
    host.says(&json!({"type": "assistant", "message": {"id": "u", "content":
        [{"type": "tool_use", "id": "toolu", "name": "Bash", "input": {}}]}}));
    host.says(&json!({"type": "control_request", "request_id": "r1", "request":
        {"subtype": "can_use_tool", "tool_name": "Bash", "input": {}, "tool_use_id": "toolu"}}));
    assert_eq!(host.machine.phase(), Phase::Person);
    host.pass(Duration::from_secs(3600));
    let request = host.asked[0].clone();
    host.decides(&request, Decision::allow());
    assert_eq!(host.machine.phase(), Phase::Tool);
    let written = host.written.len();
    host.pass(Duration::from_secs(4));
    assert_eq!(host.written.len(), written, "no interrupt yet");
    host.pass(Duration::from_secs(2));
    assert_eq!(host.written.last().unwrap()["request"]["subtype"], "interrupt");
}

#[test]
fn a_turn_ended_by_force_names_the_limit() {
    let limits = Limits { model: Some(Duration::from_secs(5)), ..Limits::default() };
    let mut host = running(MachineSettings { limits, ..MachineSettings::default() });
    host.pass(Duration::from_secs(30));
    assert_eq!(host.process, Process::Ending);
    host.exits(0);
    let ended = &host.ended[&MessageId::new("m1")];
    let Err(SessionError::TimedOut { phase: Phase::Model, stderr, .. }) = ended else { panic!("{ended:?}") };
    assert_eq!(stderr, "last words");
}

#[test]
fn a_turn_ended_by_a_stop_says_so() {
    let mut host = running(MachineSettings::default());
    host.command(|ticket| Command::Stop { ticket });
    host.pass(Duration::from_secs(30));
    host.exits(0);
    assert!(matches!(host.ended[&MessageId::new("m1")], Err(SessionError::Stopped)));
    assert!(host.machine.is_over());
}

#[test]
fn a_kill_does_not_wait_for_the_turn_or_for_a_stop() {
    for is_stopping in [false, true] {
        let mut host = running(MachineSettings::default());
        if is_stopping {
            host.command(|ticket| Command::Stop { ticket });
            assert_ne!(host.process, Process::Ending, "the turn is interrupted first");
        }
        host.command(|ticket| Command::Kill { ticket });
        assert_eq!(host.process, Process::Ending);
        assert!(host.machine.is_killing());
        host.exits(0);
        assert!(matches!(host.ended[&MessageId::new("m1")], Err(SessionError::Stopped)));
        assert!(host.machine.is_over());
    }
}

#[test]
fn an_interrupted_turn_whose_process_dies_counts_as_interrupted() {
    let mut host = running(MachineSettings::default());
    host.command(|ticket| Command::Interrupt { ticket, only: None });
    host.exits(0);
    assert!(matches!(host.ended[&MessageId::new("m1")], Err(SessionError::Interrupted)));
}

#[test]
fn a_steered_message_overtakes_queued_ones_once_the_cli_names_messages() {
    let mut host = running(MachineSettings::default());
    host.send("m2", SendMode::Queue);
    host.send("m3", SendMode::Steer);
    let sent = |host: &Host| {
        let uuids = host.written.iter().filter_map(|line| line["uuid"].as_str().map(str::to_owned));
        uuids.collect::<Vec<_>>()
    };
    assert_eq!(sent(&host), ["m1"], "it is not known yet whether the CLI names messages");
    host.says(&json!({"type": "command_lifecycle", "command_uuid": "m1", "state": "started"}));
    assert_eq!(sent(&host), ["m1", "m3"]);
    host.says(&result(&["m1", "m3"]));
    assert_eq!(sent(&host), ["m1", "m3", "m2"]);
}

#[test]
fn a_refused_command_is_refused_once_and_changes_nothing() {
    let mut host = running(MachineSettings::default());
    let again = host.send("m1", SendMode::Queue);
    assert!(matches!(host.replies[&again], Err(SessionError::BadAnswer(_))));
    let cancel = host.command(|ticket| Command::Cancel { ticket, message: MessageId::new("m9") });
    assert!(matches!(host.replies[&cancel], Err(SessionError::NotCancellable)));
    host.says(&result(&["m1"]));
    let interrupt = host.command(|ticket| Command::Interrupt { ticket, only: None });
    assert!(matches!(host.replies[&interrupt], Ok(Reply::NothingRuns)));
    assert!(host.ended[&MessageId::new("m1")].is_ok());
}
