//! Misbehaviour that happens once, before the reply: invalid lines, floods, crashes.

use std::process::{Command, Stdio};
use std::sync::Arc;

use crate::agent::Agent;
use crate::cancel::Stop;
use crate::host::AskError;
use crate::json::Json;
use crate::lines;
use crate::misbehave::{Misbehaviour, Point};
use crate::sim::Sim;
use crate::{array, object};

/// Ends the process immediately, if that was requested for this point.
pub(crate) fn crash(sim: &Sim, point: Point) {
    let crash = sim.misbehaviour(|misbehaviour| match misbehaviour {
        Misbehaviour::Crash { at, exit, signal } if *at == point => Some((*exit, signal.clone())),
        _ => None,
    });
    let Some((exit, signal)) = crash else { return };
    if let Some(signal) = signal {
        raise(&signal);
    }
    std::process::exit(exit.unwrap_or(1).into());
}

/// Sends a signal to the process itself.
fn raise(name: &str) {
    use rustix::process::{Signal, getpid, kill_process};
    let signal = match name.trim_start_matches("SIG") {
        "TERM" => Signal::TERM,
        "ABRT" => Signal::ABORT,
        "SEGV" => Signal::SEGV,
        "HUP" => Signal::HUP,
        _ => Signal::KILL,
    };
    // If it cannot be sent, the process ends normally.
    _ = kill_process(getpid(), signal);
}

/// Plays everything that happens once and has not happened yet.
pub(super) fn play(sim: &Arc<Sim>, agent: &Agent) -> Result<(), Stop> {
    while let Some(misdeed) = sim.take_misbehaviour(happens_once) {
        play_one(sim, agent, &misdeed)?;
    }
    Ok(())
}

fn happens_once(misbehaviour: &Misbehaviour) -> bool {
    use Misbehaviour as M;
    matches!(
        misbehaviour,
        M::HugeLine { .. }
            | M::SmallLines { .. }
            | M::Messages { .. }
            | M::StderrFlood { .. }
            | M::UnknownType
            | M::UnknownSubtype
            | M::UnknownBlock
            | M::ChangedType
            | M::BrokenJson
            | M::SandboxDebug
            | M::BlankLines
            | M::KeepAlive
            | M::RateLimit { .. }
            | M::UnknownControlRequest
            | M::CancelledRequest
            | M::Elicit(_)
            | M::Orphan { .. }
    )
}

fn play_one(sim: &Arc<Sim>, agent: &Agent, misdeed: &Misbehaviour) -> Result<(), Stop> {
    use Misbehaviour as M;
    let (out, ids) = (&sim.out, &agent.ids);
    match misdeed {
        M::HugeLine { bytes } => say(sim, agent, &"x".repeat(*bytes)),
        M::Messages { count } => {
            (1..=*count).for_each(|number| say(sim, agent, &format!("message {number}")));
        }
        M::SmallLines { bytes } => small_lines(sim, agent, *bytes),
        M::StderrFlood { bytes } => {
            let line = format!("{}\n", "debug noise on stderr ".repeat(46));
            (0..bytes.div_ceil(line.len())).for_each(|_| out.error(&line));
        }
        M::UnknownType => {
            out.line(&object! { "type" => "tomorrow", "news" => object! { "of" => "a release" }, "session_id" => sim.session_id(), "uuid" => ids.uuid() });
        }
        M::UnknownSubtype => {
            out.line(&lines::system(sim, ids, "tomorrow", object! { "news" => "of a release" }));
        }
        M::UnknownBlock => {
            let block = object! { "type" => "hologram", "shape" => "cube" };
            assistant(sim, agent, array![block]);
        }
        M::ChangedType => {
            out.line(&object! { "type" => "assistant", "message" => "once an object", "session_id" => sim.session_id() });
            out.line(
                &object! { "type" => "system", "subtype" => "status", "status" => 7, "session_id" => 8 },
            );
        }
        M::BrokenJson => {
            out.text_line(
                r#"{"type":"assistant","message":{"id":"msg_broken","content":[{"type":"text","te"#,
            );
        }
        M::SandboxDebug => out.text_line("[SandboxDebug] größte Datei übersprungen: ~/.cache/übrig"),
        M::BlankLines => {
            out.text_line("");
            out.text_line("   ");
        }
        M::KeepAlive => out.line(&object! { "type" => "keep_alive" }),
        M::RateLimit { seconds } => rate_limit(sim, agent, *seconds),
        M::UnknownControlRequest => unknown_request(sim, agent)?,
        M::CancelledRequest => cancelled_request(sim, agent),
        M::Elicit(members) => elicitation(sim, agent, members)?,
        M::Orphan { seconds } => orphan(sim, agent, *seconds),
        _ => {}
    }
    Ok(())
}

