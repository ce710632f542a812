//! History of a session: transcript, log, exports, diffs, full tool outputs, pictures, documents.

use axum::Extension;
use axum::body::Body;
use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse as _, Response};
use futures_util::{StreamExt as _, stream};
use weir_host::{Document, Export, ExportFormat as HostFormat, Image, SearchQuery, Snippet};
use weir_wire::{MessageId, ToolUseId};

use super::answer::{self, Answer};
use super::errors::session_id;
use super::types::{
    DocumentBytes, ExportFormat, ExportParams, LogParams, PictureBytes, SearchParams, SearchResult,
    SearchResults, SessionDiff, SnippetPart, TranscriptPage, TranscriptParams,
};
use crate::auth::Principal;
use crate::extract::{Path, Query};
use crate::problem::Problem;
use crate::state::App;

/// Maximum entries per page.
const MAX_LIMIT: usize = 1000;

/// Entries per page if the client gives no limit.
const DEFAULT_LIMIT: usize = 100;

/// Results of a search if the client gives no limit, and at most.
const DEFAULT_RESULTS: usize = 20;
const MAX_RESULTS: usize = 100;
const HITS_PER_RESULT: usize = 4;

/// The transcript, newest first.
#[utoipa::path(get, path = "/v1/sessions/{id}/transcript", tag = "history",
    params(("id" = String, Path, description = "The session."), TranscriptParams),
    responses((status = 200, description = "A page of the transcript.", body = TranscriptPage)))]
pub(crate) async fn transcript(
    State(app): State<App>,
    Path(id): Path<String>,
    Query(params): Query<TranscriptParams>,
) -> Answer<TranscriptPage> {
    let limit = params.limit.unwrap_or(DEFAULT_LIMIT);
    if !(1..=MAX_LIMIT).contains(&limit) {
        return Err(Problem::bad_request("limit", format!("limit must be 1 to {MAX_LIMIT}")));
    }
    let page = app.host().transcript(&session_id(&id)?, params.before, limit).await?;
    answer::ok(TranscriptPage { entries: page.entries, next_before: page.next_before, seq: page.seq })
}

/// Finds what people and agents said, in the sessions that the token may see.
#[utoipa::path(get, path = "/v1/search", tag = "history", params(SearchParams),
    responses((status = 200, description = "What was found.", body = SearchResults)))]
pub(crate) async fn search(
    State(app): State<App>,
    Extension(who): Extension<Principal>,
    Query(params): Query<SearchParams>,
) -> Answer<SearchResults> {
    let limit = params.limit.unwrap_or(DEFAULT_RESULTS);
    if !(1..=MAX_RESULTS).contains(&limit) {
        return Err(Problem::bad_request("limit", format!("limit must be 1 to {MAX_RESULTS}")));
    }
    let session = who.session.as_deref().map(session_id).transpose()?;
    // Several hits may be in one session, of which the best is enough.
    let query = SearchQuery { session, limit: limit * HITS_PER_RESULT, ..SearchQuery::new(params.text) };
    let mut results: Vec<SearchResult> = Vec::new();
    for hit in app.host().search(query).await? {
        let id = hit.session.to_string();
        if results.len() >= limit {
            break;
        }
        if results.iter().any(|result| result.session.id == id) {
            continue;
        }
        // It may have been deleted since.
        let Ok(session) = app.host().info(&hit.session).await else { continue };
        results.push(SearchResult { session, at: hit.at, snippet: parts(&hit.snippet) });
    }
    answer::ok(SearchResults { results })
}

/// The text of a snippet, divided where its marks begin and end.
fn parts(snippet: &Snippet) -> Vec<SnippetPart> {
    let mut parts = Vec::new();
    let mut add = |text: Option<&str>, matches: bool| {
        let text = text.unwrap_or_default().to_owned();
        if !text.is_empty() {
            parts.push(SnippetPart { text, matches });
        }
    };
    let mut from = 0;
    for mark in &snippet.marks {
        add(snippet.text.get(from..mark.start), false);
        add(snippet.text.get(mark.clone()), true);
        from = mark.end;
    }
    add(snippet.text.get(from..), false);
    parts
}

