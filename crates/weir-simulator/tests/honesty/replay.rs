//! Sends a recorded input to the simulated CLI, with the recorded responses to its own requests.

use std::time::{Duration, Instant};

use rustix::process::Signal;
use weir_simulator::json::{Json, parse};
use weir_testkit::real::{Driver, DriverError, Exit, Launch, Place, Received};

use crate::compare::compare;
use crate::recording::Recording;
use crate::setup::{self, Moment};

const DEADLINE: Duration = Duration::from_secs(30);

/// Replays related recordings in one place.
pub(crate) fn chain(chain: &[Recording]) -> Vec<(String, Result<(), String>)> {
    let place = Place::new().unwrap();
    let mut session = None;
    let first = chain.first().unwrap();
    if first.name == "resume-max-budget" {
        let earlier = Recording {
            arguments: first.arguments.iter().take(6).cloned().collect(),
            input: vec![setup::EARLIER.to_owned()],
            name: "earlier".to_owned(),
            output: b"{\"type\":\"result\"}\n".to_vec(),
            ..first.clone()
        };
        let (lines, _) = replay(&earlier, &place, None).unwrap();
        session = session_of(&lines);
    }
    let mut outcomes = Vec::new();
    for recording in chain {
        let outcome = replay(recording, &place, session.as_deref());
        let outcome = outcome.map_err(|error| error.to_string()).and_then(|(lines, exit)| {
            if recording.name == "resume-cost-first" {
                session = session_of(&lines);
            }
            compare(recording, &lines, &exit, &place)
        });
        outcomes.push((recording.title(), outcome));
    }
    outcomes
}

fn session_of(lines: &[Received]) -> Option<String> {
    lines.iter().find_map(|line| line.json.str_of("session_id").map(str::to_owned))
}

fn launch(recording: &Recording, place: &Place, session: Option<&str>) -> Launch {
    let mut arguments = recording.arguments.clone();
    if let (Some(session), Some(flag)) = (session, arguments.iter().position(|word| word == "--resume")) {
        arguments[flag + 1] = session.to_owned();
    }
    let mut environment = place.environment("http://127.0.0.1:1");
    environment.push(("SIMULATED_CLAUDE_VERSION".into(), recording.version.clone().into()));
    environment.push(("SIMULATED_CLAUDE_SEED".into(), "1".into()));
    environment.extend(recording.environment.iter().map(|(name, value)| (name.into(), value.into())));
    Launch {
        program: env!("CARGO_BIN_EXE_simulated-claude").into(),
        arguments,
        environment,
        directory: place.directory(),
    }
}

fn count(lines: &[Received], kind: &str, subtype: &str) -> usize {
    let subtype = (!subtype.is_empty()).then_some(subtype);
    lines.iter().filter(|line| line.is(kind, subtype)).count()
}

fn replay(
    recording: &Recording,
    place: &Place,
    session: Option<&str>,
) -> Result<(Vec<Received>, Exit), DriverError> {
    setup::files(&recording.name, &place.directory());
    let results = setup::results_before_end(recording, recording.results());
    let driver = Driver::start(&launch(recording, place, session), Box::new(|_| None))?;
    let (mut messages, mut answers) = (0, 0);
    for (index, line) in recording.input.iter().enumerate() {
        // Paths in the recording are from another machine.
        let line = line.replace("/workspace/demo", place.directory().to_str().unwrap());
        let value = parse(&line).unwrap_or(Json::Null);
        let kind = value.str_of("type").unwrap_or_default().to_owned();
        if let Some(moment) = setup::moment(recording, index) {
            wait(&driver, moment)?;
        } else if kind != "control_response" && messages > 0 {
            wait(&driver, Moment::After("result", "", messages))?;
        }
        match kind.as_str() {
            "control_response" => {
                answers += 1;
                answer(&driver, value, answers)?;
                continue;
            }
            "control_request" => request(recording, &driver, place, value)?,
            _ => {
                messages += usize::from(kind == "user");
                // The process may have refused to continue, as it did in the recording.
                if driver.send_raw(&line).is_err() {
                    break;
                }
            }
        }
    }
    signals(recording, &driver, place)?;
    // If they do not come, the comparison reports it better than an error here.
    let _fewer = driver.wait_for("results", Duration::from_secs(12), |lines| {
        (count(lines, "result", "") >= results).then_some(())
    });
    driver.close_input();
    let mut exit = driver.wait_for_exit(DEADLINE)?;
    // The exit of the process may be seen before the last of its output.
    let patience = Instant::now() + Duration::from_secs(2);
    while !recording.stderr.is_empty() && exit.stderr.is_empty() && Instant::now() < patience {
        std::thread::yield_now();
        exit = driver.wait_for_exit(DEADLINE)?;
    }
    Ok((driver.lines(), exit))
}

