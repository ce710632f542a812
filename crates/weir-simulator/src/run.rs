//! Starts the CLI from its arguments.

use std::io::{self, Read};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use super::engine::Engine;
use super::history::History;
use super::hooks;
use super::misbehave::{Misbehaviour, Point};
use super::options::{self, Format, Resume};
use super::output::{Output, Sink};
use super::profile::Profile;
use super::queue::UserMessage;
use super::rewind;
use super::sessions::{self, SessionFile};
use super::settings::Settings;
use super::sim::Sim;
use super::turn::{Ended, ResultLine, crash};
use super::{reader, signals};
use crate::json::Json;

/// Runs the simulated CLI on the standard streams: all that a program needs to act as the CLI.
pub fn play(arguments: &[String]) -> ExitCode {
    let (stdin, stdout, stderr) = (io::stdin(), io::stdout(), io::stderr());
    ExitCode::from(main(arguments, Box::new(stdin), Box::new(stdout), Box::new(stderr)))
}

/// Runs the simulated CLI. `arguments` are those after the program name. Returns the exit status.
///
/// ```
/// let nothing: &[u8] = b"";
/// let arguments = ["--version".to_owned()];
/// let status = weir_simulator::main(
///     &arguments,
///     Box::new(nothing),
///     Box::new(std::io::sink()),
///     Box::new(std::io::sink()),
/// );
/// assert_eq!(status, 0);
/// ```
pub fn main(arguments: &[String], stdin: Box<dyn Read + Send>, stdout: Sink, stderr: Sink) -> u8 {
    let fail = |mut stderr: Sink, text: String| {
        // There is nowhere else to report it.
        drop(writeln!(stderr, "{text}"));
        1
    };
    let settings = match Settings::from_env() {
        Ok(settings) => settings,
        Err(error) => return fail(stderr, error.to_string()),
    };
    let profile = Profile::of(&settings.version);
    let options = match options::parse(arguments, &profile) {
        Ok(options) => options,
        Err(error) => return fail(stderr, error.to_string()),
    };
    if options.version || options.help {
        let text = if options.version {
            format!("{} (Claude Code)\n", profile.version)
        } else {
            options::help(&profile)
        };
        let mut stdout = stdout;
        drop(stdout.write_all(text.as_bytes()));
        return 0;
    }
    if !options.print {
        return fail(stderr, "simulated claude: no interactive mode; use -p".to_owned());
    }
    if options.skip_permissions && rustix::process::getuid().is_root() {
        let text =
            "--dangerously-skip-permissions cannot be used with root/sudo privileges for security reasons";
        return fail(stderr, text.to_owned());
    }
    let cwd = match std::env::current_dir() {
        Ok(cwd) => cwd,
        Err(error) => return fail(stderr, format!("simulated claude: no working directory: {error}")),
    };
    let out = Output::new(stdout, stderr, options.output == Format::StreamJson);
    start(Sim::new(options, settings, profile, out, cwd), stdin)
}

fn start(sim: Sim, stdin: Box<dyn Read + Send>) -> u8 {
    let sim = Arc::new(sim);
    for misbehaviour in &sim.settings.misbehave {
        sim.out.misbehave(misbehaviour);
    }
    if let Err(error) = signals::watch(&sim) {
        sim.out.error(&format!("simulated claude: cannot watch signals: {error}\n"));
        return 1;
    }
    let slow = sim.misbehaviour(|misbehaviour| match misbehaviour {
        Misbehaviour::SlowStart { time } => Some(*time),
        _ => None,
    });
    if let Some(time) = slow {
        // This one is never cancelled.
        _ = super::cancel::Cancel::new().sleep(time);
    }
    crash(&sim, Point::Start);
    sim.silence(Point::Start);
    sim.state().hooks = hooks::of_settings(sim.options.settings.as_deref());
    let history = match open_session(&sim) {
        Ok(history) => history,
        Err(error) => return refuse(&sim, &error),
    };
    if let Err(status) = take_input(&sim, stdin) {
        return status;
    }
    Engine::new(sim, history).run()
}

/// Starts a thread that reads messages, or takes the single prompt.
fn take_input(sim: &Arc<Sim>, stdin: Box<dyn Read + Send>) -> Result<(), u8> {
    if sim.options.input == Format::StreamJson {
        let reader = Arc::clone(sim);
        std::thread::spawn(move || reader::run(&reader, stdin));
        return Ok(());
    }
    let mut text = String::new();
    if sim.options.prompt.is_none() {
        let mut stdin = stdin;
        // Input that is not text counts as empty.
        drop(stdin.read_to_string(&mut text));
    }
    let prompt = sim.options.prompt.clone().unwrap_or(text);
    if prompt.trim().is_empty() {
        sim.out.error(
            "Error: Input must be provided either through stdin or as a prompt argument when using --print\n",
        );
        return Err(1);
    }
    sim.queue.push(UserMessage {
        uuid: None,
        content: Json::String(prompt),
        is_composed: false,
        is_note: false,
    });
    sim.host.close();
    sim.queue.end_of_input();
    Ok(())
}

