//! Answers of people: permissions and questions. The first one counts, and whoever is late hears who was first.

use axum::Extension;
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use serde_json::Value;
use weir_host::{ConversationId, Decision};
use weir_transcript::RequestKind;
use weir_wire::{PermissionUpdate, QuestionAnswers, RawJson, RequestId};

use super::answer;
use super::errors::session_id;
use super::sessions::check_mode;
use super::types::{AnswerPermission, AnswerQuestion, Answered, Behavior, Choice};
use crate::auth::{Principal, Role};
use crate::extract::{Json, Path};
use crate::guard::Audited;
use crate::problem::{Details, Problem};
use crate::state::App;

/// What the model is told when a person denies something and says nothing.
const DENIED: &str = "A person looked at this and did not allow it.";

/// Answers a request for permission, or for leave to carry out a plan.
///
/// To change the call's arguments takes the role `driver`, because that is to say what is done. Rules for later calls
/// must be those that the CLI suggested with the request.
#[utoipa::path(post, path = "/v1/sessions/{id}/permissions/{request_id}", tag = "answers",
    params(("id" = String, Path, description = "The session."), ("request_id" = String, Path, description = "The request.")),
    request_body = AnswerPermission, responses(
        (status = 200, description = "It is answered.", body = Answered),
        (status = 409, description = "Somebody else was first: `answered_by` says who.", body = Details, content_type = "application/problem+json"),
    ))]
pub(crate) async fn permission(
    State(app): State<App>,
    Extension(who): Extension<Principal>,
    Path((id, request)): Path<(String, String)>,
    Json(body): Json<AnswerPermission>,
) -> Result<Response, Problem> {
    let id = session_id(&id)?;
    let said = match body.behavior {
        Behavior::Allow => format!("allow {request}"),
        Behavior::Deny => format!("deny {request}"),
    };
    let decision = match body.behavior {
        Behavior::Deny => {
            if body.updated_input.is_some() || body.updated_permissions.is_some() {
                let detail = "a denial has no updated_input and no updated_permissions";
                return Err(Problem::unprocessable("bad_answer", detail));
            }
            let message = body.message.filter(|message| !message.trim().is_empty());
            Decision::Deny {
                message: message.unwrap_or_else(|| DENIED.to_owned()),
                interrupt: body.interrupt.unwrap_or(false),
            }
        }
        Behavior::Allow => {
            if body.updated_input.is_some() && who.role < Role::Driver {
                let detail = "to change what is done takes the role driver; allow or deny it as it is";
                return Err(Problem::forbidden("role", detail).with("needs", Role::Driver.as_str()));
            }
            let wanted = body.updated_permissions.unwrap_or_default();
            let remember = suggested(&app, &id, &request, &wanted).await?;
            Decision::Allow { input: body.updated_input.map(Value::Object), remember }
        }
    };
    decide(&app, &who, &id, request, decision, said).await
}

/// Answers questions, or says why nobody does.
#[utoipa::path(post, path = "/v1/sessions/{id}/questions/{request_id}", tag = "answers",
    params(("id" = String, Path, description = "The session."), ("request_id" = String, Path, description = "The request.")),
    request_body = AnswerQuestion, responses(
        (status = 200, description = "It is answered.", body = Answered),
        (status = 409, description = "Somebody else was first: `answered_by` says who.", body = Details, content_type = "application/problem+json"),
    ))]
pub(crate) async fn question(
    State(app): State<App>,
    Extension(who): Extension<Principal>,
    Path((id, request)): Path<(String, String)>,
    Json(body): Json<AnswerQuestion>,
) -> Result<Response, Problem> {
    let id = session_id(&id)?;
    let (decision, said) = match (body.answers, body.decline) {
        (Some(answers), None) => {
            let answers =
                answers.into_iter().fold(
                    QuestionAnswers::new(),
                    |answers, (question, choice)| match choice {
                        Choice::One(label) => answers.choose(question, label),
                        Choice::Several(labels) => answers.choose_all(question, labels),
                    },
                );
            (Decision::Answers(answers), format!("answer {request}"))
        }
        (None, Some(reason)) => (Decision::deny(reason), format!("decline {request}")),
        _ => {
            let detail = "give either answers, or decline with a reason";
            return Err(Problem::unprocessable("bad_answer", detail));
        }
    };
    decide(&app, &who, &id, request, decision, said).await
}

async fn decide(
    app: &App,
    who: &Principal,
    id: &ConversationId,
    request: String,
    decision: Decision,
    said: String,
) -> Result<Response, Problem> {
    let name = RequestId::from(request.as_str());
    app.host().answer(id, &name, decision, &who.actor()).await?;
    let answered = Answered { request_id: request, answered_by: who.name.clone() };
    let mut response = answer::ok(answered).into_response();
    response.extensions_mut().insert(Audited(said));
    Ok(response)
}

/// The rules that are wanted, each of which must be one that the CLI suggested: nobody may name scopes of their own.
async fn suggested(
    app: &App,
    id: &ConversationId,
    request: &str,
    wanted: &[Value],
) -> Result<Vec<PermissionUpdate>, Problem> {
    if wanted.is_empty() {
        return Ok(Vec::new());
    }
    let request = app.host().request(id, &RequestId::from(request)).await?;
    let Some(RequestKind::Permission { suggestions, .. }) = request.map(|request| request.kind) else {
        return Err(weir_host::HostError::NoSuchRequest.into());
    };
    let mut updates = Vec::new();
    for update in wanted {
        if !suggestions.contains(update) {
            let detail = "each of updated_permissions must be one of the request's own suggestions";
            return Err(Problem::unprocessable("bad_answer", detail));
        }
        if update.get("type").and_then(Value::as_str) == Some("setMode") {
            check_mode(app, update.get("mode").and_then(Value::as_str).unwrap_or_default())?;
        }
        let text = update.to_string();
        let json = RawJson::parse(text.as_bytes()).map_err(|error| Problem::internal(&error))?;
        updates.push(PermissionUpdate::suggested(json));
    }
    Ok(updates)
}