/// The log: one object with `seq`, `at`, `kind` and `payload` per line.
#[utoipa::path(get, path = "/v1/sessions/{id}/log", tag = "history",
    params(("id" = String, Path, description = "The session."), LogParams),
    responses((status = 200, description = "The events, the oldest first.", body = String, content_type = "application/x-ndjson")))]
pub(crate) async fn log(
    State(app): State<App>,
    Path(id): Path<String>,
    Query(params): Query<LogParams>,
) -> Result<Response, Problem> {
    let lines = app.host().log_lines(&session_id(&id)?, params.after.unwrap_or(0)).await?;
    Ok(([(header::CONTENT_TYPE, "application/x-ndjson")], pieces(lines)).into_response())
}

/// A streamed body. If reading fails the body is aborted, because the status has already been sent.
fn pieces(export: Export) -> Body {
    let pieces = stream::unfold(export, |mut export| async move {
        let piece = export.next().await?;
        if let Err(error) = &piece {
            tracing::error!(%error, "cannot read a log to its end");
        }
        Some((piece, export))
    });
    // The compression layer polls once more after the end.
    Body::from_stream(pieces.fuse())
}

/// Exports the session as a file.
#[utoipa::path(get, path = "/v1/sessions/{id}/export", tag = "history",
    params(("id" = String, Path, description = "The session."), ExportParams),
    responses((status = 200, description = "The file.", content(
        (String = "text/html"), (String = "text/markdown"), (String = "application/x-ndjson")))))]
pub(crate) async fn export(
    State(app): State<App>,
    Path(id): Path<String>,
    Query(params): Query<ExportParams>,
) -> Result<Response, Problem> {
    let id = session_id(&id)?;
    let (format, kind, ending) = match params.format {
        ExportFormat::Html => (HostFormat::Html, "text/html; charset=utf-8", "html"),
        ExportFormat::Md => (HostFormat::Markdown, "text/markdown; charset=utf-8", "md"),
        ExportFormat::Ndjson => (HostFormat::Ndjson, "application/x-ndjson", "ndjson"),
    };
    let export = app.host().export(&id, format).await?;
    // Downloaded instead of displayed, because the content is untrusted. An id is safe in a file name.
    let headers = [
        (header::CONTENT_TYPE, kind.to_owned()),
        (header::CONTENT_DISPOSITION, format!("attachment; filename=\"session-{id}.{ending}\"")),
    ];
    Ok((headers, pieces(export)).into_response())
}

/// All file changes of a session.
#[utoipa::path(get, path = "/v1/sessions/{id}/diff", tag = "history", params(("id" = String, Path, description = "The session.")),
    responses((status = 200, description = "The files.", body = SessionDiff)))]
pub(crate) async fn diff(State(app): State<App>, Path(id): Path<String>) -> Answer<SessionDiff> {
    answer::ok(SessionDiff { files: app.host().diff(&session_id(&id)?).await? })
}

/// The full output of a tool call, of which the view keeps the beginning and the end.
#[utoipa::path(get, path = "/v1/sessions/{id}/tools/{tool_use_id}/output", tag = "history",
    params(("id" = String, Path, description = "The session."), ("tool_use_id" = String, Path, description = "The call.")),
    responses((status = 200, description = "The output.", body = String, content_type = "text/plain")))]
pub(crate) async fn tool_output(
    State(app): State<App>,
    Path((id, tool)): Path<(String, String)>,
) -> Result<Response, Problem> {
    let output = app.host().tool_output(&session_id(&id)?, &ToolUseId::from(tool.as_str())).await?;
    Ok(([(header::CONTENT_TYPE, "text/plain; charset=utf-8")], output).into_response())
}

/// A picture returned by a tool call.
#[utoipa::path(get, path = "/v1/sessions/{id}/tools/{tool_use_id}/images/{number}", tag = "history",
    params(("id" = String, Path, description = "The session."), ("tool_use_id" = String, Path, description = "The call."),
        ("number" = usize, Path, description = "Index of the picture, from 0.")),
    responses((status = 200, description = "The picture.", content(
        (PictureBytes = "image/png"), (PictureBytes = "image/jpeg"), (PictureBytes = "image/gif"), (PictureBytes = "image/webp"),
        (PictureBytes = "application/octet-stream")))))]
