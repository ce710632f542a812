//! Plays a scenario with the small driver and folds the events.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use rustix::process::Signal;
use weir_transcript::{HostEvent, View};

use super::model::{Action, PICTURE, Process, Scenario};
use super::played::Played;
use super::reply;
use super::wait::{is_permission_request, wait, wait_for_response};
use crate::api::{ApiError, RecordedRequest, ScriptedApi};
use crate::json::Json;
use crate::object;
use crate::real::{Driver, DriverError, Exit, Launch, RealCli, Received, Version};
use crate::{Leftover, Place, end_leftovers};

/// How long anything may take. Generous: an old CLI on a busy machine needs ten seconds to start.
pub(super) const DEADLINE: Duration = Duration::from_secs(90);
/// The variable that tells the simulated CLI which version to imitate.
const SIMULATED_VERSION: &str = "SIMULATED_CLAUDE_VERSION";

/// The flags that every process gets.
pub const BASE_FLAGS: &[&str] =
    &["-p", "--verbose", "--input-format", "stream-json", "--output-format", "stream-json"];
/// The flags that make the CLI ask for permission.
pub const ASK_FLAGS: &[&str] = &["--permission-prompt-tool", "stdio"];
/// One model for all, so that costs can be compared.
pub const MODEL_FLAGS: &[&str] = &["--model", "claude-sonnet-4-5-20250929"];

/// A CLI to run scenarios on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cli {
    /// Its version, or the one it imitates.
    pub version: Version,
    /// Its executable.
    pub program: PathBuf,
    /// Whether it is the simulated one.
    pub simulated: bool,
}

impl Cli {
    /// The simulated CLI at this path, as this version.
    pub fn simulated(program: impl Into<PathBuf>, version: Version) -> Self {
        Self { version, program: program.into(), simulated: true }
    }
}

impl From<RealCli> for Cli {
    fn from(real: RealCli) -> Self {
        Self { version: real.version, program: real.program, simulated: false }
    }
}

impl std::fmt::Display for Cli {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", if self.simulated { "simulated" } else { "real" }, self.version)
    }
}

/// The results of a scenario.
#[derive(Debug)]
pub struct Outcome {
    /// The view of the conversation.
    pub view: View,
    /// The view and how the processes ended, one fact per line, without anything that varies between runs.
    pub outline: Vec<String>,
    /// How each process ended.
    pub exits: Vec<Exit>,
    /// Every line that the CLI wrote, by process.
    pub lines: Vec<Vec<Received>>,
    /// The requests to the API.
    pub requests: Vec<RecordedRequest>,
    /// Processes that were left behind, and were killed.
    pub leftovers: Vec<Leftover>,
    /// How long it took.
    pub elapsed: Duration,
}

/// Why a scenario could not be played.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// The folders could not be created.
    #[error("cannot create the folders for the scenario in the temporary folder")]
    Place(#[from] io::Error),
    /// The API could not be started.
    #[error(transparent)]
    Api(#[from] ApiError),
    /// The CLI did not do what was expected.
    #[error("scenario {scenario}, process {process}, step {step}: {source}")]
    Driver {
        /// The scenario.
        scenario: &'static str,
        /// Number of the process, counted from one.
        process: usize,
        /// Number of its step, counted from one.
        step: usize,
        /// What went wrong.
        source: DriverError,
    },
}

/// Plays a scenario in its own place, with its own API.
///
/// # Errors
/// If the CLI does not do what the scenario waits for.
pub fn run(cli: &Cli, scenario: &Scenario) -> Result<Outcome, RunError> {
    let started = Instant::now();
    let place = Place::new()?;
    let api = ScriptedApi::start()?;
    let directory = place.directory().to_string_lossy().into_owned();
    for (name, content) in &scenario.files {
        place.write(name, &content.replace("{{CWD}}", &directory))?;
    }
    let mut played = Played::new(&place, &api);
    let mut messages = 0;
    let result = scenario.processes.iter().enumerate().try_for_each(|(number, process)| {
        let mut stage = Stage { cli, place: &place, api: &api, messages: &mut messages };
        let mut step = 0;
        stage.play(process, &mut played, &mut step).map_err(|source| RunError::Driver {
            scenario: scenario.name,
            process: number + 1,
            step,
            source,
        })
    });
    let leftovers = end_leftovers(&place.home());
    result?;
    Ok(Outcome {
        outline: played.outline(&leftovers),
        view: played.view().clone(),
        exits: played.exits().to_vec(),
        lines: played.lines().to_vec(),
        requests: api.requests(),
        leftovers,
        elapsed: started.elapsed(),
    })
}

/// What a process needs to run.
#[derive(Debug)]
struct Stage<'s> {
    cli: &'s Cli,
    place: &'s Place,
    api: &'s ScriptedApi,
    /// Number of messages sent so far.
    messages: &'s mut u32,
}

