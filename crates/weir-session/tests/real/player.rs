//! Plays a scenario with a session.

use std::sync::Arc;

use weir_session::{Message, Sent, Session, SessionError, TurnEnd};
use weir_testkit::api::ScriptedApi;
use weir_testkit::json::Json;
use weir_testkit::scenario::{Action, Cli, Condition, PICTURE, Played, Process, Scenario, outline};
use weir_testkit::{Place, end_leftovers};
use weir_transcript::FoldOptions;
use weir_wire::{MessageId, OutgoingBlock, OutgoingContent};

use crate::host::{Host, value};
use crate::options::options;
use crate::recorder::{DEADLINE, Recorder};

/// Why a session cannot play a scenario, if that is the case.
pub(crate) fn cannot_play(scenario: &Scenario) -> Option<&'static str> {
    let process = |process: &Process| {
        if process.bare {
            return Some("a session always passes the flags that it needs");
        }
        if process.mcp_server.is_some() && !cfg!(feature = "mcp") {
            return Some("the feature mcp is off");
        }
        process.actions.iter().find_map(|action| match action {
            Action::Write(_) => Some("a session only writes lines that are messages"),
            Action::InterruptSignal | Action::TerminateSignal => {
                Some("a session sends no such signal by itself")
            }
            Action::CloseInput => Some("a session does not close the input while messages wait"),
            Action::SendInterrupted(..) => Some("whether both are written together is random"),
            _ => None,
        })
    };
    scenario.processes.iter().find_map(process)
}

/// Plays a scenario and records the outcome: the folded view, how processes ended, how each message ended.
pub(crate) async fn play(cli: &Cli, scenario: &Scenario) -> Result<Vec<String>, String> {
    let (place, api) = (Place::new().unwrap(), ScriptedApi::start().unwrap());
    let directory = place.directory().to_string_lossy().into_owned();
    for (name, content) in &scenario.files {
        place.write(name, &content.replace("{{CWD}}", &directory)).unwrap();
    }
    let mut played = Played::new(&place, &api);
    let mut ends = Vec::new();
    let mut messages = 0;
    for process in &scenario.processes {
        let (host, recorder) = (Host::new(process), Recorder::default());
        let stage = (cli, &place, &api);
        let session = Session::new(options(stage, process, played.session(), &host, &recorder));
        let mut player = Player { session, host, recorder, place: &place, sent: Vec::new(), messages };
        let ended = tokio::time::timeout(2 * DEADLINE, player.process(process)).await;
        ends.extend(ended.map_err(|_| "it took too long".to_owned())??);
        messages = player.messages;
        played.process(&player.recorder.happenings());
    }
    let leftovers = tokio::task::spawn_blocking({
        let home = place.home();
        move || end_leftovers(&home)
    });
    let leftovers = leftovers.await.unwrap();
    assert!(leftovers.is_empty(), "{cli} {}: left behind: {leftovers:?}", scenario.name);
    let mut lines = played.outline(&[]);
    lines.extend(played.redacted(&ends));
    Ok(lines)
}

struct Player<'p> {
    session: Session,
    host: Host,
    recorder: Recorder,
    place: &'p Place,
    sent: Vec<Sent>,
    messages: u32,
}

impl Player<'_> {
    /// Plays one process to its end, and returns how each message ended.
    async fn process(&mut self, process: &Process) -> Result<Vec<String>, String> {
        let mut lines = Vec::new();
        if let Err(error) = self.session.start().await {
            lines.push(format!("not started: {}", name(&error)));
        }
        for action in &process.actions {
            self.act(action).await?;
        }
        // An error means that it has already ended.
        let _ = self.session.close().await;
        let live = self.session.view().await.map_err(|error| error.to_string())?;
        let replayed = self.recorder.replayed(FoldOptions::default());
        let difference = similar(&outline(&live), &outline(&replayed));
        if !difference.is_empty() {
            return Err(format!("the view differs from that of a replay:\n{difference}"));
        }
        self.session.stop().await;
        for (number, sent) in self.sent.iter_mut().enumerate() {
            lines.push(format!("message {} {}", number + 1, end(&sent.answer().await)));
        }
        Ok(lines)
    }

    async fn act(&mut self, action: &Action) -> Result<(), String> {
        let directory = self.place.directory();
        let fill = |text: &str| text.replace("{{CWD}}", &directory.to_string_lossy());
        match action {
            Action::Send(text) => self.send(OutgoingContent::Text(fill(text))).await,
            Action::SendPictures(text, count) => {
                let picture =
                    || OutgoingBlock::Image { media_type: "image/png".into(), data: PICTURE.to_vec() };
                let text = OutgoingBlock::Text(fill(text));
                let blocks = std::iter::once(text).chain((0..*count).map(|_| picture()));
                self.send(OutgoingContent::Blocks(blocks.collect())).await
            }
            Action::Request(_, request) => self.request(request).await,
            // The session has waited for it.
            Action::Await(Condition::Response(_)) => Ok(()),
            Action::Await(condition) => self.recorder.wait(condition, &directory).await,
            Action::AnswerHeld(reply) => {
                for (ask, decision) in self.host.answers_to_held(reply).await {
                    let answered = self.session.answer(ask.id(), decision, None).await;
                    answered.map_err(|error| error.to_string())?;
                }
                Ok(())
            }
            other => Err(format!("a session cannot do this: {other:?}")),
        }
    }

    async fn send(&mut self, content: OutgoingContent) -> Result<(), String> {
        self.messages += 1;
        let id = MessageId::new(format!("00000000-0000-4000-8000-{:012}", self.messages));
        // A scenario that sends a command means the command.
        let is_interpreted = matches!(&content, OutgoingContent::Text(text) if text.starts_with('/'));
        let sent =
            self.session.send(Message { id: Some(id), is_interpreted, ..Message::from(content) }).await;
        self.sent.push(sent.map_err(|error| error.to_string())?);
        Ok(())
    }

    async fn request(&self, request: &Json) -> Result<(), String> {
        let text = |name: &str| value(request)[name].as_str().unwrap_or_default().to_owned();
        let done = match request.str_of("subtype") {
            // A session does that by itself.
            Some("initialize") => Ok(()),
            Some("interrupt") => self.session.interrupt().await.map(drop),
            Some("set_model") => self.session.set_model(Some(text("model"))).await,
            Some("set_permission_mode") => self.session.set_permission_mode(text("mode")).await,
            other => return Err(format!("a session has no request {other:?}")),
        };
        done.map_err(|error| error.to_string())
    }
}

fn end(answer: &Result<Arc<TurnEnd>, SessionError>) -> String {
    match answer {
        // The text of an error is in the outline of the turn, and in the table if it differs.
        Ok(end) if end.is_error() => format!("ended with turn {}, an error", end.turn.id),
        Ok(end) => format!("ended with turn {} {:?}", end.turn.id, end.text),
        Err(error) => format!("ended without an answer: {}", name(error)),
    }
}

/// The kind of an error: its text contains the CLI's output.
fn name(error: &SessionError) -> String {
    format!("{error:?}").split(|letter: char| !letter.is_alphanumeric()).next().unwrap_or_default().to_owned()
}

/// The lines that differ.
fn similar(left: &[String], right: &[String]) -> String {
    let only = |mark: char, of: &[String], other: &[String]| -> Vec<String> {
        of.iter().filter(|line| !other.contains(line)).map(|line| format!("{mark} {line}")).collect()
    };
    let mut lines = only('-', left, right);
    lines.extend(only('+', right, left));
    if lines.is_empty() && left != right {
        lines.push("the same lines in another order".to_owned());
    }
    lines.join("\n")
}
