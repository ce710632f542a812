//! Finds or creates the session of a request, and its setup.

use weir_host::{Actor, Branch, MessageInfo, MessageState, NewSession, SessionId, SessionSpec};
use weir_openai::{Endpoint, OpenAiError, Place, Request};

use super::errors::of_host;
use super::front::Claim;
use super::histories::Point;
use crate::auth::Principal;
use crate::state::App;

/// The headers by which a request chooses its session.
#[derive(Debug, Clone, Default)]
pub(super) struct Choice {
    pub(super) session: Option<String>,
    pub(super) folder: Option<String>,
}

/// The session of a request, and what to send to it.
#[derive(Debug)]
pub(super) struct Target {
    pub(super) session: SessionId,
    /// Keeps other requests from using the session.
    pub(super) claim: Option<Claim>,
    pub(super) text: String,
    pub(super) images: Vec<weir_openai::Image>,
    /// Hash of the session's setup.
    pub(super) setup: String,
    /// Why the message before this one got no answer.
    pub(super) earlier_failure: Option<String>,
}

/// Finds or creates the session of a request.
pub(super) async fn find(
    app: &App,
    who: &Principal,
    request: &Request,
    place: &Place,
    choice: &Choice,
) -> Result<Target, OpenAiError> {
    if let Some(name) = &choice.session {
        return named(app, who, request, place, choice, name).await;
    }
    if let Some(previous) = &request.previous {
        return after_response(app, who, request, place, previous).await;
    }
    let setup = setup_of(request, place);
    for candidate in place.candidates() {
        let points = app.front().histories().points(&candidate.history);
        // Of several equal ones, the client most likely means the most recent.
        for point in points.into_iter().rev().filter(|point| point.setup == setup) {
            if let Some((session, claim, failure)) = continued(app, &point).await {
                return Ok(Target {
                    session,
                    claim: Some(claim),
                    text: with_failure(place.prompt(candidate.known), failure.as_deref()),
                    images: place.images(candidate.known),
                    setup,
                    earlier_failure: failure,
                });
            }
        }
    }
    let session = create(app, request, place, choice, &who.actor()).await?;
    Ok(fresh(app, session, place, setup))
}

/// A session created for this request.
fn fresh(app: &App, session: SessionId, place: &Place, setup: String) -> Target {
    let claim = app.front().claim(session.as_str());
    let (text, images) = (place.prompt_with_history(), place.all_images());
    Target { session, claim, text, images, setup, earlier_failure: None }
}

/// The session given by the client.
async fn named(
    app: &App,
    who: &Principal,
    request: &Request,
    place: &Place,
    choice: &Choice,
    name: &str,
) -> Result<Target, OpenAiError> {
    if request.format.schema().is_some() {
        let why = "a session given by X-Weir-Session keeps the output format it was created with";
        return Err(OpenAiError::unsupported("response_format", why));
    }
    let missing = || missing("x-weir-session", name);
    let Some(session) = existing(app, name).await else {
        // What cannot be a session id is a key, and the first request with it creates the session.
        if who.session.is_some() || uuid::Uuid::try_parse(name).is_ok() {
            return Err(missing());
        }
        let session = create(app, request, place, choice, &who.actor()).await?;
        return Ok(fresh(app, session, place, setup_of(request, place)));
    };
    if !who.may_see(session.as_str()) {
        return Err(missing());
    }
    // The session has its own instructions.
    let (text, images) = (place.prompt(usize::MAX), place.images(0));
    let setup = setup_of(request, place);
    Ok(Target { session, claim: None, text, images, setup, earlier_failure: None })
}

/// The session with this id, or else with this key.
async fn existing(app: &App, name: &str) -> Option<SessionId> {
    if let Ok(id) = name.parse::<SessionId>()
        && app.host().info(&id).await.is_ok()
    {
        return Some(id);
    }
    app.host().with_key(name).await.ok()?.id.parse().ok()
}

/// The session of an earlier response, or a fork of it if the session has continued since or the setup differs.
async fn after_response(
    app: &App,
    who: &Principal,
    request: &Request,
    place: &Place,
    previous: &str,
) -> Result<Target, OpenAiError> {
    let missing = || missing("previous_response_id", previous);
    let mut points = app.front().histories().points(&response_key(&who.token_id, previous));
    let point = points.pop().ok_or_else(missing)?;
    let setup = setup_of(request, place);
    if point.setup == setup
        && let Some((session, claim, failure)) = continued(app, &point).await
    {
        let text = with_failure(place.prompt_with_history(), failure.as_deref());
        let images = place.all_images();
        return Ok(Target { session, claim: Some(claim), text, images, setup, earlier_failure: failure });
    }
    let parent: SessionId = point.session.parse().map_err(|_| missing())?;
    let branch = Branch {
        message: point.message.as_str().into(),
        name: Some(title(place)).filter(|title| !title.is_empty()),
        model: model(request),
        append_system_prompt: place.instructions(),
        output_schema: request.format.schema().cloned(),
    };
    let info = app.host().branch(&parent, branch, &who.actor()).await;
    let info = info.map_err(|error| match error {
        weir_host::HostError::NotFound(_) | weir_host::HostError::NoSuchMessage => missing(),
        other => of_host(other),
    })?;
    let session = info.id.parse().map_err(|_| OpenAiError::failed("the session has no id"))?;
    Ok(fresh(app, session, place, setup))
}

