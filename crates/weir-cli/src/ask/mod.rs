//! Asks a person about the CLI's requests: permissions and questions, one after the other.
//!
//! `permission` and `question` render a request and parse the answer, without IO; `person` is the one who answers,
//! on the `terminal` or over a pipe.

mod form;
mod lines;
mod permission;
mod person;
mod question;
#[cfg_attr(not(unix), path = "no_terminal.rs")]
mod terminal;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::json;
use tokio::sync::Mutex;
use weir_session::{Ask, Deciding, Decision, Handler, file_preview};
use weir_transcript::{PermissionRequest, RequestKind, reveal};
use weir_wire::{FormField, Question, QuestionAnswers};

use crate::screen::Style;
pub(crate) use lines::StdinLines;
use permission::Answer;
pub(crate) use person::Person;
pub(crate) use terminal::Terminal;

/// The holder of this lock may talk to the person. First come, first served.
pub(crate) type Floor = Arc<Mutex<()>>;

/// Keeps the screen still while a person is asked.
pub(crate) trait Stage: Send + Sync + 'static {
    /// The lock to hold while the person is asked.
    fn floor(&self) -> Floor;

    /// Called if the floor is taken: tells the person that a request is waiting.
    fn announce(&self);

    /// Stops all printing.
    fn hold(&self);

    /// Resumes printing.
    fn release(&self);
}

/// Decides by asking a person, one request after the other.
pub(crate) struct PersonHandler<S: Stage> {
    person: Mutex<Person>,
    stage: S,
    cwd: PathBuf,
}

impl<S: Stage> PersonHandler<S> {
    /// Asks this person about requests in this folder; `None` is the current one.
    pub(crate) fn new(person: Person, stage: S, cwd: Option<PathBuf>) -> Self {
        let cwd = cwd.map_or_else(std::env::current_dir, Ok).unwrap_or_default();
        Self { person: Mutex::new(person), stage, cwd }
    }

    async fn decide_with_a_person(&self, ask: Ask) -> Decision {
        let mut person = self.person.lock().await;
        let floor = self.stage.floor();
        let mut turn = std::pin::pin!(floor.lock());
        let _floor = tokio::select! {
            // Queue for the floor before announcing it, or the next prompt could be quicker.
            biased;
            held = &mut turn => held,
            () = std::future::ready(()) => {
                self.stage.announce();
                turn.await
            }
        };
        // Also released if the CLI withdraws the request and this future is dropped.
        let _held = Held::new(&self.stage);
        let unknown = || Decision::Error("this kind of request cannot be answered here".into());
        let Ask::Request(request) = ask else { return unknown() };
        if let Some(ask) = request.kind.permission() {
            return permission(&mut person, &ask, &self.cwd).await;
        }
        match request.kind {
            RequestKind::Question { questions: asked, .. } => questions(&mut person, &asked).await,
            RequestKind::Elicitation { server, message, url, form } => {
                let heading = heading(&format!("{server} asks: {message}"), person.style());
                person.say(&heading).await;
                elicitation(&mut person, url.as_deref(), form.as_deref()).await
            }
            _ => unknown(),
        }
    }
}

impl<S: Stage> Handler for PersonHandler<S> {
    fn decide(&self, ask: Ask) -> Deciding<'_> {
        Box::pin(self.decide_with_a_person(ask))
    }
}

struct Held<'a, S: Stage>(&'a S);

impl<'a, S: Stage> Held<'a, S> {
    fn new(stage: &'a S) -> Self {
        stage.hold();
        Self(stage)
    }
}

impl<S: Stage> Drop for Held<'_, S> {
    fn drop(&mut self) {
        self.0.release();
    }
}

async fn permission(person: &mut Person, ask: &PermissionRequest, cwd: &Path) -> Decision {
    let choices = permission::choices(ask);
    let (tool, input, cwd) = (ask.tool_name.clone(), ask.input.clone(), cwd.to_owned());
    // The user at the terminal may see their own files.
    let reading = tokio::task::spawn_blocking(move || file_preview(&tool, &input, &cwd, None));
    let preview = reading.await.ok().flatten();
    person.say(&permission::text(ask, preview.as_ref(), &choices, person.style())).await;
    loop {
        let Some(answer) = person.ask("> ").await else {
            return Decision::deny("No one answered.");
        };
        if let Some(decision) = permission::other_command(&answer, ask) {
            return decision;
        }
        match permission::meaning(&answer, &choices, ask.context.default_to_no) {
            Some(Answer::Choice(decision)) => return decision.clone(),
            Some(Answer::No(why)) => return Decision::deny(why),
            None if person.keep_for_later(answer) => return Decision::deny("No one answered."),
            None => {
                let help = format!("Please answer with a number from 1 to {}, yes or no.\n", choices.len());
                person.say(&help).await;
            }
        }
    }
}

async fn questions(person: &mut Person, questions: &[Question]) -> Decision {
    let mut answers = QuestionAnswers::new();
    for asked in questions {
        person.say(&question::text(asked, person.style())).await;
        let chosen = loop {
            let Some(answer) = person.ask(question::prompt(asked)).await else {
                return Decision::deny("The user did not want to answer.");
            };
            match question::chosen(asked, &answer, person.is_attentive()) {
                Ok(Some(chosen)) => break chosen,
                Ok(None) if person.keep_for_later(answer) => {
                    return Decision::deny("The user did not want to answer.");
                }
                Ok(None) => {}
                Err(reason) => person.say(&format!("{reason}\n")).await,
            }
        };
        answers = answers.choose_all(asked.question.clone(), chosen);
    }
    Decision::Answers(answers)
}

/// Answers an MCP server: field by field, or by opening a link.
async fn elicitation(person: &mut Person, url: Option<&str>, form: Option<&[FormField]>) -> Decision {
    let style = person.style();
    let decline = Decision::deny("declined");
    if let Some(url) = url {
        person.say(&format!("  {}\n", reveal(url))).await;
        let answer = person.ask("open the link, then answer yes, or answer no > ").await;
        let has_done = answer.is_some_and(|answer| matches!(answer.trim(), "y" | "yes"));
        return if has_done { Decision::Value(json!({"action": "accept"})) } else { decline };
    }
    let Some(fields) = form else {
        person.say("This kind of form is not supported here, so it was declined.\n").await;
        return decline;
    };
    let mut content = serde_json::Map::new();
    for field in fields {
        person.say(&form::text(field, style)).await;
        loop {
            let Some(answer) = person.ask(form::prompt(field)).await else { return decline };
            match form::read(field, &answer) {
                Ok(Some(value)) => {
                    content.insert(field.name.clone(), value);
                    break;
                }
                Ok(None) => break,
                Err(_) if person.keep_for_later(answer) => return decline,
                Err(reason) => person.say(&format!("{}\n", reveal(&reason))).await,
            }
        }
    }
    Decision::Value(json!({"action": "accept", "content": content}))
}

/// The heading of a request.
fn heading(text: &str, style: Style) -> String {
    format!("\n{}\n", style.bold(&reveal(text)))
}
