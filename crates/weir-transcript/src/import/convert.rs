//! Converts the lines of a transcript to the events of a live session.

use serde_json::{Value, json};
use weir_wire::{CliSessionId, MessageId, RawJson, ToolUseId};

use super::agents::Lanes;
use super::json::Object;
use super::record::{Record, text_at};
use super::shape::{
    is_irrelevant, is_irrelevant_system, is_queued_message, model_of, stream_line, without_tags,
};
use super::tags::{Said, TaskNotification};
use super::{ImportReport, ImportedBody, ImportedEvent, Transcript};
use crate::host::HostEvent;

/// Converts lines into events, one after the other.
pub(super) struct Converter<'s> {
    sink: &'s mut dyn FnMut(ImportedEvent),
    report: ImportReport,
    /// The current model, which the next `init` line reports.
    model: Option<String>,
    turn: Option<OpenTurn>,
    /// The CLI's total, as last written. The file does not say what each turn cost, so it is attributed to the
    /// last one.
    cost: Option<Value>,
}

/// A turn whose end has not been written yet.
#[derive(Default)]
struct OpenTurn {
    messages: Vec<String>,
    origin: Option<String>,
    started_at: Option<i64>,
    /// Whether the turn is complete after the last line.
    finished: bool,
    interrupted: bool,
    failed: bool,
    rounds: u64,
    last_message: Option<String>,
    answer: String,
    last_at: Option<i64>,
}

impl<'s> Converter<'s> {
    pub(super) fn run(transcript: &Transcript<'_>, sink: &'s mut dyn FnMut(ImportedEvent)) -> ImportReport {
        let lanes = Lanes::of(transcript);
        let report = ImportReport {
            lines: lanes.lines,
            skipped: lanes.skipped,
            skipped_branches: lanes.skipped_branches,
            unplaced_agents: lanes.unplaced,
            ..ImportReport::default()
        };
        let main = lanes.lanes.first().map(|lane| lane.records.as_slice()).unwrap_or_default();
        let model = main.iter().find_map(model_of);
        let mut converter = Self { sink, report, model, turn: None, cost: None };
        for (agent, record) in in_order(&lanes) {
            match agent {
                None => converter.main_line(record),
                Some(agent) => converter.agent_line(agent, record),
            }
        }
        let at = converter.turn.as_ref().and_then(|turn| turn.last_at);
        converter.end_turn();
        converter.send(at, ImportedBody::Host(HostEvent::RecordingEnded));
        converter.report
    }

    fn send(&mut self, at: Option<i64>, body: ImportedBody) {
        (self.sink)(ImportedEvent { at, body });
    }

    fn line(&mut self, at: Option<i64>, line: Vec<u8>) {
        self.send(at, ImportedBody::Line(line));
    }

    fn leave_out(&mut self, kind: &str) {
        *self.report.left_out.entry(kind.to_owned()).or_default() += 1;
    }

    fn unknown(&mut self, record: &Record<'_>) {
        self.report.unknown += 1;
        self.line(record.at, record.raw.to_vec());
    }

    fn agent_line(&mut self, agent: &ToolUseId, record: &Record<'_>) {
        if record.is_message() {
            self.report.messages += u64::from(record.kind == "assistant");
            self.line(record.at, stream_line(record, Some(agent)));
        } else if is_irrelevant(&record.kind) || record.kind == "system" {
            self.leave_out(&record.kind);
        } else {
            self.unknown(record);
        }
    }

    fn main_line(&mut self, record: &Record<'_>) {
        if self.report.session.is_none() {
            self.report.session = record.text("sessionId").map(CliSessionId::new);
        }
        match record.kind.as_str() {
            "user" => self.user(record),
            "assistant" => self.assistant(record),
            "system" => self.system(record),
            "summary" => self.title(record.text("summary"), record),
            "custom-title" => self.title(record.text("customTitle"), record),
            "ai-title" => self.title(record.text("aiTitle"), record),
            "cost-state" => self.cost = Some(record.json.to_value()),
            "attachment" if is_queued_message(record) => self.queued_message(record),
            kind if is_irrelevant(kind) => self.leave_out(kind),
            _ => self.unknown(record),
        }
        if let Some(turn) = self.turn.as_mut().filter(|_| record.is_message()) {
            turn.last_at = record.at.or(turn.last_at);
        }
    }

