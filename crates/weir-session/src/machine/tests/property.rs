//! Properties that hold whatever happens, in any order.

use std::time::Duration;

use proptest::prelude::*;
use serde_json::{Value, json};
use weir_wire::{HostRequest, MessageId, QuestionAnswers, RequestId};

use super::host::{Host, Process};
use crate::ask::Decision;
use crate::error::SessionError;
use crate::machine::{Command, Event, Greeting, Limits, MachineSettings, SendMode};

/// A possible event. Numbers choose among what exists.
#[derive(Debug, Clone)]
enum Step {
    Send(SendMode),
    SendAgain(usize),
    Cancel(usize),
    Interrupt,
    Request,
    Answer(usize, Decision),
    Start,
    Settle,
    Close,
    CloseIfIdle,
    Reconfigure(bool),
    Ending,
    Unwritten(usize),
    Fails,
    Stop,
    Started,
    StartFails,
    Exits(i32),
    Decided(usize, Decision),
    Pass(u64),
    Line(Spoken),
}

/// A line of the CLI.
#[derive(Debug, Clone)]
enum Spoken {
    Init,
    Text,
    Tool,
    Result { names: Vec<usize>, kind: usize },
    Response { which: usize, is_error: bool, cancelled: bool },
    Asks { which: usize, kind: usize },
    TakesBack(usize),
    Tasks(usize),
    Lifecycle { which: usize, state: usize },
    Status(usize),
    Odd(usize),
}

fn decisions() -> impl Strategy<Value = Decision> {
    prop_oneof![
        Just(Decision::allow()),
        Just(Decision::deny("no")),
        Just(Decision::LeaveOpen),
        Just(Decision::Value(json!({}))),
        Just(Decision::Answers(QuestionAnswers::new().choose("Which?", "A"))),
        Just(Decision::Error("cannot".into())),
    ]
}

fn modes() -> impl Strategy<Value = SendMode> {
    prop_oneof![Just(SendMode::Queue), Just(SendMode::Steer)]
}

fn spoken() -> impl Strategy<Value = Spoken> {
    prop_oneof![
        4 => Just(Spoken::Init),
        1 => Just(Spoken::Text),
        1 => Just(Spoken::Tool),
        5 => (prop::collection::vec(0..6usize, 0..3), 0..5usize)
            .prop_map(|(names, kind)| Spoken::Result { names, kind }),
        5 => (0..4usize, any::<bool>(), any::<bool>())
            .prop_map(|(which, is_error, cancelled)| Spoken::Response { which, is_error, cancelled }),
        3 => (0..4usize, 0..6usize).prop_map(|(which, kind)| Spoken::Asks { which, kind }),
        1 => (0..4usize).prop_map(Spoken::TakesBack),
        2 => (0..3usize).prop_map(Spoken::Tasks),
        2 => (0..6usize, 0..4usize).prop_map(|(which, state)| Spoken::Lifecycle { which, state }),
        1 => (0..2usize).prop_map(Spoken::Status),
        1 => (0..4usize).prop_map(Spoken::Odd),
    ]
}

fn steps() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => modes().prop_map(Step::Send),
        1 => (0..6usize).prop_map(Step::SendAgain),
        2 => (0..6usize).prop_map(Step::Cancel),
        2 => Just(Step::Interrupt),
        1 => Just(Step::Request),
        2 => (0..4usize, decisions()).prop_map(|(which, decision)| Step::Answer(which, decision)),
        1 => Just(Step::Start),
        1 => Just(Step::Settle),
        1 => Just(Step::Close),
        1 => Just(Step::CloseIfIdle),
        1 => any::<bool>().prop_map(Step::Reconfigure),
        2 => Just(Step::Ending),
        2 => (0..6usize).prop_map(Step::Unwritten),
        1 => prop::bool::weighted(0.3).prop_map(|fails| if fails { Step::Fails } else { Step::Ending }),
        1 => prop::bool::weighted(0.3).prop_map(|stops| if stops { Step::Stop } else { Step::Interrupt }),
        6 => Just(Step::Started),
        1 => Just(Step::StartFails),
        2 => (0..2i32).prop_map(Step::Exits),
        2 => (0..4usize, decisions()).prop_map(|(which, decision)| Step::Decided(which, decision)),
        2 => prop_oneof![Just(1u64), Just(5), Just(40)].prop_map(Step::Pass),
        20 => spoken().prop_map(Step::Line),
    ]
}