impl Stage<'_> {
    fn play(&mut self, process: &Process, played: &mut Played, step: &mut usize) -> Result<(), DriverError> {
        let for_replies = Arc::new(process.clone());
        let responder = {
            let process = Arc::clone(&for_replies);
            Box::new(move |line: &Json| reply::respond(&process, line))
        };
        let driver = Driver::start(&self.launch(process, played.session()), responder)?;
        if let Some(request) = reply::initialize(process) {
            driver.send(&control_request("initialize-1", &request))?;
            wait_for_response(&driver, "initialize-1")?;
        }
        for action in &process.actions {
            *step += 1;
            self.act(&driver, action)?;
        }
        *step += 1;
        driver.close_input();
        driver.wait_for_exit(DEADLINE)?;
        let (_, happenings) = driver.finish(DEADLINE)?;
        played.process(&happenings);
        Ok(())
    }

    fn launch(&self, process: &Process, session: &str) -> Launch {
        let directory = self.place.directory();
        let fill = |flag: &str| {
            flag.replace("{{CWD}}", &directory.to_string_lossy()).replace("{{SESSION}}", session)
        };
        let base: &[&[&str]] = match (process.bare, process.unattended) {
            (true, _) => &[],
            (false, true) => &[BASE_FLAGS, MODEL_FLAGS],
            (false, false) => &[BASE_FLAGS, MODEL_FLAGS, ASK_FLAGS],
        };
        let base = base.iter().flat_map(|flags| flags.iter().map(|flag| (*flag).to_owned()));
        let mut environment = self.place.environment(&self.api.url());
        environment.extend(process.environment.iter().map(|(name, value)| (name.into(), value.into())));
        if self.cli.simulated {
            environment.push((SIMULATED_VERSION.into(), self.cli.version.to_string().into()));
        }
        Launch {
            program: self.cli.program.clone(),
            arguments: base.chain(process.flags.iter().map(|flag| fill(flag))).collect(),
            environment,
            directory,
        }
    }

    fn act(&mut self, driver: &Driver, action: &Action) -> Result<(), DriverError> {
        let directory = self.place.directory().to_string_lossy().into_owned();
        let fill = |text: &str| text.replace("{{CWD}}", &directory);
        match action {
            Action::Send(text) => {
                let (line, events) = self.message(&fill(text), 0);
                driver.send_with(&line, events)
            }
            Action::SendPictures(text, count) => {
                let (line, events) = self.message(&fill(text), *count);
                driver.send_with(&line, events)
            }
            Action::SendInterrupted(text, id) => {
                let (line, events) = self.message(&fill(text), 0);
                let interrupt = control_request(id, &object! { "subtype" => "interrupt" });
                driver.send_together(&[line, interrupt], events.into_iter().chain([HostEvent::Interrupted]))
            }
            Action::Write(line) => driver.send_raw(&fill(line)),
            Action::Request(id, request) => {
                let interrupts = request.str_of("subtype") == Some("interrupt");
                driver.send_with(&control_request(id, request), interrupts.then_some(HostEvent::Interrupted))
            }
            Action::Await(condition) => wait(driver, &self.place.directory(), condition),
            Action::AnswerHeld(answer) => {
                for line in driver.lines().iter().filter(|line| is_permission_request(line)) {
                    let request = line.json.get("request").unwrap_or(&Json::Null);
                    let id = line.json.get("request_id").unwrap_or(&Json::Null);
                    if let Some(response) = reply::decide(id, request, answer) {
                        let line = object! { "type" => "control_response", "response" => response.response };
                        driver.send_with(&line, response.event)?;
                    }
                }
                Ok(())
            }
            Action::CloseInput => {
                driver.close_input();
                Ok(())
            }
            Action::InterruptSignal => {
                driver.signal(Signal::INT);
                Ok(())
            }
            Action::TerminateSignal => {
                driver.signal(Signal::TERM);
                Ok(())
            }
        }
    }

    /// The next message as a line, and its events for the transcript.
    fn message(&mut self, text: &str, pictures: usize) -> (Json, [HostEvent; 2]) {
        *self.messages += 1;
        // Ids that differ between messages but not between runs.
        let id = format!("00000000-0000-4000-8000-{:012}", self.messages);
        let content = if pictures == 0 {
            Json::from(text)
        } else {
            let source =
                object! { "type" => "base64", "media_type" => "image/png", "data" => BASE64.encode(PICTURE) };
            let picture = object! { "type" => "image", "source" => source };
            let mut blocks = vec![object! { "type" => "text", "text" => text }];
            blocks.extend(std::iter::repeat_n(picture, pictures));
            Json::Array(blocks)
        };
        let line = object! {
            "type" => "user",
            "message" => object! { "role" => "user", "content" => content },
            "session_id" => "default",
            "parent_tool_use_id" => Json::Null,
            "uuid" => &id,
        };
        let message = weir_wire::MessageId::from(id.as_str());
        let queued = HostEvent::MessageQueued {
            message: message.clone(),
            text: text.to_owned(),
            images: u32::try_from(pictures).unwrap_or(u32::MAX),
            documents: 0,
        };
        (line, [queued, HostEvent::MessageSent { message }])
    }
}

fn control_request(id: &str, request: &Json) -> Json {
    object! { "type" => "control_request", "request_id" => id, "request" => request }
}