fn missing(param: &str, name: &str) -> OpenAiError {
    OpenAiError {
        param: Some(param.to_owned()),
        ..OpenAiError::not_found(
            "not_found",
            format!("'{name}' was not found; leave it out to start a new session."),
        )
    }
}

/// The session of a point, if it has not continued since and no other request is using it. Also returns why a message
/// after that point failed.
async fn continued(app: &App, point: &Point) -> Option<(SessionId, Claim, Option<String>)> {
    let session: SessionId = point.session.parse().ok()?;
    let claim = app.front().claim(&point.session)?;
    // A session that was deleted meanwhile is created again.
    let messages = app.host().messages(&session, None).await.ok()?;
    let failure = failure_since(&messages, point)?;
    Some((session, claim, failure))
}

/// None if the session has continued since; otherwise why its newest message has no answer.
fn failure_since(messages: &[MessageInfo], point: &Point) -> Option<Option<String>> {
    let at = messages.iter().position(|message| message.message_id.as_str() == point.message)?;
    let (until, since) = messages.split_at(at + 1);
    let has_failed = |message: &MessageInfo| {
        matches!(message.state, MessageState::Failed | MessageState::Cancelled | MessageState::Indeterminate)
    };
    if !until.last()?.state.is_final() || !since.iter().all(has_failed) {
        return None;
    }
    // A message that was cancelled before its turn started does not count.
    let newest = since.iter().rev().find(|message| message.state != MessageState::Cancelled);
    let newest = newest.or_else(|| until.last().filter(|_| point.failed));
    let why = newest.map(|message| message.error.clone().unwrap_or_else(|| "it failed".to_owned()));
    Some(why)
}

/// Tells the agent that half-done work it finds is its own.
fn with_failure(text: String, failure: Option<&str>) -> String {
    match failure {
        None => text,
        Some(why) => format!(
            "The message before this one got no answer: {why}\nPart of what it asked for may be done already; look \
             before you do it again.\n\n{text}"
        ),
    }
}

async fn create(
    app: &App,
    request: &Request,
    place: &Place,
    choice: &Choice,
    by: &Actor,
) -> Result<SessionId, OpenAiError> {
    let root = app.settings().roots.first().map(|root| root.to_string_lossy().into_owned());
    let new = NewSession {
        cwd: choice.folder.clone().or(root).unwrap_or_default(),
        key: choice.session.clone(),
        name: Some(title(place)).filter(|title| !title.trim().is_empty()),
        spec: SessionSpec {
            model: model(request),
            append_system_prompt: place.instructions(),
            output_schema: request.format.schema().cloned(),
            ..SessionSpec::default()
        },
        ask_timeout_s: u32::try_from(app.settings().unattended_ask_timeout.as_secs().max(1)).ok(),
        origin: "openai".to_owned(),
        ..NewSession::default()
    };
    let created = app.host().create(new, by).await.map_err(of_host)?;
    created.session.id.parse().map_err(|_| OpenAiError::failed("the session has no id"))
}

fn title(place: &Place) -> String {
    let prompt = place.prompt(usize::MAX);
    prompt.lines().next().unwrap_or_default().chars().filter(|letter| !letter.is_control()).take(80).collect()
}

fn model(request: &Request) -> Option<String> {
    Some(request.model.clone()).filter(|model| model != "default")
}

/// Key of a response among the histories.
pub(super) fn response_key(owner: &str, response: &str) -> String {
    format!("{owner}/{response}")
}

/// Hash of a session's setup. The history of a chat completion includes its model and instructions; a response that
/// continues an earlier one states its setup again.
fn setup_of(request: &Request, place: &Place) -> String {
    let schema = request.format.schema();
    match request.endpoint {
        Endpoint::Chat => weir_openai::setup(&[], schema),
        Endpoint::Responses => {
            let instructions = place.instructions();
            weir_openai::setup(&[Some(request.model.as_str()), instructions.as_deref()], schema)
        }
    }
}