fn settings() -> impl Strategy<Value = MachineSettings> {
    let limit = prop_oneof![Just(None), Just(Some(Duration::from_secs(3)))];
    let limits =
        (limit.clone(), limit.clone(), limit.clone(), limit).prop_map(|(idle, turn, answer, person)| {
            Limits {
                starting: Some(Duration::from_secs(10)),
                model: Some(Duration::from_secs(20)),
                tool: Some(Duration::from_secs(30)),
                background: Some(Duration::from_secs(30)),
                person,
                turn,
                answer,
                idle,
                ..Limits::default()
            }
        });
    let cost = prop_oneof![2 => Just(None), 1 => Just(Some(0.3))];
    (any::<bool>(), limits, cost, any::<bool>()).prop_map(|(keep_process, limits, max_cost_usd, asks)| {
        let settings = MachineSettings::default();
        let greeting = if asks { settings.greeting.clone() } else { Greeting::None };
        MachineSettings { keep_process, limits, max_cost_usd, greeting, ..settings }
    })
}

/// Performs a step, if possible.
fn step(host: &mut Host, step: Step) {
    let is_there = matches!(host.process, Process::Running | Process::Ending);
    match step {
        Step::Send(mode) => {
            let id = format!("m{}", host.accepted.len());
            host.send(&id, mode);
        }
        Step::SendAgain(which) => {
            // Only while it waits: once an id has been answered, keeping ids unique is up to the caller.
            let id = MessageId::new(format!("m{which}"));
            if host.accepted.contains(&id) && !host.ended.contains_key(&id) {
                host.send(id.as_str(), SendMode::Queue);
            }
        }
        Step::Cancel(which) => {
            let message = MessageId::new(format!("m{which}"));
            host.command(|ticket| Command::Cancel { ticket, message });
        }
        Step::Interrupt => drop(host.command(|ticket| Command::Interrupt { ticket, only: None })),
        Step::Request => {
            let request = Box::new(HostRequest::McpStatus);
            host.command(|ticket| Command::Request { ticket, request });
        }
        Step::Answer(which, decision) => {
            let request = RequestId::new(format!("r{which}"));
            host.command(|ticket| Command::Answer { ticket, request, decision, by: None });
        }
        Step::Start => drop(host.command(|ticket| Command::Start { ticket })),
        Step::Settle => drop(host.command(|ticket| Command::Settle { ticket })),
        Step::Close => drop(host.command(|ticket| Command::Close { ticket })),
        Step::CloseIfIdle => drop(host.command(|ticket| Command::CloseIfIdle { ticket })),
        Step::Reconfigure(replace) => {
            let settings = Box::new(MachineSettings::default());
            host.handle(Event::Reconfigured { settings, replace: replace && is_there });
        }
        Step::Ending if host.process == Process::Running => host.begin_ending(),
        // Reported at the very end, for messages that were written and not answered.
        Step::Unwritten(which) if host.process == Process::Ending => {
            let id = MessageId::new(format!("m{which}"));
            if host.sent.contains(&id) && !host.ended.contains_key(&id) {
                host.unwritten(id.as_str());
            }
        }
        Step::Fails if is_there => host.handle(Event::Failed(SessionError::NotRunning)),
        Step::Stop => drop(host.command(|ticket| Command::Stop { ticket })),
        Step::Started if host.process == Process::Starting => host.started(),
        Step::StartFails if matches!(host.process, Process::Starting | Process::StartCancelled) => {
            host.start_fails();
        }
        Step::Exits(code) if is_there || host.process == Process::StartCancelled => host.exits(code),
        Step::Decided(which, decision) => {
            if let Some(request) = host.asked.get(which).cloned() {
                host.decides(&request, decision);
            }
        }
        // The driver does not handle timers while it ends a process.
        Step::Pass(seconds) if host.process != Process::Ending => host.pass(Duration::from_secs(seconds)),
        Step::Line(spoken) if is_there => {
            if let Some(line) = line(host, &spoken) {
                host.line(&line);
            }
        }
        Step::Started
        | Step::StartFails
        | Step::Exits(_)
        | Step::Pass(_)
        | Step::Line(_)
        | Step::Ending
        | Step::Unwritten(_)
        | Step::Fails => {}
    }
}

