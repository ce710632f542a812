//! Decisions of people: permissions, plans and questions. The first one counts; later ones are told whose it was.

use axum::Extension;
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use serde_json::{Value, json};
use weir_host::{Decision, HostError, SessionId};
use weir_transcript::{FilePreview, PermissionRequest, Request, RequestKind};
use weir_wire::{PermissionUpdate, QuestionAnswers, RequestId, RuleDestination};

use super::answer::{self, Answer};
use super::decisions::{ASKS, check_role, check_shape, updates};
use super::errors::session_id;
use super::sessions::check_mode;
use super::types::{
    AnswerElicitation, AnswerPermission, AnswerQuestion, Answered, Behavior, Choice, ElicitationAction,
};
use crate::auth::Principal;
use crate::extract::{Json, Path};
use crate::guard::Audited;
use crate::problem::{Details, Problem};
use crate::state::App;

/// What the model is told when a person denies a request without a message.
const DENIED: &str = "A person looked at this and did not allow it.";

/// What the model is told when a person declines questions without a reason. The model always gets some text.
const DECLINED: &str = "A person looked at this and did not answer it.";

/// Decides on a request for permission, or on a plan.
///
/// The role `approver` can allow or deny the request as it is. Changed arguments, a rule for the session and another
/// permission mode need the role `driver`; a stored rule needs the role `admin`. A rule is given by its index in the
/// request's suggestions, and the server derives the change of the settings from it.
#[utoipa::path(post, path = "/v1/sessions/{id}/permissions/{request_id}", tag = "answers",
    params(("id" = String, Path, description = "The session."), ("request_id" = String, Path, description = "The request.")),
    request_body = AnswerPermission, responses(
        (status = 200, description = "The decision was accepted.", body = Answered),
        (status = 409, description = "There was an earlier decision: `answered_by` says whose.", body = Details, content_type = "application/problem+json"),
    ))]
pub(crate) async fn permission(
    State(app): State<App>,
    Extension(who): Extension<Principal>,
    Path((id, request)): Path<(String, String)>,
    Json(body): Json<AnswerPermission>,
) -> Result<Response, Problem> {
    let id = session_id(&id)?;
    check_shape(&body)?;
    check_role(who.role, &body)?;
    if let Some(mode) = &body.permission_mode {
        check_mode(&app, mode)?;
    }
    if body.behavior == Behavior::Deny {
        let asked = app.host().request(&id, &RequestId::from(request.as_str())).await?;
        if asked.is_some_and(|asked| matches!(asked.kind, RequestKind::Elicitation { .. })) {
            let detail = "decline a form of an MCP server with `elicitations`, without a message";
            return Err(Problem::unprocessable("bad_answer", detail));
        }
        let message = body.message.filter(|message| !message.trim().is_empty());
        let decision = Decision::Deny {
            message: message.unwrap_or_else(|| DENIED.to_owned()),
            interrupt: body.interrupt.unwrap_or(false),
        };
        let said = format!("deny {request}");
        return decide(&app, &who, &id, request, decision, said).await;
    }
    let asked = app.host().request(&id, &RequestId::from(request.as_str())).await?;
    let asked = asked.ok_or(HostError::NoSuchRequest)?;
    let remember = remembered(&app, &who, &body, &asked)?;
    let mut said = format!("allow {request}");
    for update in &remember {
        // The audit log also records what else was allowed.
        said.push_str(&format!(" {}", json!(update)));
    }
    if body.updated_input.is_some() {
        said.push_str(" with other arguments");
    }
    let decision = Decision::Allow { input: body.updated_input.map(Value::Object), remember };
    decide(&app, &who, &id, request, decision, said).await
}