fn assistant(sim: &Sim, agent: &Agent, content: Json) {
    let message = object! {
        "id" => agent.ids.message(),
        "type" => "message",
        "role" => "assistant",
        "model" => sim.state().model.as_str(),
        "content" => content,
        "stop_reason" => Json::Null,
        "stop_sequence" => Json::Null,
        "usage" => object! { "input_tokens" => 0, "output_tokens" => 0 },
    };
    sim.out.line(&lines::assistant(sim, agent, message, &agent.ids.uuid(), object! {}));
}

fn say(sim: &Sim, agent: &Agent, text: &str) {
    assistant(sim, agent, array![object! { "type" => "text", "text" => text }]);
}

/// Writes many small lines, of a kind that a reader may skip.
fn small_lines(sim: &Sim, agent: &Agent, bytes: usize) {
    let line = lines::status(sim, &agent.ids, "status", object! { "status" => Json::Null });
    let count = bytes.div_ceil(line.to_string().len() + 1);
    (0..count).for_each(|_| sim.out.line(&line));
}

fn rate_limit(sim: &Sim, agent: &Agent, seconds: u64) {
    let resets = crate::clock::milliseconds() / 1000 + seconds;
    let info = object! { "status" => "rejected", "resetsAt" => resets, "rateLimitType" => "five_hour", "overageStatus" => "rejected", "isUsingOverage" => false };
    sim.out.line(&object! { "type" => "rate_limit_event", "rate_limit_info" => info, "uuid" => agent.ids.uuid(), "session_id" => sim.session_id() });
}

/// Sends the host an unknown request, and reports the response.
fn unknown_request(sim: &Sim, agent: &Agent) -> Result<(), Stop> {
    let request = object! { "subtype" => "tomorrow", "question" => "do you know this?" };
    let answer = match sim.host.ask(&sim.out, &agent.ids.uuid(), request, &agent.cancel) {
        Ok(answer) => format!("an answer: {answer}"),
        Err(AskError::Refused(error)) => format!("an error: {error}"),
        Err(AskError::Closed) => "nothing, it is gone".to_owned(),
        Err(AskError::Stopped(reason)) => return Err(reason),
    };
    say(sim, agent, &format!("To an unknown request the host gave {answer}"));
    Ok(())
}

/// Sends an elicitation for an MCP server, and reports the response.
fn elicitation(sim: &Sim, agent: &Agent, members: &Json) -> Result<(), Stop> {
    let mut request = object! { "subtype" => "elicitation" };
    for (name, value) in members.members() {
        request.set(name, value);
    }
    let answer = match sim.host.ask(&sim.out, &agent.ids.uuid(), request, &agent.cancel) {
        Ok(answer) => answer.to_string(),
        Err(AskError::Refused(_) | AskError::Closed) => object! { "action" => "cancel" }.to_string(),
        Err(AskError::Stopped(reason)) => return Err(reason),
    };
    say(sim, agent, &format!("The server got {answer}"));
    Ok(())
}

/// Requests a permission and withdraws the request immediately.
fn cancelled_request(sim: &Sim, agent: &Agent) {
    let (request_id, call) = (agent.ids.uuid(), agent.ids.tool_use());
    let input = object! { "command" => "rm -r important", "description" => "a request that is withdrawn" };
    let request = object! { "subtype" => "can_use_tool", "tool_name" => "Bash", "input" => input, "permission_suggestions" => array![], "tool_use_id" => call };
    sim.out.line(
        &object! { "type" => "control_request", "request_id" => request_id.as_str(), "request" => request },
    );
    sim.out.line(&object! { "type" => "control_cancel_request", "request_id" => request_id });
}

/// Leaves behind a process in its own session that ignores hang-ups.
#[expect(clippy::disallowed_methods, reason = "leaving an unreaped process is the point")]
fn orphan(sim: &Sim, agent: &Agent, seconds: u64) {
    let script =
        format!("trap '' HUP TERM; (trap '' HUP TERM; exec setsid sleep {seconds} >/dev/null) & echo $!");
    let started =
        Command::new("sh").arg("-c").arg(script).stdin(Stdio::null()).stderr(Stdio::null()).output();
    let pid =
        started.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned()).unwrap_or_default();
    say(sim, agent, &format!("left behind: {pid}"));
}