    fn title(&mut self, title: Option<String>, record: &Record<'_>) {
        match title {
            Some(title) => {
                self.line(record.at, Object::system("session_title_changed").text("title", &title).end());
            }
            None => self.unknown(record),
        }
    }

    fn user(&mut self, record: &Record<'_>) {
        if !record.results.is_empty() {
            if let Some(turn) = &mut self.turn {
                turn.finished = false;
            }
            return self.line(record.at, stream_line(record, None));
        }
        let text = record.said();
        let from_cli = record.is_true("isMeta") || record.is_true("isCompactSummary");
        match Said::of(&text) {
            Said::Interrupted => {
                self.line(record.at, stream_line(record, None));
                if let Some(turn) = &mut self.turn {
                    (turn.interrupted, turn.finished) = (true, true);
                }
            }
            Said::CommandOutput => {
                self.line(record.at, stream_line(record, None));
                if let Some(turn) = &mut self.turn {
                    turn.finished = true;
                }
            }
            Said::TaskNotification(task) => self.task_ended(&task, record),
            Said::Command(command) => self.message(record, command, (0, 0)),
            Said::Message if from_cli => self.line(record.at, stream_line(record, None)),
            Said::Message => self.message(record, text, record.attached()),
        }
    }

    /// A message from a person begins a new turn.
    fn message(&mut self, record: &Record<'_>, text: String, attached: (u32, u32)) {
        self.end_turn();
        self.report.messages += 1;
        let id = record.uuid.clone().unwrap_or_default();
        self.host_message(record.at, &id, text, attached);
        self.begin_turn(record, OpenTurn { messages: vec![id], ..OpenTurn::default() });
    }

    /// A message from a person while a turn is running.
    fn queued_message(&mut self, record: &Record<'_>) {
        let attachment = record.json.get("attachment").unwrap_or_default();
        let prompt = attachment.get("prompt").unwrap_or_default();
        let blocks = || prompt.elements().filter_map(|block| text_at(block, "text")).collect::<Vec<_>>();
        let text = prompt.as_text().map_or_else(|| blocks().join("\n"), |text| text.to_str().into_owned());
        let id = text_at(attachment, "source_uuid").or(record.uuid.clone()).unwrap_or_default();
        self.report.messages += 1;
        self.host_message(record.at, &id, text, (0, 0));
        match &mut self.turn {
            Some(turn) => turn.messages.push(id),
            None => self.begin_turn(record, OpenTurn { messages: vec![id], ..OpenTurn::default() }),
        }
    }

    fn host_message(&mut self, at: Option<i64>, id: &str, text: String, (images, documents): (u32, u32)) {
        let message = MessageId::new(id);
        let queued = HostEvent::MessageQueued { message: message.clone(), text, images, documents };
        self.send(at, ImportedBody::Host(queued));
        self.send(at, ImportedBody::Host(HostEvent::MessageSent { message }));
    }

    fn task_ended(&mut self, task: &TaskNotification<'_>, record: &Record<'_>) {
        self.end_turn();
        let line = Object::system("task_notification")
            .text("task_id", task.task)
            .text("status", task.status)
            .optional_text("tool_use_id", task.tool)
            .optional_text("summary", task.summary);
        self.line(record.at, line.end());
        let origin = record.json.get("origin").and_then(|origin| text_at(origin, "kind"));
        let origin = Some(origin.unwrap_or_else(|| "task-notification".to_owned()));
        self.begin_turn(record, OpenTurn { origin, ..OpenTurn::default() });
    }

    fn begin_turn(&mut self, record: &Record<'_>, turn: OpenTurn) {
        let init = Object::system("init")
            .optional_text("session_id", record.text("sessionId").as_deref())
            .optional_text("cwd", record.text("cwd").as_deref())
            .optional_text("claude_code_version", record.text("version").as_deref())
            .optional_text("permissionMode", record.text("permissionMode").as_deref())
            .optional_text("model", self.model.as_deref())
            .value("tools", &json!([]));
        self.line(record.at, init.end());
        self.turn = Some(OpenTurn { started_at: record.at, last_at: record.at, ..turn });
    }

