//! A stand-in for the CLI that does only what is measured.
//!
//! It answers the handshake, and each message says what to play: `ticks COUNT MICROSECONDS`, `messages COUNT
//! MICROSECONDS`, `large COUNT MICROSECONDS BYTES`, `stream WORKLOAD SIZE`, `line BYTES` or `nothing`.

use std::io::{BufRead as _, Write};
use std::time::Duration;

use anyhow::Context as _;
use rustix::time::{ClockId, clock_gettime};
use serde_json::{Value, json};

use crate::workload;

const SESSION: &str = "6492f1a6-8f20-4999-a476-fc84fb36debb";

/// Nanoseconds on a clock shared by all processes.
pub(crate) fn nanoseconds() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Plays the CLI on the standard streams.
pub(crate) fn play() -> anyhow::Result<()> {
    let _ = rustix::pipe::fcntl_setpipe_size(std::io::stdout(), 1 << 20);
    let mut stdout = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let line: Value = serde_json::from_str(&line?).context("a line is JSON")?;
        match line.pointer("/type").and_then(Value::as_str) {
            Some("control_request") => {
                let response =
                    json!({"subtype": "success", "request_id": line.pointer("/request_id"), "response": {}});
                say(&mut stdout, &json!({"type": "control_response", "response": response}))?;
            }
            Some("user") => turn(&mut stdout, &line)?,
            _ => {}
        }
    }
    Ok(())
}

fn say(out: &mut impl Write, line: &Value) -> std::io::Result<()> {
    let mut text = line.to_string();
    text.push('\n');
    out.write_all(text.as_bytes())?;
    out.flush()
}

fn turn(out: &mut impl Write, message: &Value) -> anyhow::Result<()> {
    let words = message.pointer("/message/content").and_then(Value::as_str).unwrap_or_default().to_owned();
    let words: Vec<&str> = words.split(' ').collect();
    say(
        out,
        &json!({"type": "system", "subtype": "init", "session_id": SESSION, "model": "m", "tools": []}),
    )?;
    match words.as_slice() {
        ["ticks", count, pause] => ticks(out, count.parse()?, Duration::from_micros(pause.parse()?))?,
        ["messages", count, pause] => messages(out, count.parse()?, Duration::from_micros(pause.parse()?))?,
        ["mixed", count, pause] => mixed(out, count.parse()?, Duration::from_micros(pause.parse()?))?,
        ["large", count, pause, bytes] => {
            large(out, count.parse()?, Duration::from_micros(pause.parse()?), bytes.parse()?)?;
        }
        ["stream", name, size] => {
            out.flush()?;
            workload::write(name.parse()?, size.parse()?)?;
        }
        ["line", bytes] => line(out, bytes.parse()?)?,
        _ => {}
    }
    let result = json!({"type": "result", "subtype": "success", "is_error": false, "result": "done", "num_turns": 1,
        "session_id": SESSION, "total_cost_usd": 0.0, "usage": {}, "modelUsage": {}, "permission_denials": [],
        "user_message_uuids": [message.pointer("/uuid")], "duration_ms": 1, "duration_api_ms": 1});
    say(out, &result)?;
    Ok(())
}

/// Pieces of text at a steady pace, each with the time at which it was written.
fn ticks(out: &mut impl Write, count: u64, pause: Duration) -> anyhow::Result<()> {
    streamed(out, "msg_1", count, pause)
}

/// The pattern of a working agent, repeated: nine pieces, the resulting message, and one message that arrives whole.
fn mixed(out: &mut impl Write, count: u64, pause: Duration) -> anyhow::Result<()> {
    for number in 0..count / 10 {
        streamed(out, &format!("msg_{number}_pieces"), 9, pause)?;
        pause_for(pause);
        whole(out, &format!("msg_{number}_whole"), &format!("{} ", nanoseconds()))?;
    }
    Ok(())
}

/// A message in this many pieces, and then as a whole.
fn streamed(out: &mut impl Write, id: &str, count: u64, pause: Duration) -> anyhow::Result<()> {
    let event = |event: Value| {
        json!({"type": "stream_event", "event": event, "session_id": SESSION, "parent_tool_use_id": null,
            "uuid": "1af470ea-792e-428b-ad6e-ddaa4e85b0d6"})
    };
    let message = json!({"id": id, "type": "message", "role": "assistant", "content": [], "model": "m"});
    say(out, &event(json!({"type": "message_start", "message": message})))?;
    let block = json!({"type": "text", "text": ""});
    say(out, &event(json!({"type": "content_block_start", "index": 0, "content_block": block})))?;
    let mut whole = String::new();
    for _ in 0..count {
        if !pause.is_zero() {
            pause_for(pause);
        }
        let text = format!("{} ", nanoseconds());
        whole.push_str(&text);
        let delta = json!({"type": "text_delta", "text": text});
        say(out, &event(json!({"type": "content_block_delta", "index": 0, "delta": delta})))?;
    }
    // As the CLI does; without it the pieces would be withdrawn at the end of the turn.
    self::whole(out, id, &whole)
}

fn whole(out: &mut impl Write, id: &str, text: &str) -> anyhow::Result<()> {
    let message = json!({"id": id, "type": "message", "role": "assistant", "model": "m",
        "content": [{"type": "text", "text": text}]});
    say(out, &json!({"type": "assistant", "message": message, "session_id": SESSION}))?;
    Ok(())
}

/// Whole messages at a steady pace, each with the time at which it was written.
fn messages(out: &mut impl Write, count: u64, pause: Duration) -> anyhow::Result<()> {
    large(out, count, pause, 0)
}

/// The same with this many extra bytes in each.
fn large(out: &mut impl Write, count: u64, pause: Duration, bytes: usize) -> anyhow::Result<()> {
    let more = "x".repeat(bytes);
    for number in 0..count {
        if !pause.is_zero() {
            pause_for(pause);
        }
        whole(out, &format!("msg_{number}"), &format!("{} {more}", nanoseconds()))?;
    }
    Ok(())
}

#[expect(clippy::disallowed_methods, reason = "a steady pace is needed here")]
fn pause_for(pause: Duration) {
    std::thread::sleep(pause);
}

/// One line of this many bytes: a tool result.
fn line(out: &mut impl Write, bytes: usize) -> anyhow::Result<()> {
    let block = json!({"type": "tool_result", "tool_use_id": "toolu_1", "content": "x".repeat(bytes)});
    say(
        out,
        &json!({"type": "user", "message": {"role": "user", "content": [block]}, "session_id": SESSION}),
    )?;
    Ok(())
}