/// Why a session cannot be opened.
#[derive(Debug, thiserror::Error)]
enum SessionError {
    #[error("Error: Session ID {0} is already in use.")]
    InUse(String),
    #[error("No conversation found with session ID: {0}")]
    Missing(String),
    #[error("No message found with message.uuid of: {0}")]
    NoLine(String),
    #[error("{0}")]
    NotAnId(String),
}

fn not_an_id(given: &str, profile: &Profile) -> SessionError {
    let text = if profile.is_old() {
        format!(
            "Error: --resume requires a valid session ID when used with --print. Usage: claude -p --resume <session-id>. Session IDs must be in UUID format (e.g., 550e8400-e29b-41d4-a716-446655440000). Provided value \"{given}\" is not a valid UUID"
        )
    } else {
        format!(
            "Error: --resume requires a valid session ID or session title when used with --print. Usage: claude -p --resume <session-id|title>. Provided value \"{given}\" is not a UUID and does not match any session title."
        )
    };
    SessionError::NotAnId(text)
}

/// Opens the session to resume, or starts a new one.
fn open_session(sim: &Sim) -> Result<History, SessionError> {
    let (folder, options) = (sim.project_dir(), &sim.options);
    let found = match &options.resume {
        Resume::No => None,
        Resume::Newest => sessions::newest(&folder),
        Resume::Session(given) => {
            let given = given.clone().unwrap_or_default();
            if uuid::Uuid::parse_str(&given).is_err() {
                return Err(not_an_id(&given, &sim.profile));
            }
            Some(given)
        }
    };
    let session = match &found {
        Some(session) if !options.fork => session.clone(),
        _ => options.session_id.clone().unwrap_or_else(|| free_id(sim, &folder)),
    };
    if found.is_none() && sessions::file_of(&folder, &session).exists() {
        return Err(SessionError::InUse(session));
    }
    sim.state().session_id.clone_from(&session);
    let mut history = History::default();
    let mut file = SessionFile::new(&folder, &session, &sim.cwd_text(), &sim.profile);
    if let Some(found) = found {
        let path = sessions::file_of(&folder, &found);
        let saved = sessions::load(&path, options.resume_at.as_deref());
        let saved = saved.map_err(|_| SessionError::Missing(found.clone()))?;
        if let Some(line) = &options.resume_at
            && saved.leaf.as_ref() != Some(line)
        {
            return Err(SessionError::NoLine(line.clone()));
        }
        rewind::restore(sim, &found, saved.asked.clone());
        restore(sim, &mut history, saved, &mut file, &path);
    }
    history.file = options.persist.then_some(file);
    Ok(history)
}

/// An id that no session has. With a seed, ids repeat from process to process.
fn free_id(sim: &Sim, folder: &Path) -> String {
    loop {
        let id = sim.ids.uuid();
        if !sessions::file_of(folder, &id).exists() {
            return id;
        }
    }
}

fn restore(sim: &Sim, history: &mut History, saved: sessions::Saved, file: &mut SessionFile, path: &Path) {
    history.messages = saved.messages;
    if let Some(cost) = saved.cost.filter(|_| sim.profile.resumes_cost()) {
        sim.ledger().restore(&cost);
    }
    if sim.options.fork && sim.options.persist {
        file.copy_from(path, sim.options.resume_at.as_deref());
    }
    file.continue_after(saved.leaf);
}

/// Reports why the session cannot be opened, with a result if the real CLI writes one.
fn refuse(sim: &Sim, error: &SessionError) -> u8 {
    let text = error.to_string();
    let silent_on_stderr = sim.profile.is_old() && !matches!(error, SessionError::InUse(_));
    if !silent_on_stderr {
        sim.out.error(&format!("{text}\n"));
    }
    if matches!(error, SessionError::InUse(_)) {
        return 1;
    }
    sim.state().session_id = sim.ids.uuid();
    let ended = Ended::Error { subtype: "error_during_execution", reason: "error", error: Some(text) };
    sim.out.line(&ResultLine::plain(ended, sim.ids.uuid()).without_session(sim));
    1
}
