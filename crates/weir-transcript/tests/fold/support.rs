//! Shared by the tests: the recorded streams, and a text form of a view that a person can review.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use weir_transcript::{Change, Entry, EntryBody, Fold, FoldOptions, HostEvent, ToolDetail, TurnCause, View};
use weir_wire::{Decoder, Framer, ToolUseId};

/// Every recorded output: version, name and path, in order.
pub(crate) fn captures() -> Vec<(String, String, PathBuf)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/captures");
    let mut found = Vec::new();
    for version in std::fs::read_dir(root).unwrap() {
        let version = version.unwrap();
        for file in std::fs::read_dir(version.path()).unwrap() {
            let path = file.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if let Some(name) = name.strip_suffix(".out.ndjson") {
                found.push((version.file_name().to_string_lossy().into_owned(), name.to_owned(), path));
            }
        }
    }
    found.sort();
    found
}

/// Folds bytes in chunks of this size, and also returns the changes.
pub(crate) fn fold_bytes(bytes: &[u8], chunk: usize) -> (View, Vec<Change<'static>>) {
    let (mut framer, mut decoder) = (Framer::new(), Decoder::new());
    let mut fold = Fold::new(FoldOptions::default());
    let mut changes = Vec::new();
    for chunk in bytes.chunks(chunk.max(1)) {
        framer.push(chunk);
        while let Some(frame) = framer.next_frame() {
            changes.extend(fold.line_changes(&decoder.decode_frame(frame)));
        }
    }
    if let Some(frame) = framer.finish() {
        changes.extend(fold.line_changes(&decoder.decode_frame(frame)));
    }
    changes.extend(fold.host_changes(&HostEvent::RecordingEnded));
    (fold.into_view(), changes)
}

/// A session that a test writes line by line.
#[derive(Debug)]
pub(crate) struct TestSession {
    decoder: Decoder,
    pub(crate) fold: Fold,
    pub(crate) changes: Vec<Change<'static>>,
}

impl TestSession {
    pub(crate) fn new() -> Self {
        Self::with_options(FoldOptions::default())
    }

    pub(crate) fn with_options(options: FoldOptions) -> Self {
        Self { decoder: Decoder::new(), fold: Fold::new(options), changes: Vec::new() }
    }

    /// The CLI writes a line.
    pub(crate) fn line(&mut self, line: &str) -> &mut Self {
        let changes = self.fold.line_changes(&self.decoder.decode(line.as_bytes()));
        self.changes.extend(changes);
        self
    }

    /// The CLI writes a line, given as JSON.
    pub(crate) fn json(&mut self, line: &serde_json::Value) -> &mut Self {
        self.line(&line.to_string())
    }

    pub(crate) fn host(&mut self, event: &HostEvent) -> &mut Self {
        let changes = self.fold.host_changes(event);
        self.changes.extend(changes);
        self
    }

