//! The unattended loop that runs in the same process: what it is doing, its report, and a person's commands to it.

use axum::Extension;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse as _, Response};

use super::answer::{self, Answer};
use super::folders::for_all_sessions;
use super::types::{
    AnswerLoop, LoopAnswer, LoopReportForm, LoopReportParams, LoopTaskList, LoopTasksParams, PauseLoop,
};
use crate::auth::Principal;
use crate::extract::{Json, Path, Query};
use crate::guard::Audited;
use crate::loops::{LoopOrder, LoopRun};
use crate::problem::{Details, Problem};
use crate::state::App;

/// How many tasks are listed at most.
const MAX_LISTED: usize = 500;

/// How many if nothing is said.
const LISTED: usize = 100;

fn run(app: &App, who: &Principal) -> Result<LoopRun, Problem> {
    for_all_sessions(who)?;
    app.loops().run().ok_or_else(|| Problem::not_found("no loop runs in this server"))
}

/// Shows the loop that runs in this server: what it is doing, its limits, and what waits for a person. `run` is `null` if
/// there is none.
#[utoipa::path(get, path = "/v1/loop", tag = "loop",
    responses((status = 200, description = "The run.", body = LoopAnswer)))]
pub(crate) async fn loop_show(
    State(app): State<App>,
    Extension(who): Extension<Principal>,
) -> Answer<LoopAnswer> {
    for_all_sessions(&who)?;
    answer::ok(LoopAnswer { run: app.loops().run().map(|run| run.view()) })
}

/// Lists the tasks of the loop.
#[utoipa::path(get, path = "/v1/loop/tasks", tag = "loop", params(LoopTasksParams), responses(
    (status = 200, description = "The tasks.", body = LoopTaskList),
    (status = 404, description = "No loop runs in this server.", body = Details, content_type = "application/problem+json"),
))]
pub(crate) async fn loop_tasks(
    State(app): State<App>,
    Extension(who): Extension<Principal>,
    Query(params): Query<LoopTasksParams>,
) -> Answer<LoopTaskList> {
    let limit = params.limit.unwrap_or(LISTED);
    if limit == 0 || limit > MAX_LISTED {
        let detail = format!("limit must be between 1 and {MAX_LISTED}");
        return Err(Problem::unprocessable("bad_query", detail));
    }
    answer::ok(run(&app, &who)?.tasks(params.state, params.offset, limit))
}

/// The report of the loop: what needs a person, then for each task the gates, changes, costs and sessions.
#[utoipa::path(get, path = "/v1/loop/report", tag = "loop", params(LoopReportParams), responses(
    (status = 200, description = "The report. The schema of the JSON form: `weir loop report --schema`.", content(
        (serde_json::Value = "application/json"), (String = "text/markdown"), (String = "text/html"),
    )),
    (status = 404, description = "No loop runs in this server.", body = Details, content_type = "application/problem+json"),
))]
pub(crate) async fn loop_report(
    State(app): State<App>,
    Extension(who): Extension<Principal>,
    Query(params): Query<LoopReportParams>,
) -> Result<Response, Problem> {
    let run = run(&app, &who)?;
    let made = tokio::task::spawn_blocking(move || run.report(params.form)).await;
    let text = made.map_err(|error| Problem::internal(&error))?.map_err(|error| Problem::internal(&error))?;
    let (kind, name) = match params.form {
        LoopReportForm::Json => ("application/json", "report.json"),
        LoopReportForm::Markdown => ("text/markdown; charset=utf-8", "report.md"),
        LoopReportForm::Html => ("text/html; charset=utf-8", "report.html"),
    };
    // It is opened as a file and not as a page of this server: what sessions have said is in it.
    let how = format!("attachment; filename=\"{name}\"");
    Ok(([(header::CONTENT_TYPE, kind.to_owned()), (header::CONTENT_DISPOSITION, how)], text).into_response())
}

/// Pauses the loop, or ends a pause. Sessions that are at work go on and are judged.
#[utoipa::path(post, path = "/v1/loop/pause", tag = "loop", request_body = PauseLoop, responses(
    (status = 204, description = "It is in the saved state of the run."),
    (status = 404, description = "No loop runs in this server.", body = Details, content_type = "application/problem+json"),
))]
pub(crate) async fn loop_pause(
    State(app): State<App>,
    Extension(who): Extension<Principal>,
    Json(body): Json<PauseLoop>,
) -> Result<Response, Problem> {
    let run = run(&app, &who)?;
    let said = if body.paused { "pause" } else { "unpause" };
    order(&run, LoopOrder::Pause(body.paused), &who, said.to_owned()).await
}

/// Skips a task. If it is being worked on, its session ends, and its work is kept on a branch.
#[utoipa::path(post, path = "/v1/loop/tasks/{task}/skip", tag = "loop",
    params(("task" = String, Path, description = "The name of the task.")), responses(
    (status = 204, description = "It is in the saved state of the run."),
    (status = 409, description = "The task cannot be skipped now.", body = Details, content_type = "application/problem+json"),
))]
pub(crate) async fn loop_skip(
    State(app): State<App>,
    Extension(who): Extension<Principal>,
    Path(task): Path<String>,
) -> Result<Response, Problem> {
    let run = run(&app, &who)?;
    let said = format!("skip {task}");
    order(&run, LoopOrder::Skip(task), &who, said).await
}

/// Retries a task that was given up or skipped.
#[utoipa::path(post, path = "/v1/loop/tasks/{task}/retry", tag = "loop",
    params(("task" = String, Path, description = "The name of the task.")), responses(
    (status = 204, description = "It is in the saved state of the run."),
    (status = 409, description = "There is nothing to retry.", body = Details, content_type = "application/problem+json"),
))]
pub(crate) async fn loop_retry(
    State(app): State<App>,
    Extension(who): Extension<Principal>,
    Path(task): Path<String>,
) -> Result<Response, Problem> {
    let run = run(&app, &who)?;
    let said = format!("retry {task}");
    order(&run, LoopOrder::Retry(task), &who, said).await
}

/// Answers what a session of the loop asks.
#[utoipa::path(post, path = "/v1/loop/questions/{question}", tag = "loop",
    params(("question" = String, Path, description = "The id of the question.")), request_body = AnswerLoop, responses(
    (status = 204, description = "It is in the saved state of the run."),
    (status = 409, description = "The answer is invalid, or the question is no longer open.", body = Details, content_type = "application/problem+json"),
))]
pub(crate) async fn loop_answer(
    State(app): State<App>,
    Extension(who): Extension<Principal>,
    Path(question): Path<String>,
    Json(body): Json<AnswerLoop>,
) -> Result<Response, Problem> {
    let run = run(&app, &who)?;
    let said = format!("answer {question}");
    order(&run, LoopOrder::Answer { question, answers: body.answers }, &who, said).await
}

async fn order(run: &LoopRun, order: LoopOrder, who: &Principal, said: String) -> Result<Response, Problem> {
    run.order(order, who.name.clone()).await.map_err(|why| Problem::conflict("loop", why))?;
    let mut response = StatusCode::NO_CONTENT.into_response();
    response.extensions_mut().insert(Audited(said));
    Ok(response)
}