    /// Writes the result of a turn, if it has ended.
    fn end_turn(&mut self) {
        let Some(turn) = self.turn.take().filter(|turn| turn.finished) else { return };
        let subtype = if turn.interrupted { "error_during_execution" } else { "success" };
        let elapsed = turn.started_at.zip(turn.last_at).map(|(start, end)| end.saturating_sub(start).max(0));
        let mut result = Object::with("result")
            .text("subtype", subtype)
            .value("is_error", &json!(turn.failed || turn.interrupted))
            .value("num_turns", &json!(turn.rounds))
            .text("result", &turn.answer)
            .value("user_message_uuids", &json!(turn.messages));
        if let Some(elapsed) = elapsed {
            result = result.value("duration_ms", &json!(elapsed));
        }
        if let Some(origin) = &turn.origin {
            result = result.value("origin", &json!({"kind": origin}));
        }
        if let Some(cost) = self.cost.take() {
            result = result
                .value("total_cost_usd", cost.get("totalCostUSD").unwrap_or(&Value::Null))
                .value("modelUsage", cost.get("modelUsage").unwrap_or(&Value::Null));
        }
        self.line(turn.last_at, result.end());
    }

    fn assistant(&mut self, record: &Record<'_>) {
        self.report.messages += 1;
        self.model = model_of(record).or(self.model.take());
        if self.turn.is_none() {
            self.begin_turn(record, OpenTurn::default());
        }
        self.line(record.at, stream_line(record, None));
        if let Some(turn) = &mut self.turn {
            turn.finished = record.calls.is_empty();
            turn.failed = record.is_true("isApiErrorMessage");
            if turn.last_message != record.message_id || record.message_id.is_none() {
                turn.rounds += 1;
                turn.last_message.clone_from(&record.message_id);
            }
            let said = record.said();
            if !said.is_empty() {
                turn.answer = said;
            }
        }
    }

    fn system(&mut self, record: &Record<'_>) {
        let subtype = record.text("subtype").unwrap_or_default();
        let line = match subtype.as_str() {
            "compact_boundary" => {
                let metadata = record.json.get("compactMetadata").unwrap_or_default();
                let inner = Object::new()
                    .optional_json("trigger", metadata.get("trigger"))
                    .optional_json("pre_tokens", metadata.get("preTokens"))
                    .optional_json("post_tokens", metadata.get("postTokens"))
                    .end();
                let inner = RawJson::parse(&inner).unwrap_or_default();
                Object::system("compact_boundary").json("compact_metadata", inner).end()
            }
            "api_error" => {
                let status = record.json.get("error").and_then(|error| error.get("status"));
                Object::system("api_retry")
                    .json("attempt", record.json.get("retryAttempt").unwrap_or_default())
                    .optional_json("max_retries", record.json.get("maxRetries"))
                    .optional_json("retry_delay_ms", record.json.get("retryInMs"))
                    .optional_json("error_status", status)
                    .end()
            }
            "local_command" => {
                let text = record.text("content").unwrap_or_default();
                match Said::of(&text) {
                    Said::Command(command) => return self.message(record, command, (0, 0)),
                    _ => Object::system("local_command_output").text("content", without_tags(&text)).end(),
                }
            }
            "informational" => Object::system("informational")
                .text("content", &record.text("content").unwrap_or_default())
                .optional_text("level", record.text("level").as_deref())
                .end(),
            subtype if is_irrelevant_system(subtype) => {
                return self.leave_out(&format!("system/{subtype}"));
            }
            _ => return self.unknown(record),
        };
        self.line(record.at, line);
    }
}

/// All lines in chronological order; within an agent, in the order of its file.
fn in_order<'l, 'a>(lanes: &'l Lanes<'a>) -> Vec<(Option<&'l ToolUseId>, &'l Record<'a>)> {
    let mut all = Vec::new();
    for lane in &lanes.lanes {
        let mut latest = i64::MIN;
        for record in &lane.records {
            latest = latest.max(record.at.unwrap_or(latest));
            all.push((latest, lane.agent.as_ref(), record));
        }
    }
    // The sort is stable: at equal times the main agent, which calls the others, comes first.
    all.sort_by_key(|(at, _, _)| *at);
    all.into_iter().map(|(_, agent, record)| (agent, record)).collect()
}
