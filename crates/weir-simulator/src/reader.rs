//! The thread that reads standard input. It answers control requests whatever the engine is doing.

use std::io::{BufRead, BufReader, Read};
use std::sync::Arc;

use super::control;
use super::input::{self, Input};
use super::lines;
use super::misbehave::Misbehaviour;
use super::sim::Sim;
use crate::json::Json;

/// Reads lines until the end of the input.
pub(crate) fn run(sim: &Arc<Sim>, stdin: Box<dyn Read + Send>) {
    let ids = sim.ids.fork("reader");
    let mut stdin = BufReader::new(stdin);
    let mut line = Vec::new();
    loop {
        // A control request that arrives together with a message is answered before that message's turn begins.
        if !request_follows(stdin.buffer(), sim) {
            sim.queue.release();
        }
        line.clear();
        match stdin.read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => break,
            Ok(_) => {}
        }
        let text = String::from_utf8_lossy(&line);
        match input::read(text.trim_end_matches(['\n', '\r']), &sim.profile) {
            Input::Message(message) => {
                if let Some(uuid) = message.uuid.as_ref().filter(|_| sim.profile.coalesces()) {
                    sim.out.line(&lines::lifecycle(sim, &ids, uuid, "queued"));
                }
                sim.queue.hold(message);
            }
            Input::Request(request) => control::handle(sim, &ids, &request),
            Input::Response(response) => sim.host.answer(response.get("response").unwrap_or(&Json::Null)),
            Input::Ignored => {}
            Input::Fatal(message) => return sim.fail(&message),
        }
    }
    sim.queue.release();
    sim.host.close();
    if !sim.misbehaves(&Misbehaviour::IgnoreEof) && !sim.is_silent() {
        sim.queue.end_of_input();
    }
}

/// Whether the next line is already buffered and is a request.
fn request_follows(buffered: &[u8], sim: &Sim) -> bool {
    let Some(end) = buffered.iter().position(|byte| *byte == b'\n') else { return false };
    let line = String::from_utf8_lossy(buffered.get(..end).unwrap_or_default());
    matches!(input::read(line.trim_end_matches('\r'), &sim.profile), Input::Request(_))
}
