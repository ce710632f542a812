//! Requests of an editor.

use std::sync::Arc;

use agent_client_protocol::Error;
use agent_client_protocol::schema::ProtocolVersion;
use agent_client_protocol::v1::schema as v1;
use agent_client_protocol::v2::Responder;
use agent_client_protocol::v2::schema::{
    AgentCapabilities, AuthMethod, AuthMethodAgent, ClientRequest, Implementation, InitializeRequest,
    InitializeResponse, McpCapabilities, McpHttpCapabilities, McpStdioCapabilities, PromptCapabilities,
    PromptEmbeddedContextCapabilities, PromptImageCapabilities, PromptRequest, PromptResponse, ReplayFrom,
    SessionAdditionalDirectoriesCapabilities, SessionCapabilities, SessionConfigOptionValue,
    SessionDeleteCapabilities, SessionForkCapabilities,
};
use serde_json::Value;

use super::{same, updates};
use crate::connection::{Connection, Editor, HOW_TO_LOG_IN, LOGIN, LOGIN_TITLE, Waiting, json};
use crate::translate::Features;
use crate::translate::failure::{invalid, session_not_found};

/// Takes a request. Its answer is made in a task of its own, so that a cancellation is never behind it.
pub(super) fn receive(
    connection: &Arc<Connection>,
    request: ClientRequest,
    responder: Responder<Value>,
    editor: Editor,
) {
    let connection = Arc::clone(connection);
    let request = match request {
        ClientRequest::PromptRequest(request) => {
            // Known as soon as it has come, so that a cancellation right behind it finds it.
            let id = connection.session(&request.session_id.0);
            let waiting = id.and_then(|id| connection.expect_prompt(&id, &editor));
            tokio::spawn(prompt(connection, waiting, *request, responder));
            return;
        }
        request => request,
    };
    tokio::spawn(async move {
        let answer = answer(&connection, request, &editor).await;
        let opened = connection.opened_by(&answer);
        connection.outbox.put();
        // The editor may have gone.
        let _ = responder.respond_with_result(answer);
        opened.inspect(|opened| opened.begin());
    });
}

/// Answers a prompt once its message is in the log. It can be cancelled until its turn has ended.
async fn prompt(
    connection: Arc<Connection>,
    waiting: Result<Waiting, Error>,
    request: PromptRequest,
    responder: Responder<Value>,
) {
    let sent = async {
        let waiting = waiting?;
        let blocks = request.prompt.iter().map(same).collect::<Result<Vec<_>, _>>()?;
        drop(request);
        let accepted = connection.send_prompt(&waiting, blocks).await?;
        Ok((waiting, accepted.ok_or_else(Error::request_cancelled)?.message_id))
    };
    let sent = sent.await;
    connection.outbox.put();
    // The editor may have gone.
    match sent {
        Ok((waiting, message)) => {
            let response = PromptResponse::new(message.as_str().to_owned());
            let _ = responder.respond_with_result(json(response));
            // How it ends is told as the state of the session.
            let _ = connection.ended(&waiting, &message, std::future::pending()).await;
        }
        Err(error) => {
            let _ = responder.respond_with_result(Err(error));
        }
    }
}

async fn answer(
    connection: &Arc<Connection>,
    request: ClientRequest,
    editor: &Editor,
) -> Result<Value, Error> {
    let request = match request {
        ClientRequest::InitializeRequest(request) => return json(initialize(connection, &request)?),
        request => stable(request)?,
    };
    let mut answer = connection.answer(request, editor).await?;
    if let Some(members) = answer.as_object_mut() {
        // A mode is an option like the others.
        members.remove("modes");
        members.get_mut("configOptions").into_iter().for_each(updates::rename_options);
    }
    Ok(answer)
}

fn initialize(connection: &Connection, request: &InitializeRequest) -> Result<InitializeResponse, Error> {
    let elicitation = request.capabilities.elicitation.as_ref().map(same).transpose()?;
    connection.greet_again(Features::of_draft(elicitation.as_ref()));
    let is_owner = connection.takes_extras();
    let mcp = McpCapabilities::new().stdio(McpStdioCapabilities::new()).http(McpHttpCapabilities::new());
    let prompt = PromptCapabilities::new()
        .image(PromptImageCapabilities::new())
        .embedded_context(PromptEmbeddedContextCapabilities::new());
    let session = SessionCapabilities::new()
        .prompt(prompt)
        .mcp(is_owner.then_some(mcp))
        .delete(SessionDeleteCapabilities::new())
        .fork(SessionForkCapabilities::new())
        .additional_directories(is_owner.then(SessionAdditionalDirectoriesCapabilities::new));
    let login = AuthMethodAgent::new(LOGIN, LOGIN_TITLE).description(HOW_TO_LOG_IN.to_owned());
    let weir = Implementation::new("weir", env!("CARGO_PKG_VERSION")).title("Weir".to_owned());
    Ok(InitializeResponse::new(ProtocolVersion::V2, weir)
        .capabilities(AgentCapabilities::new().session(session))
        .auth_methods(vec![AuthMethod::Agent(login)]))
}