pub(crate) async fn tool_image(
    State(app): State<App>,
    Path((id, tool, number)): Path<(String, String, usize)>,
) -> Result<Response, Problem> {
    picture(app.host().tool_pictures(&session_id(&id)?, &ToolUseId::from(tool.as_str())).await?, number)
}

/// A picture sent with a message.
#[utoipa::path(get, path = "/v1/sessions/{id}/messages/{message_id}/images/{number}", tag = "history",
    params(("id" = String, Path, description = "The session."), ("message_id" = String, Path, description = "The message."),
        ("number" = usize, Path, description = "Index of the picture, from 0.")),
    responses((status = 200, description = "The picture.", content(
        (PictureBytes = "image/png"), (PictureBytes = "image/jpeg"), (PictureBytes = "image/gif"), (PictureBytes = "image/webp"),
        (PictureBytes = "application/octet-stream")))))]
pub(crate) async fn message_image(
    State(app): State<App>,
    Path((id, message, number)): Path<(String, String, usize)>,
) -> Result<Response, Problem> {
    picture(app.host().message_pictures(&session_id(&id)?, &MessageId::from(message.as_str())).await?, number)
}

/// A document sent with a message.
#[utoipa::path(get, path = "/v1/sessions/{id}/messages/{message_id}/documents/{number}", tag = "history",
    params(("id" = String, Path, description = "The session."), ("message_id" = String, Path, description = "The message."),
        ("number" = usize, Path, description = "Index of the document, from 0.")),
    responses((status = 200, description = "The document, as a file to download.", content(
        (DocumentBytes = "application/pdf"), (String = "text/plain")))))]
pub(crate) async fn message_document(
    State(app): State<App>,
    Path((id, message, number)): Path<(String, String, usize)>,
) -> Result<Response, Problem> {
    let message = MessageId::from(message.as_str());
    let documents = app.host().message_documents(&session_id(&id)?, &message).await?;
    let document = documents.into_iter().nth(number);
    let Document { media_type, data, .. } =
        document.ok_or_else(|| Problem::not_found("no document with this number; the first is 0"))?;
    // A PDF may have scripts: it is saved, never shown as a part of the page's origin.
    let (kind, name) = match media_type.as_str() {
        "application/pdf" => ("application/pdf", "attachment; filename=\"document.pdf\""),
        _ => ("text/plain; charset=utf-8", "attachment; filename=\"document.txt\""),
    };
    let headers = [(header::CONTENT_TYPE, kind), (header::CONTENT_DISPOSITION, name)];
    Ok((headers, data).into_response())
}

/// One of these pictures. What a tool calls a picture can be anything, even a page with scripts, so only types that
/// browsers display and never execute keep their content type.
fn picture(images: Vec<Image>, number: usize) -> Result<Response, Problem> {
    let image = images.into_iter().nth(number);
    let Image { media_type, data } =
        image.ok_or_else(|| Problem::not_found("no picture with this number; the first is 0"))?;
    let known = ["image/png", "image/jpeg", "image/gif", "image/webp"];
    let kind = known.into_iter().find(|kind| *kind == media_type).unwrap_or("application/octet-stream");
    Ok(([(header::CONTENT_TYPE, kind)], data).into_response())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_snippet_is_divided_at_its_marks() {
        let part = |text: &str, matches| SnippetPart { text: text.to_owned(), matches };
        let snippet = Snippet { text: "…the größte weir".to_owned(), marks: vec![7..15, 16..20] };
        let expected = [part("…the ", false), part("größte", true), part(" ", false), part("weir", true)];
        assert_eq!(parts(&snippet), expected);
        let whole = Snippet { text: "nothing".to_owned(), marks: Vec::new() };
        assert_eq!(parts(&whole), [part("nothing", false)]);
        // A mark that is not on a boundary hides its text and does no harm.
        let inside = std::iter::once(0..1).collect();
        assert_eq!(parts(&Snippet { text: "ö".to_owned(), marks: inside }), []);
    }
}
