//! A simulated CLI under test: its own place, a driver, and helpers for common actions.

use std::time::Duration;

use weir_simulator::json::{Json, parse};
use weir_simulator::object;
use weir_testkit::real::{Driver, Exit, Launch, Place, Received, Responder, Response};

/// How long anything may take before a test gives up.
pub(crate) const DEADLINE: Duration = Duration::from_secs(30);

/// How a CLI is started.
pub(crate) struct Start {
    arguments: Vec<String>,
    environment: Vec<(String, String)>,
    responder: Responder,
}

impl Start {
    /// With the flags for streaming, and these.
    pub(crate) fn new(flags: &[&str]) -> Self {
        let usual = ["-p", "--verbose", "--input-format", "stream-json", "--output-format", "stream-json"];
        Self::plain(&[usual.as_slice(), flags].concat())
    }

    /// With exactly these arguments.
    pub(crate) fn plain(arguments: &[&str]) -> Self {
        let arguments = arguments.iter().map(|word| (*word).to_owned()).collect();
        Self { arguments, environment: Vec::new(), responder: Box::new(allow) }
    }

    /// With a host that answers requests, and allows everything by default.
    pub(crate) fn asking(flags: &[&str]) -> Self {
        Self::new(&[["--permission-prompt-tool", "stdio"].as_slice(), flags].concat())
    }

    pub(crate) fn env(mut self, name: &str, value: &str) -> Self {
        self.environment.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(crate) fn old(self) -> Self {
        self.env("SIMULATED_CLAUDE_VERSION", "2.1.9")
    }

    pub(crate) fn misbehave(self, what: &str) -> Self {
        self.env("SIMULATED_CLAUDE_MISBEHAVE", what)
    }

    /// Answers requests from the CLI: gets the request, returns the body of the response.
    pub(crate) fn answer(mut self, mut answer: impl FnMut(&Json) -> Option<Json> + Send + 'static) -> Self {
        self.responder = Box::new(move |line| {
            let body = answer(line.get("request")?)?;
            Some(success(line, body))
        });
        self
    }

    pub(crate) fn responder(mut self, responder: Responder) -> Self {
        self.responder = responder;
        self
    }

    pub(crate) fn start(self) -> Running {
        self.start_in(Place::new().unwrap())
    }

    pub(crate) fn start_in(self, place: Place) -> Running {
        let mut environment = place.environment("http://127.0.0.1:1");
        environment.push(("SIMULATED_CLAUDE_SEED".into(), "7".into()));
        environment.extend(self.environment.into_iter().map(|(name, value)| (name.into(), value.into())));
        let launch = Launch {
            program: env!("CARGO_BIN_EXE_simulated-claude").into(),
            arguments: self.arguments,
            environment,
            directory: place.directory(),
        };
        let driver = Driver::start(&launch, self.responder).unwrap();
        Running { driver, place }
    }
}

/// The response to a request from the CLI.
pub(crate) fn success(line: &Json, body: Json) -> Response {
    let id = line.str_of("request_id").unwrap();
    Response {
        response: object! { "subtype" => "success", "request_id" => id, "response" => body },
        event: None,
    }
}

/// Allows everything, with unchanged arguments.
fn allow(line: &Json) -> Option<Response> {
    let input = line.at(&["request", "input"]).cloned().unwrap_or_else(|| object! {});
    Some(success(line, object! { "behavior" => "allow", "updatedInput" => input }))
}

/// A running CLI.
pub(crate) struct Running {
    pub(crate) driver: Driver,
    pub(crate) place: Place,
}

/// The output of a CLI that has exited.
pub(crate) struct Finished {
    pub(crate) lines: Vec<Json>,
    pub(crate) raw: Vec<Vec<u8>>,
    pub(crate) exit: Exit,
    pub(crate) place: Place,
}

impl Running {
    pub(crate) fn send(&self, line: &str) -> &Self {
        self.driver.send_raw(line).unwrap();
        self
    }

    /// Sends a message with a text.
    pub(crate) fn say(&self, text: &str) -> &Self {
        self.driver.send(&user(text)).unwrap();
        self
    }

    /// Sends a message with a text and an id.
    pub(crate) fn say_as(&self, text: &str, uuid: &str) -> &Self {
        self.driver.send(&user(text).with("uuid", uuid)).unwrap();
        self
    }

    /// Sends a message with a script.
    pub(crate) fn script(&self, steps: &str) -> &Self {
        self.say(&format!("@@{steps}"))
    }

    /// Sends a control request and waits for its response.
    pub(crate) fn request(&self, id: &str, request: Json) -> Json {
        self.post(id, request);
        self.response(id)
    }

    pub(crate) fn post(&self, id: &str, request: Json) -> &Self {
        self.driver
            .send(&object! { "type" => "control_request", "request_id" => id, "request" => request })
            .unwrap();
        self
    }

