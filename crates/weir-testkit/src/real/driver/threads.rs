//! The threads that read the output, the errors and the exit of a process, and the function that writes to it.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin};
use std::sync::{Mutex, PoisonError};

use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};

use super::state::Shared;
use super::{Happening, Received, Responder};

pub(super) fn write_line(input: &Mutex<Option<ChildStdin>>, line: &str) -> io::Result<()> {
    let mut input = input.lock().unwrap_or_else(PoisonError::into_inner);
    let input = input.as_mut().ok_or(io::ErrorKind::BrokenPipe)?;
    input.write_all(format!("{line}\n").as_bytes())?;
    input.flush()
}

pub(super) fn read_output(
    output: impl Read,
    mut responder: Responder,
    shared: &Shared,
    input: &Mutex<Option<ChildStdin>>,
) {
    let mut output = BufReader::with_capacity(64 << 10, output);
    loop {
        let mut bytes = Vec::new();
        if !matches!(output.read_until(b'\n', &mut bytes), Ok(count) if count > 0) {
            break;
        }
        if bytes.last() == Some(&b'\n') {
            bytes.pop();
        }
        let line = Received::new(bytes);
        let request = line.is("control_request", None).then(|| line.json.clone());
        shared.update(|state| {
            state.happenings.push(Happening::Line(line.bytes.clone()));
            state.lines.push(line);
        });
        if let Some(response) = request.as_ref().and_then(&mut responder) {
            shared.lock().happenings.extend(response.event.map(Happening::Host));
            let line = crate::object! { "type" => "control_response", "response" => response.response };
            let _it_has_ended = write_line(input, &line.to_string());
        }
    }
    shared.update(|state| state.output_ended = true);
}

pub(super) fn read_errors(mut errors: impl Read, shared: &Shared) {
    let mut text = Vec::new();
    let _cut_short = errors.read_to_end(&mut text);
    shared.update(|state| {
        state.stderr = String::from_utf8_lossy(&text).into_owned();
        state.stderr_ended = true;
    });
}

pub(super) fn wait_for_end(mut child: Child, process: Pid, shared: &Shared) {
    let ended = waitid(WaitId::Pid(process), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT);
    let status = ended.ok().flatten().map(|status| (status.exit_status(), status.terminating_signal()));
    shared.update(|state| state.exited = true);
    let _reaped = child.wait();
    shared.update(|state| state.status = Some(status.unwrap_or((None, None))));
}