fn line(host: &Host, spoken: &Spoken) -> Option<String> {
    let value: Value = match spoken {
        Spoken::Init => json!({"type": "system", "subtype": "init", "session_id": "s", "model": "m",
            "tools": [], "mcp_servers": []}),
        Spoken::Text => json!({"type": "assistant", "message": {"id": "t", "content":
            [{"type": "text", "text": "words"}]}}),
        Spoken::Tool => json!({"type": "assistant", "message": {"id": "u", "content":
            [{"type": "tool_use", "id": "toolu", "name": "Bash", "input": {}}]}}),
        Spoken::Result { names, kind } => result(names, *kind),
        Spoken::Response { which, is_error, cancelled } => {
            let id = host.requests().into_iter().rev().nth(*which)?.to_owned();
            let subtype = if *is_error { "error" } else { "success" };
            json!({"type": "control_response", "response": {"subtype": subtype, "request_id": id,
                "response": {"cancelled": cancelled}, "error": "no"}})
        }
        Spoken::Asks { which, kind } => {
            let request = match kind {
                0 => json!({"subtype": "can_use_tool", "tool_name": "AskUserQuestion", "input": {"questions":
                    [{"question": "Which?", "header": "h", "multiSelect": false,
                        "options": [{"label": "A", "description": "a"}]}]}}),
                1 => json!({"subtype": "hook_callback", "callback_id": "c", "input": {}}),
                2 => json!({"subtype": "mcp_message", "server_name": "s", "message": {}}),
                3 => json!({"subtype": "elicitation", "mcp_server_name": "s", "message": "m"}),
                4 => json!({"subtype": "brand_new"}),
                _ => json!({"subtype": "can_use_tool", "tool_name": "Bash", "input": {}}),
            };
            json!({"type": "control_request", "request_id": format!("r{which}"), "request": request})
        }
        Spoken::TakesBack(which) => {
            json!({"type": "control_cancel_request", "request_id": format!("r{which}")})
        }
        Spoken::Tasks(count) => {
            let tasks: Vec<Value> = (0..*count).map(|id| json!({"task_id": id.to_string()})).collect();
            json!({"type": "system", "subtype": "background_tasks_changed", "tasks": tasks})
        }
        Spoken::Lifecycle { which, state } => {
            let state = ["queued", "started", "completed", "cancelled"].get(*state)?;
            json!({"type": "command_lifecycle", "command_uuid": format!("m{which}"), "state": state})
        }
        Spoken::Status(which) => {
            let status = if *which == 0 { json!("compacting") } else { Value::Null };
            json!({"type": "system", "subtype": "status", "status": status})
        }
        Spoken::Odd(which) => {
            let odd = ["{broken", "", "{\"type\":\"new\"}", "{\"type\":\"conversation_reset\"}"];
            return odd.get(*which).map(|odd| (*odd).to_owned());
        }
    };
    Some(value.to_string())
}

fn result(names: &[usize], kind: usize) -> Value {
    let mut line = json!({"type": "result", "subtype": "success", "is_error": false, "result": "words",
        "num_turns": 1, "session_id": "s", "total_cost_usd": 0.1});
    match kind {
        0 => line["is_error"] = json!(true),
        1 => line["subtype"] = json!("error_during_execution"),
        2 => {
            line["num_turns"] = json!(0);
            line["result"] = json!("");
        }
        3 => line["origin"] = json!({"kind": "task-notification"}),
        _ => {}
    }
    if !names.is_empty() {
        let names: Vec<String> = names.iter().map(|name| format!("m{name}")).collect();
        line["user_message_uuids"] = json!(names);
    }
    line
}

/// Ends everything, as a driver would.
fn finish(host: &mut Host) {
    host.command(|ticket| Command::Stop { ticket });
    match host.process {
        Process::None => {}
        Process::Starting => host.start_fails(),
        // The interrupt may not work; then the process is ended by force.
        Process::Running => {
            host.pass(Duration::from_secs(60));
            assert_eq!(host.process, Process::Ending, "a stop ends the process");
            host.exits(0);
        }
        Process::StartCancelled | Process::Ending => host.exits(0),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn every_caller_gets_one_reply_and_every_message_ends_once(
        settings in settings(),
        steps in prop::collection::vec(steps(), 0..60),
    ) {
        let mut host = Host::new(settings);
        for next in steps {
            if host.machine.is_over() {
                break;
            }
            step(&mut host, next);
        }
        if !host.machine.is_over() {
            finish(&mut host);
        }
        prop_assert!(host.machine.is_over());
        prop_assert_eq!(host.machine.deadline(), None);
        prop_assert_eq!(host.process, Process::None);
        for ticket in 1..=host.tickets() {
            prop_assert!(host.replies.contains_key(&crate::machine::Ticket(ticket)), "ticket {}", ticket);
        }
        for message in &host.accepted {
            prop_assert!(host.ended.contains_key(message), "{} has not ended", message.as_str());
        }
        prop_assert_eq!(host.ended.len(), host.accepted.len());
        // Late callers are told as well.
        let before = host.replies.len();
        host.send("late", SendMode::Queue);
        host.command(|ticket| Command::Start { ticket });
        host.command(|ticket| Command::Settle { ticket });
        host.command(|ticket| Command::Close { ticket });
        host.command(|ticket| Command::CloseIfIdle { ticket });
        host.command(|ticket| Command::Interrupt { ticket, only: None });
        host.command(|ticket| Command::Stop { ticket });
        prop_assert_eq!(host.replies.len(), before + 7);
    }
}