    pub(crate) fn response(&self, id: &str) -> Json {
        let found = self.driver.wait_for(&format!("the answer to {id}"), DEADLINE, |lines| {
            let mut responses = lines.iter().filter_map(|line| line.json.get("response"));
            responses.find(|response| response.str_of("request_id") == Some(id)).cloned()
        });
        found.unwrap()
    }

    pub(crate) fn interrupt(&self) -> Json {
        self.request("interrupt-1", object! { "subtype" => "interrupt" })
    }

    /// Waits for this many lines and returns the last one.
    pub(crate) fn wait(&self, kind: &str, subtype: Option<&str>, count: usize) -> Json {
        self.driver.wait_for_lines(kind, subtype, count, DEADLINE).unwrap()
    }

    /// Waits for this many results and returns the last one.
    pub(crate) fn result(&self, count: usize) -> Json {
        self.wait("result", None, count)
    }

    /// Waits for a streamed piece of text.
    pub(crate) fn wait_for_delta(&self) -> &Self {
        let delta = |line: &Received| line.json.at(&["event", "delta", "text"]).is_some();
        self.driver
            .wait_for("a piece of text", DEADLINE, |lines| lines.iter().any(delta).then_some(()))
            .unwrap();
        self
    }

    /// Closes the input and waits for the exit.
    pub(crate) fn end(self) -> Finished {
        self.driver.close_input();
        self.exited()
    }

    /// Waits for the exit.
    pub(crate) fn exited(self) -> Finished {
        let exit = self.driver.wait_for_exit(DEADLINE).unwrap();
        let received = self.driver.lines();
        let lines = received.iter().map(|line| line.json.clone()).collect();
        Finished {
            lines,
            raw: received.into_iter().map(|line| line.bytes).collect(),
            exit,
            place: self.place,
        }
    }

    pub(crate) fn file(&self, name: &str) -> String {
        std::fs::read_to_string(self.place.directory().join(name)).unwrap()
    }
}

impl Finished {
    /// The lines of a type, and subtype if one is given.
    pub(crate) fn of(&self, kind: &str, subtype: Option<&str>) -> Vec<&Json> {
        let fits = |line: &&Json| {
            line.str_of("type") == Some(kind)
                && subtype.is_none_or(|wanted| line.str_of("subtype") == Some(wanted))
        };
        self.lines.iter().filter(fits).collect()
    }

    pub(crate) fn results(&self) -> Vec<&Json> {
        self.of("result", None)
    }

    /// The text of each result.
    pub(crate) fn answers(&self) -> Vec<&str> {
        self.results().iter().map(|result| result.str_of("result").unwrap_or("-")).collect()
    }

    /// All texts of `assistant` lines.
    pub(crate) fn texts(&self) -> Vec<&str> {
        let blocks = self
            .of("assistant", None)
            .into_iter()
            .filter_map(|line| line.get("message"))
            .flat_map(|message| message.items_of("content"));
        blocks.filter_map(|block| block.str_of("text")).collect()
    }

    /// All tool results: the block and the structured form.
    pub(crate) fn tool_results(&self) -> Vec<(&Json, Option<&Json>)> {
        let lines = self.of("user", None).into_iter();
        let pairs = lines.flat_map(|line| {
            let blocks = line.get("message").map(|message| message.items_of("content")).unwrap_or_default();
            blocks.iter().map(move |block| (block, line.get("tool_use_result")))
        });
        pairs.filter(|(block, _)| block.str_of("type") == Some("tool_result")).collect()
    }

    /// The output of each tool, as text.
    pub(crate) fn outputs(&self) -> Vec<&str> {
        self.tool_results().iter().filter_map(|(block, _)| block.str_of("content")).collect()
    }
}

/// A user message.
pub(crate) fn user(text: &str) -> Json {
    object! {
        "type" => "user",
        "message" => object! { "role" => "user", "content" => text },
        "session_id" => "default",
        "parent_tool_use_id" => Json::Null,
    }
}

/// Parses JSON written in a test.
pub(crate) fn json(text: &str) -> Json {
    parse(text).unwrap()
}

/// Whether a process is alive, and not just waiting to be reaped.
pub(crate) fn is_alive(pid: i32) -> bool {
    let Ok(text) = std::fs::read_to_string(format!("/proc/{pid}/stat")) else { return false };
    !text.rsplit(')').next().unwrap_or_default().trim_start().starts_with('Z')
}

/// Waits until a condition holds.
pub(crate) fn until(what: &str, mut condition: impl FnMut() -> bool) {
    let end = std::time::Instant::now() + DEADLINE;
    while !condition() {
        assert!(std::time::Instant::now() < end, "{what} did not happen");
        std::thread::yield_now();
    }
}
