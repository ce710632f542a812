//! A view as lines, one fact each, so that a difference is a line and a rule about it can be short.
//!
//! Version numbers, lists of tools and line numbers are omitted: they are not part of the conversation.

use weir_transcript::{
    BlockState, Entry, EntryBody, HookRun, Notice, Oddities, PermissionRequest, Request, RequestKind,
    ToolCall, ToolDetail, Turn, TurnCause, UserSource, View,
};
use weir_wire::{ToolUseId, sorted};

/// Maximum length of a text, in characters.
const MAX_TEXT: usize = 4000;

/// A view as lines.
pub fn outline(view: &View) -> Vec<String> {
    let mut out = Outline { view, lines: Vec::new() };
    out.session();
    view.turns.iter().for_each(|turn| out.turn(turn));
    out.entries(None, 0);
    for agent in view.agents.iter().filter(|agent| !view.tools().any(|(_, tool)| tool.id == agent.id)) {
        out.line(0, "agent of a call that was not seen");
        out.agent(&agent.id, 1);
    }
    view.requests.iter().for_each(|request| out.request(request));
    out.rest();
    out.lines
}

#[derive(Debug)]
struct Outline<'v> {
    view: &'v View,
    lines: Vec<String>,
}

impl Outline<'_> {
    fn line(&mut self, depth: usize, text: &str) {
        self.lines.push(format!("{}{text}", "    ".repeat(depth)));
    }

    fn session(&mut self) {
        let session = &self.view.session;
        let words = |text: &Option<String>| text.clone().unwrap_or_else(|| "?".into());
        self.lines.push(format!("model {}", words(&session.model)));
        self.lines.push(format!("permission mode {}", words(&session.permission_mode)));
        self.lines.push(format!("key {}", words(&session.api_key_source)));
        for server in &session.mcp_servers {
            self.lines.push(format!("mcp server {} {}", server.name, server.status));
        }
        if session.forked {
            self.lines.push("forked".into());
        }
        self.lines.push(format!("status {:?}", self.view.status));
    }

    fn turn(&mut self, turn: &Turn) {
        let name = format!("turn {}", turn.id);
        let cause = match &turn.cause {
            TurnCause::Message => format!("asked by {} message(s)", turn.messages.len()),
            TurnCause::Presumed => "presumably asked".into(),
            TurnCause::Unasked { origin } => format!("unasked ({})", origin.as_deref().unwrap_or("?")),
            other => format!("{other:?}"),
        };
        self.line(0, &format!("{name} {:?}, {cause}", turn.state));
        self.line(0, &format!("{name} cost {}", money(turn.cost_usd)));
        let Some(result) = &turn.result else { return };
        self.line(0, &format!("{name} result {} is_error={}", result.subtype, result.is_error));
        self.line(0, &format!("{name} text {}", short(result.text.as_deref().unwrap_or("-"))));
        for error in &result.errors {
            self.line(0, &format!("{name} error {}", short(error)));
        }
        let facts = [
            ("ended by", &result.terminal_reason),
            ("stop reason", &result.stop_reason),
            ("api error", &result.api_error_status.map(|status| status.to_string())),
            ("rounds", &result.num_turns.map(|turns| turns.to_string())),
        ];
        for (what, value) in facts {
            if let Some(value) = value {
                self.line(0, &format!("{name} {what} {value}"));
            }
        }
        if let Some(usage) = &result.usage {
            self.line(0, &format!("{name} tokens {} in, {} out", usage.input_tokens, usage.output_tokens));
        }
        for denial in &result.denials {
            self.line(
                0,
                &format!(
                    "{name} denied {} {}",
                    denial.tool_name,
                    short(&sorted(&denial.tool_input).to_string())
                ),
            );
        }
    }

    fn entries(&mut self, agent: Option<&ToolUseId>, depth: usize) {
        let view = self.view;
        for entry in view.entries_of(agent) {
            self.entry(entry, depth);
            if let EntryBody::Tool(tool) = &entry.body
                && view.agent(&tool.id).is_some()
            {
                self.agent(&tool.id, depth + 1);
            }
        }
    }

    fn entry(&mut self, entry: &Entry, depth: usize) {
        let turn = entry.turn.map_or("-".to_owned(), |turn| turn.to_string());
        let what = match &entry.body {
            EntryBody::User(user) => {
                // What we sent is in the scenario, and long.
                let text = if user.source == UserSource::Host { String::new() } else { short(&user.text) };
                let count = |kind: &str, count: u32| match count {
                    0 => String::new(),
                    count => format!(" {kind} {count}"),
                };
                let attached = count("images", user.images) + &count("documents", user.documents);
                format!("user {:?} {:?}{attached} {text}", user.source, user.delivery)
            }
            EntryBody::Text(text) => {
                let error = text.error.as_ref().map(|error| format!(" {error:?}")).unwrap_or_default();
                format!("text {:?} {}{error}", text.state, said(text.state, &text.text))
            }
            EntryBody::Thinking(thinking) => {
                format!("thinking {:?} {}", thinking.state, said(thinking.state, &thinking.text))
            }
            EntryBody::Tool(tool) => return self.tool(&turn, tool, depth),
            EntryBody::Hook(hook) => hook_line(hook),
            EntryBody::Notice { notice } => notice_line(notice),
            EntryBody::Unknown(unknown) => {
                format!("unknown {:?} {:?} {:?}", unknown.reason, unknown.type_name, unknown.detail)
            }
            other => format!("{other:?}"),
        };
        self.line(depth, &format!("[{turn}] {}", what.trim_end()));
    }

    fn tool(&mut self, turn: &str, tool: &ToolCall, depth: usize) {
        self.line(depth, &format!("[{turn}] tool {} {:?} {}", tool.name, tool.state, short(&tool.title)));
        if let Some(output) = &tool.output {
            let images = if output.images > 0 { format!(" images {}", output.images) } else { String::new() };
            self.line(depth, &format!("  output {}{images}", short(&output.text.to_str())));
            if output.tail.is_some() {
                self.line(depth, "  output is long");
            }
        }
        match &tool.detail {
            ToolDetail::None | ToolDetail::Agent | ToolDetail::Todos => {}
            ToolDetail::Command { stderr, interrupted, background_task, .. } => {
                let background = background_task.is_some();
                self.line(
                    depth,
                    &format!("  command stderr {stderr:?} interrupted={interrupted} background={background}"),
                );
            }
            detail => self.line(depth, &format!("  detail {}", short(&format!("{detail:?}")))),
        }
    }

    fn agent(&mut self, id: &ToolUseId, depth: usize) {
        let Some(agent) = self.view.agent(id) else { return };
        let background = if agent.background { " background" } else { "" };
        self.line(
            depth,
            &format!("agent {:?} {:?}{background} {:?}", agent.description, agent.agent_type, agent.state),
        );
        if let Some(summary) = &agent.summary {
            self.line(depth, &format!("  summary {}", short(summary)));
        }
        self.entries(Some(id), depth);
    }

    fn request(&mut self, request: &Request) {
        let kind = match &request.kind {
            RequestKind::Permission(PermissionRequest { tool_name, input, suggestions, .. }) => {
                format!(
                    "permission {tool_name} {} with {} suggestion(s)",
                    short(&sorted(input).to_string()),
                    suggestions.len()
                )
            }
            RequestKind::Question { questions, .. } => {
                let asked: Vec<&str> = questions.iter().map(|question| question.question.as_str()).collect();
                format!("question {asked:?}")
            }
            RequestKind::Plan { plan, .. } => format!("plan {plan:?}"),
            other => format!("{other:?}"),
        };
        self.line(0, &format!("request {kind}"));
        self.line(0, &format!("  state {:?}", request.state));
    }

    fn rest(&mut self) {
        let view = self.view;
        for list in &view.todos {
            for item in &list.items {
                self.line(0, &format!("to do [{}] {}", item.status, item.text));
            }
        }
        for file in &view.files {
            self.line(0, &format!("file {:?} {} +{} -{}", file.kind, file.path, file.added, file.removed));
            file.diff.lines().for_each(|line| self.lines.push(format!("  {line}")));
        }
        for task in &view.tasks {
            self.line(0, &format!("in the background {:?} {}", task.task_type, task.description));
        }
        let cost = &view.cost;
        self.line(
            0,
            &format!(
                "cost {}, reported {}, resets {}",
                money(cost.usd),
                money(cost.reported_usd),
                cost.resets
            ),
        );
        for model in &cost.models {
            let (read, written) = (model.input_tokens, model.output_tokens);
            self.line(0, &format!("  {} {read} in, {written} out, {}", model.model, money(Some(model.usd))));
        }
        if let Some(limit) = &view.rate_limit {
            self.line(0, &format!("rate limit {} {:?} {:?}", limit.status, limit.limit, limit.utilization));
        }
        if view.oddities != Oddities::default() {
            self.line(0, &format!("{:?}", view.oddities));
        }
    }
}

