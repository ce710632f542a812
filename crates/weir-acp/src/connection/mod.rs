//! A connection with an editor: its requests, and the sessions that it has opened.

mod asking;
mod attached;
mod editor;
mod lists;
mod opening;
mod prompting;
mod pump;
mod settings;
#[cfg(feature = "draft-v2")]
mod state;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agent_client_protocol::schema::ProtocolVersion;
use agent_client_protocol::v1::schema::{
    AgentCapabilities, AuthMethod, AuthMethodAgent, AuthenticateResponse, ClientNotification, ClientRequest,
    CloseSessionResponse, Implementation, InitializeRequest, InitializeResponse, McpCapabilities,
    PromptCapabilities, SessionAdditionalDirectoriesCapabilities, SessionCapabilities,
    SessionCloseCapabilities, SessionDeleteCapabilities, SessionForkCapabilities, SessionListCapabilities,
    SessionResumeCapabilities,
};
use agent_client_protocol::v1::{ConnectionTo, Responder};
use agent_client_protocol::{Agent, Client, ConnectTo, Error, on_receive_notification, on_receive_request};
use serde_json::Value;
use weir_host::{Host, SessionId};

use crate::agent::AcpAgent;
use crate::extras::Extras;
use crate::guard::{Guard, Right};
use crate::outbox::Outbox;
use crate::translate::Features;
use crate::translate::failure::{forbidden, host_error, invalid, session_not_found};
pub(crate) use attached::Attached;
pub(crate) use editor::Editor;
#[cfg(feature = "draft-v2")]
pub(crate) use prompting::Waiting;

/// The name of the only way to log in.
pub(crate) const LOGIN: &str = "claude-login";

/// Its title.
pub(crate) const LOGIN_TITLE: &str = "Log in to Claude Code";

/// What the person has to do.
pub(crate) const HOW_TO_LOG_IN: &str =
    "Run `claude` in a terminal and use /login there, or set ANTHROPIC_API_KEY for Weir; then continue here";

/// A connection.
pub(crate) struct Connection {
    pub(crate) host: Host,
    pub(crate) guard: Arc<dyn Guard>,
    pub(crate) extras: Option<Extras>,
    pub(crate) outbox: Outbox,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// What the editor can show; none before it has said so.
    features: Option<Features>,
    sessions: HashMap<SessionId, Arc<Attached>>,
}

/// Speaks with an editor until it closes its end.
pub(crate) async fn serve(
    agent: AcpAgent,
    outbox: Outbox,
    transport: impl ConnectTo<Agent> + 'static,
) -> Result<(), Error> {
    let connection = Arc::new(Connection {
        host: agent.host,
        guard: agent.guard,
        extras: agent.extras,
        outbox,
        state: Mutex::default(),
    });
    let stable = Stable(Arc::clone(&connection));
    #[cfg(feature = "draft-v2")]
    let stable = {
        let draft = crate::draft::Draft(Arc::clone(&connection));
        Agent.protocol_router().with_v1(stable).with_v2(draft)
    };
    let served = stable.connect_to(transport).await;
    connection.leave();
    served
}

/// Version 1 of the protocol.
struct Stable(Arc<Connection>);

impl ConnectTo<Client> for Stable {
    async fn connect_to(self, client: impl ConnectTo<Agent>) -> Result<(), Error> {
        let (requests, notifications) = (Arc::clone(&self.0), self.0);
        Agent
            .v1()
            .name("weir")
            .on_receive_request(
                async move |request: ClientRequest,
                            responder: Responder<Value>,
                            editor: ConnectionTo<Client>| {
                    requests.receive(request, responder, Editor::Stable(editor));
                    Ok(())
                },
                on_receive_request!(),
            )
            .on_receive_notification(
                async move |notification: ClientNotification, _editor: ConnectionTo<Client>| {
                    if let ClientNotification::CancelNotification(cancel) = &notification {
                        notifications.cancel_in(&cancel.session_id.0);
                    }
                    Ok(())
                },
                on_receive_notification!(),
            )
            .connect_to(client)
            .await
    }
}