/// The changes of rules and mode that an approval makes.
fn remembered(
    app: &App,
    who: &Principal,
    body: &AnswerPermission,
    asked: &Request,
) -> Result<Vec<PermissionUpdate>, Problem> {
    let bad = |detail: &str| Err(Problem::unprocessable("bad_answer", detail));
    match &asked.kind {
        RequestKind::Permission(_) if body.permission_mode.is_some() => bad(
            "only the approval of a plan can have a permission_mode; use remember to accept a suggested mode",
        ),
        RequestKind::Permission(PermissionRequest { suggestions, context, .. }) => {
            let roots = &app.host().options().roots;
            let updates = updates(who.role, &body.remember, suggestions, context, roots)?;
            updates.iter().filter_map(PermissionUpdate::mode).try_for_each(|mode| check_mode(app, mode))?;
            Ok(updates)
        }
        RequestKind::Plan { .. } if !body.remember.is_empty() => bad("a plan has no suggestions to remember"),
        RequestKind::Plan { .. } => {
            let mode = body.permission_mode.as_deref().unwrap_or(ASKS);
            if mode == "plan" {
                return bad("a plan cannot be carried out in plan mode; deny it to keep planning");
            }
            // Without it the CLI returns to the mode before the plan, which may not ask for anything.
            Ok(vec![PermissionUpdate::set_mode(mode, RuleDestination::Session)])
        }
        // The engine reports what this kind of request needs instead.
        _ if body.remember.is_empty() && body.permission_mode.is_none() => Ok(Vec::new()),
        _ => bad("only a permission request has suggestions, and only a plan has a permission_mode"),
    }
}

/// Previews what a call that waits for permission would do to the file it writes.
///
/// The file is only read if it is below a root of the server after resolving all links, and up to 1 MiB; for other
/// files the preview only says that they exist.
#[utoipa::path(get, path = "/v1/sessions/{id}/permissions/{request_id}/preview", tag = "answers",
    params(("id" = String, Path, description = "The session."), ("request_id" = String, Path, description = "The request.")),
    responses(
        (status = 200, description = "The file after the change.", body = FilePreview),
        (status = 404, description = "No such open request, or it does not write a file.", body = Details, content_type = "application/problem+json"),
    ))]
pub(crate) async fn preview(
    State(app): State<App>,
    Path((id, request)): Path<(String, String)>,
) -> Answer<FilePreview> {
    let preview = app.host().preview(&session_id(&id)?, &RequestId::from(request.as_str())).await?;
    answer::ok(preview.ok_or_else(|| Problem::not_found("this request does not write a file"))?)
}

/// Answers questions, or declines them with a reason.
#[utoipa::path(post, path = "/v1/sessions/{id}/questions/{request_id}", tag = "answers",
    params(("id" = String, Path, description = "The session."), ("request_id" = String, Path, description = "The request.")),
    request_body = AnswerQuestion, responses(
        (status = 200, description = "The decision was accepted.", body = Answered),
        (status = 409, description = "There was an earlier answer: `answered_by` says whose.", body = Details, content_type = "application/problem+json"),
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
        (None, Some(reason)) => {
            let reason = if reason.trim().is_empty() { DECLINED.to_owned() } else { reason };
            (Decision::deny(reason), format!("decline {request}"))
        }
        _ => {
            let detail = "give either answers, or a reason to decline";
            return Err(Problem::unprocessable("bad_answer", detail));
        }
    };
    decide(&app, &who, &id, request, decision, said).await
}

/// Answers an elicitation of an MCP server: a form, or a link to visit.
#[utoipa::path(post, path = "/v1/sessions/{id}/elicitations/{request_id}", tag = "answers",
    params(("id" = String, Path, description = "The session."), ("request_id" = String, Path, description = "The request.")),
    request_body = AnswerElicitation, responses(
        (status = 200, description = "The decision was accepted.", body = Answered),
        (status = 409, description = "There was an earlier answer: `answered_by` says whose.", body = Details, content_type = "application/problem+json"),
    ))]
pub(crate) async fn elicitation(
    State(app): State<App>,
    Extension(who): Extension<Principal>,
    Path((id, request)): Path<(String, String)>,
    Json(body): Json<AnswerElicitation>,
) -> Result<Response, Problem> {
    let id = session_id(&id)?;
    if body.action != ElicitationAction::Accept && body.content.is_some() {
        return Err(Problem::unprocessable("bad_answer", "content is only allowed with the action accept"));
    }
    if body.action == ElicitationAction::Accept {
        let asked = app.host().request(&id, &RequestId::from(request.as_str())).await?;
        // The content could not be validated.
        if let Some(RequestKind::Elicitation { url: None, form: None, .. }) = asked.map(|asked| asked.kind) {
            let detail = "this kind of form cannot be answered here; decline it";
            return Err(Problem::unprocessable("bad_answer", detail));
        }
    }
    let mut value = json!({"action": body.action});
    if let (Some(content), Some(value)) = (body.content, value.as_object_mut()) {
        value.insert("content".to_owned(), Value::Object(content));
    }
    let said = format!("elicitation {request}");
    decide(&app, &who, &id, request, Decision::Value(value), said).await
}

async fn decide(
    app: &App,
    who: &Principal,
    id: &SessionId,
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