/// Where a text was cut off varies between runs.
fn said(state: BlockState, text: &str) -> String {
    match state {
        BlockState::Aborted => format!("{:?} and so on", text.split(' ').next().unwrap_or_default()),
        _ => short(text),
    }
}

fn hook_line(hook: &HookRun) -> String {
    format!(
        "hook {} {} {:?} {:?} {}",
        hook.event,
        hook.name,
        hook.outcome,
        hook.exit_code,
        short(&hook.output)
    )
}

fn notice_line(notice: &Notice) -> String {
    match notice {
        // The wait is partly random.
        Notice::ApiRetry { attempt, max_retries, status, error, .. } => {
            format!("notice retry {attempt} of {max_retries:?} status {status:?} error {error:?}")
        }
        Notice::RateLimit { status, limit, .. } => format!("notice rate limit {status} {limit:?}"),
        Notice::Compaction { trigger, .. } => format!("notice compaction {trigger:?}"),
        other => format!("notice {}", short(&format!("{other:?}"))),
    }
}

/// Dollars, without floating-point noise.
fn money(usd: Option<f64>) -> String {
    usd.map_or("unknown".into(), |usd| format!("{usd:.6}"))
}

/// The beginning of a text, on one line.
fn short(text: &str) -> String {
    let line = format!("{text:?}");
    match line.char_indices().nth(MAX_TEXT) {
        Some((cut, _)) => format!("{}…", line.get(..cut).unwrap_or_default()),
        None => line,
    }
}
