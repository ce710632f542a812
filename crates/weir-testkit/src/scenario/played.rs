//! The results of a scenario's processes, independent of the driver: folded, and written down without anything that
//! varies between runs.

use weir_transcript::{Fold, FoldOptions, HostEvent, View};
use weir_wire::Decoder;

use super::outline;
use crate::api::ScriptedApi;
use crate::json::Json;
use crate::real::{Exit, Happening, Received};
use crate::redact::Redactor;
use crate::{Leftover, Place};

/// Maximum length of a line in an outline, in characters.
const MAX_LINE: usize = 600;

/// The results of a scenario's processes so far.
#[derive(Debug)]
pub struct Played {
    fold: Fold,
    redactor: Redactor,
    exits: Vec<Exit>,
    lines: Vec<Vec<Received>>,
    session: String,
}

impl Played {
    /// Nothing yet, in this place and with this API.
    pub fn new(place: &Place, api: &ScriptedApi) -> Self {
        Self {
            fold: Fold::new(FoldOptions::default()),
            redactor: Redactor::for_place(place).replace(api.url().replace("http://", ""), "<api>"),
            exits: Vec::new(),
            lines: Vec::new(),
            session: String::new(),
        }
    }

    /// Adds what a process wrote and what was done with it, up to its end.
    pub fn process(&mut self, happenings: &[Happening]) {
        let mut decoder = Decoder::new();
        let mut lines = Vec::new();
        for happening in happenings {
            match happening {
                Happening::Line(bytes) => {
                    self.fold.line_changes(&decoder.decode(bytes));
                    lines.push(Received::new(bytes.clone()));
                }
                Happening::Host(event) => {
                    self.fold.host_changes(event);
                    if let HostEvent::ProcessExited { code, signal, stderr, .. } = event {
                        let stderr = stderr.clone();
                        self.exits.push(Exit { code: *code, signal: *signal, stderr });
                    }
                }
            }
        }
        for line in &lines {
            for id in task_ids(&line.json) {
                self.redactor.add(id, "<task>");
            }
            if let Some(session) = line.json.str_of("session_id").filter(|_| line.is("system", Some("init")))
            {
                self.session = session.to_owned();
            }
        }
        self.lines.push(lines);
    }

    /// The session id of the last process.
    pub fn session(&self) -> &str {
        &self.session
    }

    /// The view of the conversation.
    pub fn view(&self) -> &View {
        self.fold.view()
    }

    /// How each process ended.
    pub fn exits(&self) -> &[Exit] {
        &self.exits
    }

    /// Every line that the CLI wrote, by process.
    pub fn lines(&self) -> &[Vec<Received>] {
        &self.lines
    }

    /// The view and how the processes ended, one fact per line, without anything that varies between runs.
    pub fn outline(&mut self, leftovers: &[Leftover]) -> Vec<String> {
        let mut lines = outline(self.fold.view());
        for (number, exit) in self.exits.iter().enumerate() {
            let number = number + 1;
            lines.push(format!("process {number} ended: code {:?} signal {:?}", exit.code, exit.signal));
            lines.extend(exit.stderr.lines().map(|line| format!("process {number} stderr: {line}")));
        }
        if !leftovers.is_empty() {
            lines.push("processes were left behind".into());
        }
        self.redacted(&lines)
    }

    /// Lines without anything that varies between runs.
    pub fn redacted(&mut self, lines: &[String]) -> Vec<String> {
        // Truncated after the redaction: the lengths of paths and ids vary.
        lines.iter().map(|line| self.redactor.text(line).chars().take(MAX_LINE).collect()).collect()
    }
}

/// The CLI's random ids for tasks.
fn task_ids(line: &Json) -> Vec<String> {
    let result = line.get("tool_use_result");
    let of_result = ["agentId", "backgroundTaskId"].map(|key| result.and_then(|result| result.str_of(key)));
    let found = of_result.into_iter().chain([line.str_of("task_id")]);
    found.flatten().filter(|id| id.len() > 4).map(str::to_owned).collect()
}
