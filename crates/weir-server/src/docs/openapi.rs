//! The OpenAPI document: what the routes declare, and what all of them have in common.

use utoipa::OpenApi as _;
use utoipa::openapi::path::{Operation, PathItem};
use utoipa::openapi::schema::{AdditionalProperties, AllOf, Components, Object};
use utoipa::openapi::security::{Http, HttpAuthScheme, SecurityScheme};
use utoipa::openapi::{OpenApi, RefOr, Schema, Server};

use super::problems;
use crate::api::{document, types};
use crate::openai::described;
use crate::problem::Details;

/// The general part. Its schemas are those that the routes do not bring along: the events of streams, for which OpenAPI
/// 3.1 has no place, common errors, and the types of parameters.
#[derive(utoipa::OpenApi)]
#[openapi(
    info(
        title = "Weir",
        description = "Watch, answer and stop agents. Times are milliseconds since 1970. Errors are problem details \
            (RFC 9457); `code` tells them apart.",
    ),
    components(schemas(
        Details,
        weir_openai::body::OpenAiProblem,
        described::ToolsOption,
        weir_transcript::AgentEvent,
        weir_transcript::ClassicEvent,
        weir_host::MessageOutcome,
        weir_host::HelloEvent,
        weir_host::SnapshotEvent,
        weir_host::ChangesEvent,
        weir_host::MessagesEvent,
        weir_host::HeartbeatEvent,
        weir_host::LogEvent,
        types::EventFormat,
        types::CostFormat,
        types::ExportFormat,
        types::MessageEventFormat,
        types::ByeEvent,
        types::SessionsEvent,
        types::RemovedEvent,
        types::LoopReportForm,
    )),
    security(("token" = [])),
    tags(
        (name = "sessions", description = "Sessions"),
        (name = "messages", description = "Messages to the agent"),
        (name = "answers", description = "Decisions and answers of people"),
        (name = "client tools", description = "Client tools that the agent calls"),
        (name = "control", description = "Immediate control of a session"),
        (name = "folders", description = "Trust in folders, and git worktrees"),
        (name = "panels", description = "What the CLI of a session says about itself"),
        (name = "review", description = "Changes of a session's folder, reverts and commits"),
        (name = "loop", description = "The unattended loop that runs in the server's process"),
        (name = "events", description = "Streams of server-sent events"),
        (name = "history", description = "Transcript, log and exports"),
        (name = "tokens", description = "Tokens, share links and the audit log"),
        (name = "health", description = "Health and metrics"),
        (name = "openai", description = "For clients of OpenAI's API"),
    ),
)]
struct General;

/// The OpenAPI document as JSON, for a server with this base path.
pub fn openapi(base_path: &str) -> String {
    let mut document = document(General::openapi());
    let address = if base_path.is_empty() { "/" } else { base_path };
    document.servers = Some(vec![Server::new(address)]);
    if let Some(components) = &mut document.components {
        components.add_security_scheme("token", SecurityScheme::Http(Http::new(HttpAuthScheme::Bearer)));
        join_parts(components, "CreateSession");
        // Nothing refers to it any more.
        components.schemas.remove("SessionSpec");
    }
    for operation in operations(&mut document) {
        name(operation);
        problems::add(operation);
    }
    // Plain data, which always serializes. The formats of unsigned numbers are called `uint32` and so on, and utoipa
    // writes `u-int32`.
    document.to_pretty_json().unwrap_or_default().replace("\"format\": \"u-int", "\"format\": \"uint")
}

fn operations(document: &mut OpenApi) -> impl Iterator<Item = &mut Operation> {
    document.paths.paths.values_mut().flat_map(|item| {
        let PathItem { get, put, post, patch, delete, .. } = item;
        [get, put, post, patch, delete].into_iter().flatten()
    })
}

/// Handlers have names that are unique in their module; operation ids must be unique.
fn name(operation: &mut Operation) {
    let family = operation.tags.iter().flatten().next();
    let name = operation.operation_id.as_ref();
    operation.operation_id = family.zip(name).map(|(family, name)| format!("{family}_{name}"));
}

/// Joins a schema that consists of several objects, because its type has a part of its own, into one that says that
/// there are no other fields: `allOf` cannot say that.
fn join_parts(components: &mut Components, name: &str) {
    let Some(RefOr::T(Schema::AllOf(AllOf { items, description, .. }))) = components.schemas.get(name) else {
        return;
    };
    let mut joined = Object::new();
    joined.description = description.clone();
    joined.additional_properties = Some(Box::new(AdditionalProperties::FreeForm(false)));
    for part in items {
        let part = match part {
            RefOr::Ref(target) => {
                target.ref_location.rsplit('/').next().and_then(|name| components.schemas.get(name))
            }
            RefOr::T(_) => Some(part),
        };
        if let Some(RefOr::T(Schema::Object(part))) = part {
            joined.properties.extend(part.properties.clone());
            joined.required.extend(part.required.clone());
        }
    }
    components.schemas.insert(name.to_owned(), Schema::Object(joined).into());
}