impl Connection {
    fn lock(&self) -> MutexGuard<'_, State> {
        // No statement under the lock can panic halfway through.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a request. Its answer is made in a task of its own, so that a cancellation is never behind it.
    fn receive(self: &Arc<Self>, request: ClientRequest, responder: Responder<Value>, editor: Editor) {
        let connection = Arc::clone(self);
        // A prompt is known as soon as it has come, so that a cancellation right behind it finds it.
        let prompt = match &request {
            ClientRequest::PromptRequest(request) => connection
                .session(&request.session_id.0)
                .ok()
                .map(|id| connection.expect_prompt(&id, &editor)),
            _ => None,
        };
        tokio::spawn(async move {
            let answer = match request {
                ClientRequest::PromptRequest(request) => match prompt {
                    Some(Ok(waiting)) => {
                        let cancellation = responder.cancellation();
                        connection.prompt(waiting, request.prompt, cancellation).await.and_then(json)
                    }
                    Some(Err(error)) => Err(error),
                    None => Err(session_not_found(&request.session_id.0)),
                },
                request => connection.answer(request, &editor).await,
            };
            let opened = connection.opened_by(&answer);
            connection.outbox.put();
            // The editor may have gone.
            let _ = responder.respond_with_result(answer);
            opened.inspect(|opened| opened.begin());
        });
    }

    /// The session that an answer opens. Editors know it only then, so nothing of it is told before.
    pub(crate) fn opened_by(&self, answer: &Result<Value, Error>) -> Option<Arc<Attached>> {
        let id = answer.as_ref().ok()?.get("sessionId")?.as_str()?;
        self.attached(&self.session(id).ok()?)
    }

    /// Answers a request that is not a prompt.
    pub(crate) async fn answer(
        self: &Arc<Self>,
        request: ClientRequest,
        editor: &Editor,
    ) -> Result<Value, Error> {
        if let ClientRequest::InitializeRequest(request) = request {
            return json(self.initialize(&request)?);
        }
        let features = self.features()?;
        match request {
            ClientRequest::AuthenticateRequest(request) => {
                authenticate(&request.method_id.0)?;
                json(AuthenticateResponse::new())
            }
            ClientRequest::NewSessionRequest(request) => json(self.create(request, features, editor).await?),
            ClientRequest::LoadSessionRequest(request) => json(self.load(request, features, editor).await?),
            ClientRequest::ResumeSessionRequest(request) => {
                json(self.resume(request, features, editor).await?)
            }
            ClientRequest::ForkSessionRequest(request) => json(self.fork(request, features, editor).await?),
            ClientRequest::ListSessionsRequest(request) => json(self.list(request).await?),
            ClientRequest::DeleteSessionRequest(request) => json(self.delete(&request.session_id.0).await?),
            ClientRequest::CloseSessionRequest(request) => {
                self.close(&request.session_id.0)?;
                json(CloseSessionResponse::new())
            }
            ClientRequest::SetSessionModeRequest(request) => json(self.set_mode(&request).await?),
            ClientRequest::SetSessionConfigOptionRequest(request) => json(self.set_option(&request).await?),
            _ => Err(Error::method_not_found()),
        }
    }

    /// Ends what the editor waits for in a session, if it may.
    pub(crate) fn cancel_in(&self, session: &str) {
        if let Ok(id) = self.session(session)
            && self.may(Right::Answer).is_ok()
        {
            self.cancel(&id);
        }
    }

