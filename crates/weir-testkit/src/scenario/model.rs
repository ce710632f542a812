//! The data model of a scenario.

use crate::json::Json;

/// The smallest possible picture: one transparent pixel.
pub const PICTURE: &[u8] = b"\x89PNG\x0d\x0a\x1a\x0a\x00\x00\x00\x0dIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x06\x00\x00\x00\x1f\x15\xc4\x89\x00\x00\x00\x0dIDATx\xdacd\xf8\xcfP\x0f\x00\x03\x86\x01\x80Z4}k\x00\x00\x00\x00IEND\xaeB`\x82";

/// What a host does, and with what. `{{CWD}}` in texts and flags is the working directory; `{{SESSION}}` is the id of
/// the previous process's session.
#[derive(Debug, Clone, PartialEq)]
pub struct Scenario {
    /// Its name.
    pub name: &'static str,
    /// What it demonstrates.
    pub about: &'static str,
    /// Files in the working directory.
    pub files: Vec<(&'static str, &'static str)>,
    /// The processes, one after the other in the same place.
    pub processes: Vec<Process>,
    /// Lines that the outline must have, with `*` for any text: without them the scenario proves nothing.
    pub shows: Vec<&'static str>,
    /// The HTTP statuses that the API returns to a real CLI, in order, if that matters. Zero: no response.
    pub statuses: Option<&'static [u16]>,
}

/// One process of the CLI.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Process {
    /// Flags in addition to the usual ones.
    pub flags: Vec<String>,
    /// Environment variables in addition to the usual ones.
    pub environment: Vec<(&'static str, &'static str)>,
    /// Whether there is no user to ask: then the CLI is not told to ask.
    pub unattended: bool,
    /// Whether the usual flags are left out.
    pub bare: bool,
    /// Hooks registered by the host.
    pub hooks: Vec<Hook>,
    /// The name of the MCP server in the host, with the tools `add` and `wait`, which never returns.
    pub mcp_server: Option<&'static str>,
    /// How requests from the CLI are answered; the first matching rule applies. Requests without a rule are allowed.
    pub replies: Vec<ReplyRule>,
    /// What the host does, in order. At the end the input is closed and the process has to exit.
    pub actions: Vec<Action>,
}

/// A hook registered by the host.
#[derive(Debug, Clone, PartialEq)]
pub struct Hook {
    /// The event, such as `PreToolUse`.
    pub event: &'static str,
    /// Matching tools; `None` for all.
    pub matcher: Option<&'static str>,
    /// Its output.
    pub output: Json,
}

/// How requests for a tool are answered.
#[derive(Debug, Clone, PartialEq)]
pub struct ReplyRule {
    /// The tool.
    pub tool: &'static str,
    /// The answer.
    pub reply: Reply,
}

/// A decision about a request from the CLI.
#[derive(Debug, Clone, PartialEq)]
pub enum Reply {
    /// It is allowed.
    Allow,
    /// It is allowed with other arguments.
    AllowWith(Json),
    /// It is allowed from now on, by the first rule that the CLI suggests.
    AllowAlways,
    /// It is denied with this message.
    Deny(&'static str),
    /// It is denied, and the turn ends.
    DenyAndInterrupt(&'static str),
    /// A question gets these answers: question and label.
    Answer(Vec<(&'static str, &'static str)>),
    /// The request stays open.
    Hold,
}

/// An action of the host.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    /// Sends a message with an id chosen by the host.
    Send(String),
    /// Sends a message with pictures: the text and the number of pictures.
    SendPictures(String, usize),
    /// Sends a message and, in the same write, an interrupt with this id, so that it arrives before the turn begins.
    SendInterrupted(String, &'static str),
    /// Writes a line unchanged.
    Write(String),
    /// Sends a control request with this id.
    Request(&'static str, Json),
    /// Waits.
    Await(Condition),
    /// Answers the requests that were held.
    AnswerHeld(Reply),
    /// Closes the input and continues.
    CloseInput,
    /// SIGINT.
    InterruptSignal,
    /// SIGTERM.
    TerminateSignal,
}

/// Something to wait for. Counts are per process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Condition {
    /// This many results.
    Results(usize),
    /// This many pieces of text.
    Deltas(usize),
    /// This many calls of a tool, by the main agent or another.
    ToolCalls(&'static str, usize),
    /// This many requests for permission or questions.
    PermissionRequests(usize),
    /// This many calls of tools of the MCP server in the host.
    McpCalls(usize),
    /// The response to one of our control requests.
    Response(&'static str),
    /// This many lines of this type and subtype.
    Lines(&'static str, &'static str, usize),
    /// This many results if the CLI reports background tasks, or the second number if it does not.
    ResultsWithTasks(usize, usize),
    /// The file exists in the working directory.
    File(&'static str),
    /// The process has exited by itself.
    Exit,
}

impl Scenario {
    /// A scenario with one process.
    pub fn new(name: &'static str, about: &'static str, process: Process) -> Self {
        Self { name, about, files: Vec::new(), processes: vec![process], shows: Vec::new(), statuses: None }
    }

    /// Adds a file in the working directory.
    #[must_use]
    pub fn file(mut self, name: &'static str, content: &'static str) -> Self {
        self.files.push((name, content));
        self
    }

    /// Adds a line that the outline must have.
    #[must_use]
    pub fn shows(mut self, pattern: &'static str) -> Self {
        self.shows.push(pattern);
        self
    }

    /// Sets the statuses that the API returns to a real CLI.
    #[must_use]
    pub fn statuses(mut self, statuses: &'static [u16]) -> Self {
        self.statuses = Some(statuses);
        self
    }

    /// Adds one more process after the others.
    #[must_use]
    pub fn then(mut self, process: Process) -> Self {
        self.processes.push(process);
        self
    }
}

impl Process {
    /// A process with these actions.
    pub fn new(actions: impl IntoIterator<Item = Action>) -> Self {
        Self { actions: actions.into_iter().collect(), ..Self::default() }
    }

    /// A process that gets these messages, each after the result of the previous one.
    pub fn conversation(messages: impl IntoIterator<Item = String>) -> Self {
        let messages = messages.into_iter().enumerate();
        Self::new(messages.flat_map(|(place, message)| {
            [Action::Send(message), Action::Await(Condition::Results(place + 1))]
        }))
    }

    /// Adds flags.
    #[must_use]
    pub fn flags<'f>(mut self, flags: impl IntoIterator<Item = &'f str>) -> Self {
        self.flags.extend(flags.into_iter().map(str::to_owned));
        self
    }

    /// Adds an environment variable.
    #[must_use]
    pub fn variable(mut self, name: &'static str, value: &'static str) -> Self {
        self.environment.push((name, value));
        self
    }

    /// Adds a rule for decisions.
    #[must_use]
    pub fn reply(mut self, tool: &'static str, reply: Reply) -> Self {
        self.replies.push(ReplyRule { tool, reply });
        self
    }

    /// Adds a hook.
    #[must_use]
    pub fn hook(mut self, event: &'static str, matcher: Option<&'static str>, output: Json) -> Self {
        self.hooks.push(Hook { event, matcher, output });
        self
    }
}