/// The same request in version 1.
fn stable(request: ClientRequest) -> Result<v1::ClientRequest, Error> {
    Ok(match request {
        ClientRequest::LoginAuthRequest(request) => {
            let method = request.method_id.0.to_string();
            v1::ClientRequest::AuthenticateRequest(v1::AuthenticateRequest::new(method))
        }
        ClientRequest::LogoutAuthRequest(_) => {
            return Err(invalid(
                "Weir does not log the CLI out; run `claude` in a terminal and use /logout there",
            ));
        }
        ClientRequest::NewSessionRequest(request) => {
            let new = v1::NewSessionRequest::new(request.cwd.0)
                .additional_directories(folders(request.additional_directories))
                .mcp_servers(servers(&request.mcp_servers)?);
            v1::ClientRequest::NewSessionRequest(new)
        }
        ClientRequest::ForkSessionRequest(request) => {
            let fork = v1::ForkSessionRequest::new(request.session_id.0.to_string(), request.cwd.0)
                .additional_directories(folders(request.additional_directories))
                .mcp_servers(servers(&request.mcp_servers)?);
            v1::ClientRequest::ForkSessionRequest(fork)
        }
        ClientRequest::ResumeSessionRequest(request) => {
            let (id, servers) = (request.session_id.0.to_string(), servers(&request.mcp_servers)?);
            let (cwd, folders) = (request.cwd.0, folders(request.additional_directories));
            match request.replay_from {
                None => v1::ClientRequest::ResumeSessionRequest(
                    v1::ResumeSessionRequest::new(id, cwd)
                        .additional_directories(folders)
                        .mcp_servers(servers),
                ),
                Some(ReplayFrom::Start(_)) => v1::ClientRequest::LoadSessionRequest(
                    v1::LoadSessionRequest::new(id, cwd).additional_directories(folders).mcp_servers(servers),
                ),
                Some(_) => return Err(invalid("a session can be replayed from its start only")),
            }
        }
        ClientRequest::ListSessionsRequest(request) => {
            v1::ClientRequest::ListSessionsRequest(same(&request)?)
        }
        ClientRequest::DeleteSessionRequest(request) => {
            v1::ClientRequest::DeleteSessionRequest(same(&request)?)
        }
        ClientRequest::CloseSessionRequest(request) => {
            v1::ClientRequest::CloseSessionRequest(same(&request)?)
        }
        ClientRequest::SetSessionConfigOptionRequest(request) => {
            let SessionConfigOptionValue::Id { value } = request.value else {
                return Err(invalid(format!("the option {} takes one of its values", request.config_id.0)));
            };
            let (session, option) = (request.session_id.0.to_string(), request.config_id.0.to_string());
            let value = v1::SessionConfigValueId::new(value.0);
            let set = v1::SetSessionConfigOptionRequest::new(session, option, value);
            v1::ClientRequest::SetSessionConfigOptionRequest(set)
        }
        ClientRequest::CancelToolCallRequest(request) => {
            return Err(uncancellable(&request.session_id.0, "the call", &request.tool_call_id.0));
        }
        ClientRequest::CancelTerminalRequest(request) => {
            return Err(uncancellable(&request.session_id.0, "the terminal", &request.terminal_id.0));
        }
        _ => return Err(Error::method_not_found()),
    })
}

fn uncancellable(session: &str, what: &str, id: &str) -> Error {
    if session.is_empty() {
        return session_not_found(session);
    }
    invalid(format!("{what} {id} cannot be cancelled on its own; cancel the turn"))
}

fn folders(folders: Vec<agent_client_protocol::v2::schema::AbsolutePath>) -> Vec<std::path::PathBuf> {
    folders.into_iter().map(|folder| folder.0).collect()
}

fn servers(servers: &[agent_client_protocol::v2::schema::McpServer]) -> Result<Vec<v1::McpServer>, Error> {
    servers.iter().map(same).collect()
}