    pub(crate) fn init(&mut self) -> &mut Self {
        self.line(r#"{"type":"system","subtype":"init","session_id":"s1","model":"m","tools":[]}"#)
    }

    /// The main agent writes a complete text.
    pub(crate) fn says(&mut self, message: &str, text: &str) -> &mut Self {
        let block = serde_json::json!({"type": "text", "text": text});
        self.json(&serde_json::json!({"type": "assistant", "message": {"id": message, "content": [block]}}))
    }

    /// An agent (`None` for the main one) calls a tool.
    pub(crate) fn calls(
        &mut self,
        agent: Option<&str>,
        tool: &str,
        name: &str,
        input: &serde_json::Value,
    ) -> &mut Self {
        let block = serde_json::json!({"type": "tool_use", "id": tool, "name": name, "input": input});
        let message = serde_json::json!({"id": format!("msg_of_{tool}"), "content": [block]});
        self.json(&serde_json::json!({"type": "assistant", "message": message, "parent_tool_use_id": agent}))
    }

    /// A tool returns a result.
    pub(crate) fn returns(&mut self, agent: Option<&str>, tool: &str, output: &str) -> &mut Self {
        let block = serde_json::json!({"type": "tool_result", "tool_use_id": tool, "content": output});
        self.json(&serde_json::json!({"type": "user", "message": {"content": [block]}, "parent_tool_use_id": agent}))
    }

    /// A turn ends successfully.
    pub(crate) fn result(&mut self, text: &str) -> &mut Self {
        self.json(&serde_json::json!({"type": "result", "subtype": "success", "is_error": false, "num_turns": 1, "result": text}))
    }

    /// The host sends a message.
    pub(crate) fn sends(&mut self, id: &str, text: &str) -> &mut Self {
        self.host(&HostEvent::MessageQueued {
            message: id.into(),
            text: text.into(),
            images: 0,
            documents: 0,
        });
        self.host(&HostEvent::MessageSent { message: id.into() })
    }

    pub(crate) fn exits(&mut self, code: Option<i32>, signal: Option<i32>, stderr: &str) -> &mut Self {
        self.ends(code, signal, stderr, false)
    }

    /// The process ends, on request or not.
    pub(crate) fn ends(
        &mut self,
        code: Option<i32>,
        signal: Option<i32>,
        stderr: &str,
        wanted: bool,
    ) -> &mut Self {
        self.host(&HostEvent::ProcessExited { code, signal, stderr: stderr.into(), wanted })
    }

    /// The view. Checks each time that the changes so far lead to it.
    pub(crate) fn view(&self) -> &View {
        let mut built = View::default();
        for change in &self.changes {
            built.apply(change);
        }
        assert_eq!(&built, self.fold.view(), "the changes do not lead to the view");
        self.fold.view()
    }

    pub(crate) fn tool(&self, id: &str) -> &weir_transcript::ToolCall {
        self.view().tools().find(|(_, tool)| tool.id.as_str() == id).unwrap().1
    }

    /// All texts of an agent, in order.
    pub(crate) fn texts(&self, agent: Option<&str>) -> Vec<String> {
        let agent = agent.map(ToolUseId::from);
        let texts = self.view().entries_of(agent.as_ref()).filter_map(|entry| match &entry.body {
            EntryBody::Text(text) => Some(text.text.clone()),
            _ => None,
        });
        texts.collect()
    }
}

/// A view as text: the entries of each agent, then the rest.
pub(crate) fn outline(view: &View) -> String {
    let mut out = String::new();
    let session = &view.session;
    let words = |text: &Option<String>| text.clone().unwrap_or_else(|| "?".into());
    writeln!(
        out,
        "session {} model {} version {} key {} mode {}{}",
        session.id.as_ref().map_or("?", |id| if id.as_str().len() == 36 { "<uuid>" } else { id.as_str() }),
        words(&session.model),
        words(&session.version),
        words(&session.api_key_source),
        words(&session.permission_mode),
        if session.forked { " forked" } else { "" },
    )
    .unwrap();
    writeln!(out, "status {:?}", view.status).unwrap();
    for turn in &view.turns {
        let cause = match &turn.cause {
            TurnCause::Message => format!("asked by {} message(s)", turn.messages.len()),
            TurnCause::Presumed => "presumably asked".into(),
            TurnCause::Unasked { origin } => format!("unasked ({})", words(origin)),
            other => format!("{other:?}"),
        };
        write!(out, "turn {} {:?}, {cause}, cost {:?}", turn.id, turn.state, turn.cost_usd).unwrap();
        if let Some(result) = &turn.result {
            write!(out, ", {} is_error={}", result.subtype, result.is_error).unwrap();
            if let Some(reason) = &result.terminal_reason {
                write!(out, " {reason}").unwrap();
            }
            write!(out, ", text {}", short(result.text.as_deref().unwrap_or("-"))).unwrap();
            for error in &result.errors {
                write!(out, ", error {}", short(error)).unwrap();
            }
            for denial in &result.denials {
                write!(out, ", denied {}", denial.tool_name).unwrap();
            }
        }
        writeln!(out).unwrap();
    }
    entries(&mut out, view, None, 0);
    for agent in view.agents.iter().filter(|agent| !view.tools().any(|(_, tool)| tool.id == agent.id)) {
        writeln!(out, "agent of an unseen call:").unwrap();
        agent_lines(&mut out, view, &agent.id, 1);
    }
    for request in &view.requests {
        writeln!(out, "request for {:?}: {} {:?}", request.tool, kind_name(&request.kind), request.state)
            .unwrap();
    }
    for list in &view.todos {
        let items = list.items.iter().map(|item| format!("[{}] {}", item.status, item.text));
        writeln!(out, "todos of {:?}: {}", list.agent, items.collect::<Vec<_>>().join(" / ")).unwrap();
    }
    for file in &view.files {
        writeln!(out, "file {:?} +{} -{} exact={}", file.kind, file.added, file.removed, file.exact).unwrap();
        for line in file.diff.lines() {
            writeln!(out, "    {line}").unwrap();
        }
    }
    for task in &view.tasks {
        writeln!(out, "task {task:?}").unwrap();
    }
    writeln!(
        out,
        "cost {:?} reported {:?} resets {}",
        view.cost.usd, view.cost.reported_usd, view.cost.resets
    )
    .unwrap();
    for model in &view.cost.models {
        writeln!(
            out,
            "  {} in {} out {} usd {}",
            model.model, model.input_tokens, model.output_tokens, model.usd
        )
        .unwrap();
    }
    if view.oddities != weir_transcript::Oddities::default() {
        writeln!(out, "{:?}", view.oddities).unwrap();
    }
    out
}

fn entries(out: &mut String, view: &View, agent: Option<&ToolUseId>, depth: usize) {
    for entry in view.entries_of(agent) {
        write!(out, "{}{:>3} ", "    ".repeat(depth), entry.id.0).unwrap();
        writeln!(out, "{}", describe(entry)).unwrap();
        if let EntryBody::Tool(tool) = &entry.body
            && view.agent(&tool.id).is_some()
        {
            agent_lines(out, view, &tool.id, depth + 1);
        }
    }
}

fn agent_lines(out: &mut String, view: &View, id: &ToolUseId, depth: usize) {
    let agent = view.agent(id).unwrap();
    let background = if agent.background { " background" } else { "" };
    writeln!(
        out,
        "{}agent {} {:?}{background} {:?} summary {:?}",
        "    ".repeat(depth),
        short(&agent.description),
        agent.agent_type,
        agent.state,
        agent.summary,
    )
    .unwrap();
    entries(out, view, Some(id), depth);
}

fn describe(entry: &Entry) -> String {
    let turn = entry.turn.map_or("-".to_owned(), |turn| turn.to_string());
    let what = match &entry.body {
        EntryBody::User(user) => format!("user {:?} {:?} {}", user.source, user.delivery, short(&user.text)),
        EntryBody::Text(text) => {
            let error = text.error.as_ref().map(|error| format!(" {error:?}")).unwrap_or_default();
            let code =
                if text.code.is_empty() { String::new() } else { format!(" code {}", text.code.len()) };
            format!("text {:?} {}{code}{error}", text.state, short(&text.text))
        }
        EntryBody::Thinking(thinking) => format!("thinking {:?} {}", thinking.state, short(&thinking.text)),
        EntryBody::Tool(tool) => {
            let output = tool.output.as_ref().map(|output| {
                let tail = output
                    .tail
                    .as_ref()
                    .map(|tail| format!(" … {} bytes of tail", tail.to_str().len()))
                    .unwrap_or_default();
                let images =
                    if output.images > 0 { format!(" images {}", output.images) } else { String::new() };
                format!("{}{tail}{images}", short(&output.text.to_str()))
            });
            let detail = match &tool.detail {
                ToolDetail::None => String::new(),
                detail => format!(" {}", short(&format!("{detail:?}"))),
            };
            let input = if tool.input_text.is_empty() {
                String::new()
            } else {
                format!(" input {}", short(&tool.input_text))
            };
            format!(
                "tool {} {} {:?}{input} -> {}{detail}",
                tool.name,
                short(&tool.title),
                tool.state,
                output.unwrap_or_else(|| "-".into())
            )
        }
        EntryBody::Hook(hook) => format!("hook {} {:?} {}", hook.name, hook.outcome, short(&hook.output)),
        EntryBody::Notice { notice } => format!("notice {}", short(&format!("{notice:?}"))),
        EntryBody::Unknown(unknown) => format!(
            "unknown {:?} {:?} {:?} {}",
            unknown.reason,
            unknown.type_name,
            unknown.detail,
            short(&unknown.raw)
        ),
        other => format!("{other:?}"),
    };
    format!("[{turn}] {what}")
}

fn kind_name(kind: &weir_transcript::RequestKind) -> String {
    match kind {
        weir_transcript::RequestKind::Permission(weir_transcript::PermissionRequest {
            tool_name,
            suggestions,
            ..
        }) => {
            format!("permission to use {tool_name}, {} suggestion(s)", suggestions.len())
        }
        weir_transcript::RequestKind::Question { questions, .. } => {
            format!("question {}", short(&questions.first().unwrap().question))
        }
        weir_transcript::RequestKind::Plan { plan, .. } => format!("plan {:?}", plan.as_deref().map(short)),
        weir_transcript::RequestKind::Elicitation { server, .. } => format!("elicitation of {server}"),
        other => format!("{other:?}"),
    }
}

/// The beginning of a text, on one line.
fn short(text: &str) -> String {
    let line = format!("{text:?}");
    match line.char_indices().nth(110) {
        Some((cut, _)) => format!("{}… ({} bytes)", &line[..cut], text.len()),
        None => line,
    }
}

/// All lines of the recordings, to pick from.
pub(crate) fn recorded_lines() -> &'static [Vec<u8>] {
    static LINES: LazyLock<Vec<Vec<u8>>> = LazyLock::new(read_lines);
    &LINES
}

fn read_lines() -> Vec<Vec<u8>> {
    let mut lines = Vec::new();
    for (_, _, path) in captures() {
        let bytes = std::fs::read(path).unwrap();
        lines.extend(
            bytes
                .split(|&byte| byte == b'\n')
                .filter(|line| !line.is_empty() && line.len() < 20_000)
                .map(<[u8]>::to_vec),
        );
    }
    lines
}

/// A host event, by number.
pub(crate) fn host_event(number: u8) -> HostEvent {
    let id = format!("m{}", number % 5);
    match number % 8 {
        0 => HostEvent::MessageQueued {
            message: id.as_str().into(),
            text: "x".into(),
            images: 0,
            documents: 0,
        },
        1 => HostEvent::MessageSent { message: id.as_str().into() },
        2 => HostEvent::MessageCancelled { message: id.as_str().into() },
        3 => HostEvent::Interrupted,
        4 => HostEvent::ProcessStarted { resumes: None },
        5 => HostEvent::ProcessExited { code: Some(1), signal: None, stderr: String::new(), wanted: false },
        6 => HostEvent::RecordingEnded,
        _ => HostEvent::Stderr { text: "x".into() },
    }
}