    fn initialize(&self, request: &InitializeRequest) -> Result<InitializeResponse, Error> {
        self.greet(Features::of(&request.client_capabilities))?;
        let is_owner = self.takes_extras();
        let sessions = SessionCapabilities::new()
            .list(SessionListCapabilities::new())
            .delete(SessionDeleteCapabilities::new())
            .resume(SessionResumeCapabilities::new())
            .close(SessionCloseCapabilities::new())
            .fork(SessionForkCapabilities::new())
            .additional_directories(is_owner.then(SessionAdditionalDirectoriesCapabilities::new));
        let capabilities = AgentCapabilities::new()
            .load_session(true)
            .prompt_capabilities(PromptCapabilities::new().image(true).embedded_context(true))
            .mcp_capabilities(McpCapabilities::new().http(is_owner).sse(is_owner))
            .session_capabilities(sessions);
        let login = AuthMethodAgent::new(LOGIN, LOGIN_TITLE).description(HOW_TO_LOG_IN.to_owned());
        Ok(InitializeResponse::new(ProtocolVersion::V1)
            .agent_capabilities(capabilities)
            .auth_methods(vec![AuthMethod::Agent(login)])
            .agent_info(Implementation::new("weir", env!("CARGO_PKG_VERSION")).title("Weir".to_owned())))
    }

    /// Notes what the editor can show.
    fn greet(&self, features: Features) -> Result<(), Error> {
        let mut state = self.lock();
        if state.features.is_some() {
            return Err(Error::new(Error::invalid_request().code, "the connection is initialized already"));
        }
        state.features = Some(features);
        Ok(())
    }

    /// Notes what the editor can show; the library has checked that it may say so.
    #[cfg(feature = "draft-v2")]
    pub(crate) fn greet_again(&self, features: Features) {
        self.lock().features = Some(features);
    }

    /// Whether MCP servers and further folders of the editor are used.
    pub(crate) fn takes_extras(&self) -> bool {
        self.guard.is_owner() && self.extras.is_some()
    }

    /// What the editor can show.
    pub(crate) fn features(&self) -> Result<Features, Error> {
        let order = || Error::new(Error::invalid_request().code, "send initialize first");
        self.lock().features.ok_or_else(order)
    }

    /// Whether the editor may do this now.
    pub(crate) fn may(&self, right: Right) -> Result<(), Error> {
        match self.guard.right() {
            Some(has) if has >= right => Ok(()),
            Some(_) => Err(forbidden(match right {
                Right::Drive => "this needs the role driver; ask for another token",
                Right::Answer => "this needs the role approver; ask for another token",
                Right::Watch => "this needs the role viewer; ask for another token",
            })),
            None => Err(forbidden("the access has ended: the token was revoked or has expired")),
        }
    }

    /// The session with this id, if the editor may know of it.
    pub(crate) fn session(&self, id: &str) -> Result<SessionId, Error> {
        let found = id.parse::<SessionId>().ok().filter(|id| self.guard.may_see(id));
        found.ok_or_else(|| session_not_found(id))
    }

    /// A session that the editor has opened.
    fn attached(&self, id: &SessionId) -> Option<Arc<Attached>> {
        self.lock().sessions.get(id).map(Arc::clone)
    }

    /// Lets go of a session. What the editor has asked it to do is cancelled; the session lives on for others.
    pub(crate) fn close(&self, session: &str) -> Result<(), Error> {
        let id = self.session(session)?;
        if let Some(attached) = self.attached(&id) {
            if !attached.has_no_prompt() {
                self.cancel(&id);
            }
            self.detach(&id);
        }
        Ok(())
    }

    /// Lets go of a session as it is.
    fn detach(&self, id: &SessionId) {
        if let Some(attached) = self.lock().sessions.remove(id) {
            attached.end();
        }
    }

    /// The editor has gone. Its turns run on: it may come back.
    fn leave(&self) {
        for (_, attached) in self.lock().sessions.drain() {
            attached.end();
        }
    }

    /// Checks that a session exists.
    async fn exists(&self, id: &SessionId) -> Result<weir_host::SessionInfo, Error> {
        self.host.info(id).await.map_err(|error| host_error(&error))
    }
}

/// The CLI logs in by itself, in a terminal; here the editor is only let through.
pub(crate) fn authenticate(method: &str) -> Result<(), Error> {
    if method == LOGIN {
        return Ok(());
    }
    Err(invalid(format!("unknown method {method:?}; the only one is {LOGIN}")))
}

pub(crate) fn json(value: impl serde::Serialize) -> Result<Value, Error> {
    serde_json::to_value(value).map_err(Error::into_internal_error)
}