fn wait(driver: &Driver, moment: Moment) -> Result<(), DriverError> {
    let deltas = |line: &&Received| {
        line.json.at(&["event", "delta", "type"]).and_then(Json::as_str) == Some("text_delta")
    };
    match moment {
        Moment::Immediately => Ok(()),
        Moment::After(kind, subtype, wanted) => {
            driver.wait_for(&format!("{wanted} of {kind} {subtype}"), DEADLINE, |lines| {
                (count(lines, kind, subtype) >= wanted).then_some(())
            })
        }
        Moment::AfterDeltas(wanted) => driver.wait_for("pieces", DEADLINE, |lines| {
            (lines.iter().filter(deltas).count() >= wanted).then_some(())
        }),
    }
}

/// Answers the request with this number as the recorded one was answered.
fn answer(driver: &Driver, mut value: Json, number: usize) -> Result<(), DriverError> {
    let request = driver.wait_for_lines("control_request", None, number, DEADLINE)?;
    if let Some(response) = value.get_mut("response") {
        response.set("request_id", request.str_of("request_id").unwrap());
    }
    driver.send(&value)
}

/// Sends a request and waits for its response, if there was one.
fn request(
    recording: &Recording,
    driver: &Driver,
    place: &Place,
    mut value: Json,
) -> Result<(), DriverError> {
    let id = value.str_of("request_id").unwrap().to_owned();
    if value.at(&["request", "subtype"]).and_then(Json::as_str) == Some("stop_task") && id == "stop-1" {
        let task = driver.wait_for_lines("system", Some("task_started"), 1, DEADLINE)?;
        value.get_mut("request").unwrap().set("task_id", task.str_of("task_id").unwrap());
    }
    if value.at(&["request", "subtype"]).and_then(Json::as_str) == Some("interrupt") {
        wait_for_command(driver, place);
    }
    driver.send(&value)?;
    let answered = String::from_utf8_lossy(&recording.output).contains(&format!("\"request_id\":\"{id}\""));
    if !answered || recording.name == "queue-steer" {
        return Ok(());
    }
    driver.wait_for(&format!("the answer to {id}"), DEADLINE, |lines| {
        let answers =
            |line: &Received| line.json.at(&["response", "request_id"]).and_then(Json::as_str) == Some(&id);
        lines.iter().any(answers).then_some(())
    })
}

fn signals(recording: &Recording, driver: &Driver, place: &Place) -> Result<(), DriverError> {
    let signal = match recording.name.as_str() {
        "sigint" => Signal::INT,
        "sigterm" => Signal::TERM,
        _ => return Ok(()),
    };
    wait(driver, Moment::After("assistant", "", 1))?;
    wait_for_command(driver, place);
    driver.signal(signal);
    Ok(())
}

/// The recorded lines were sent while the command ran, so if one was called, it must be running. It may ask first.
fn wait_for_command(driver: &Driver, place: &Place) {
    let is_last = |lines: &[Received], wanted: &str| {
        let last = lines.iter().rfind(|line| line.json.str_of("type") != Some("stream_event"));
        last.is_some_and(|line| line.json.to_string().contains(wanted))
    };
    let started = Instant::now();
    while started.elapsed() < DEADLINE {
        let calls = |lines: &[Received]| is_last(lines, "\"name\":\"Bash\"").then_some(());
        if driver.wait_for("a call", Duration::ZERO, calls).is_err() || is_command_running(place) {
            return;
        }
        std::thread::yield_now();
    }
}

/// Whether a command of the simulated CLI is running in this place.
fn is_command_running(place: &Place) -> bool {
    let home = format!("HOME={}", place.home().display()).into_bytes();
    let holds = |bytes: &[u8], part: &[u8]| bytes.windows(part.len()).any(|window| window == part);
    let processes = std::fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    processes.map(|entry| entry.path()).any(|process| {
        let is_ours = std::fs::read(process.join("environ")).is_ok_and(|environ| holds(&environ, &home));
        let program = std::fs::read_link(process.join("exe"));
        is_ours && program.is_ok_and(|program| !program.ends_with("simulated-claude"))
    })
}
