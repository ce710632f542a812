//! Opening sessions: new ones, old ones with their history, and copies.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use agent_client_protocol::Error;
use agent_client_protocol::v1::schema::{
    ForkSessionRequest, ForkSessionResponse, LoadSessionRequest, LoadSessionResponse, McpServer, Meta,
    NewSessionRequest, NewSessionResponse, ResumeSessionRequest, ResumeSessionResponse, SessionConfigOption,
    SessionModeState,
};
use serde_json::json;
use weir_host::{NewSession, SessionId, SessionInfo};

use super::attached::Attached;
use super::pump::Pump;
use super::{Connection, Editor};
use crate::guard::Right;
use crate::translate::failure::{forbidden, host_error, invalid};
use crate::translate::options::{self, Chosen};
use crate::translate::projection::Projection;
use crate::translate::{Features, meta};

/// What an editor brings to a session.
struct Brought {
    folders: Vec<PathBuf>,
    servers: Vec<McpServer>,
}

impl Connection {
    pub(super) async fn create(
        self: &Arc<Self>,
        request: NewSessionRequest,
        features: Features,
        editor: &Editor,
    ) -> Result<NewSessionResponse, Error> {
        self.may(Right::Drive)?;
        self.guard.may_begin(None).map_err(forbidden)?;
        let cwd = text(&request.cwd)?;
        let mut new = NewSession::new(cwd);
        new.origin = "acp".to_owned();
        let created = self.host.create(new, &self.guard.actor()).await.map_err(|error| host_error(&error))?;
        let id = self.session(&created.session.id)?;
        let brought = Brought { folders: request.additional_directories, servers: request.mcp_servers };
        let told = match self.take_extras(&id, brought).await {
            Ok(told) => told,
            Err(error) => {
                // A session without what the editor asked for is not opened.
                let _ = self.host.delete(&id).await;
                return Err(error);
            }
        };
        self.guard.record("session/new", Some(&id), None);
        self.follow(&id, features, false, editor);
        let (modes, options) = self.choices(&created.session);
        Ok(NewSessionResponse::new(id.to_string()).modes(modes).config_options(options).meta(told))
    }

    pub(super) async fn load(
        self: &Arc<Self>,
        request: LoadSessionRequest,
        features: Features,
        editor: &Editor,
    ) -> Result<LoadSessionResponse, Error> {
        let brought = Brought { folders: request.additional_directories, servers: request.mcp_servers };
        let (info, told) = self.reopen(&request.session_id.0, brought, features, true, editor).await?;
        let (modes, options) = self.choices(&info);
        Ok(LoadSessionResponse::new().modes(modes).config_options(options).meta(told))
    }

    pub(super) async fn resume(
        self: &Arc<Self>,
        request: ResumeSessionRequest,
        features: Features,
        editor: &Editor,
    ) -> Result<ResumeSessionResponse, Error> {
        let brought = Brought { folders: request.additional_directories, servers: request.mcp_servers };
        let (info, told) = self.reopen(&request.session_id.0, brought, features, false, editor).await?;
        let (modes, options) = self.choices(&info);
        Ok(ResumeSessionResponse::new().modes(modes).config_options(options).meta(told))
    }

    pub(super) async fn fork(
        self: &Arc<Self>,
        request: ForkSessionRequest,
        features: Features,
        editor: &Editor,
    ) -> Result<ForkSessionResponse, Error> {
        self.may(Right::Drive)?;
        self.guard.may_begin(None).map_err(forbidden)?;
        let from = self.session(&request.session_id.0)?;
        self.found(&from).await?;
        let forked = self.host.fork(&from, None, &self.guard.actor()).await;
        let info = forked.map_err(|error| host_error(&error))?;
        let id = self.session(&info.id)?;
        let brought = Brought { folders: request.additional_directories, servers: request.mcp_servers };
        let told = self.take_extras(&id, brought).await?;
        self.guard.record("session/fork", Some(&id), Some(from.to_string()));
        self.follow(&id, features, false, editor);
        let (modes, options) = self.choices(&info);
        Ok(ForkSessionResponse::new(id.to_string()).modes(modes).config_options(options).meta(told))
    }

    async fn reopen(
        self: &Arc<Self>,
        id: &str,
        brought: Brought,
        features: Features,
        with_history: bool,
        editor: &Editor,
    ) -> Result<(SessionInfo, Option<Meta>), Error> {
        self.may(Right::Watch)?;
        let id = self.session(id)?;
        self.found(&id).await?;
        let told = self.take_extras(&id, brought).await?;
        self.detach(&id);
        self.opened(&id, features, with_history, editor).await;
        Ok((self.exists(&id).await?, told))
    }

    /// Takes MCP servers and folders of the owner's editor. Those of others are named in the answer's metadata: they are
    /// not used, because no client of a server may start programs or widen where a session works.
    async fn take_extras(&self, id: &SessionId, brought: Brought) -> Result<Option<Meta>, Error> {
        let Brought { folders, servers } = brought;
        let extras = self.extras.as_ref().filter(|_| self.guard.is_owner());
        let Some(extras) = extras else {
            let names: Vec<&str> = servers.iter().map(name).collect();
            if names.is_empty() && folders.is_empty() {
                return Ok(None);
            }
            let told = json!({"ignoredMcpServers": names, "ignoredDirectories": folders});
            return Ok(Some(meta("weir", told)));
        };
        let mut allowed = Vec::new();
        for folder in folders {
            let found = self.host.allowed_folder(&text(&folder)?).await;
            allowed.push(found.map_err(|error| host_error(&error))?);
        }
        extras.set(id, allowed, &servers).map_err(|error| {
            Error::new(
                Error::internal_error().code,
                format!("the MCP servers cannot be written down: {error}"),
            )
        })?;
        Ok(None)
    }

    /// Follows a session that the editor knows, and waits until it was sent what there is.
    async fn opened(
        self: &Arc<Self>,
        id: &SessionId,
        features: Features,
        with_history: bool,
        editor: &Editor,
    ) {
        let attached = self.follow(id, features, with_history, editor);
        attached.begin();
        attached.told().await;
    }

    /// Follows a session, once it is told to begin: from its beginning with history, and else from now on.
    pub(super) fn follow(
        self: &Arc<Self>,
        id: &SessionId,
        features: Features,
        with_history: bool,
        editor: &Editor,
    ) -> Arc<Attached> {
        let (attached, work) = Attached::new(id.clone());
        let offer = self.guard.offer();
        let projection = if with_history {
            Projection::from_the_beginning(id.clone(), features, offer)
        } else {
            Projection::from_now(id.clone(), features, offer)
        };
        let pump = Pump::new(self, &attached, editor.clone(), features, projection);
        attached.followed_by(tokio::spawn(pump.run(work)).abort_handle());
        let before = self.lock().sessions.insert(id.clone(), Arc::clone(&attached));
        if let Some(before) = before {
            before.end();
        }
        attached
    }

    /// What the editor can choose for a session.
    fn choices(&self, info: &SessionInfo) -> (SessionModeState, Vec<SessionConfigOption>) {
        let chosen = Chosen::of(info);
        let offer = self.guard.offer();
        (options::modes(&offer, &chosen), options::options(&offer, &chosen))
    }
}

fn name(server: &McpServer) -> &str {
    match server {
        McpServer::Stdio(server) => &server.name,
        McpServer::Http(server) => &server.name,
        McpServer::Sse(server) => &server.name,
        _ => "?",
    }
}

fn text(path: &Path) -> Result<String, Error> {
    let text = path.to_str().map(str::to_owned);
    text.ok_or_else(|| invalid(format!("the folder {} is not valid UTF-8", path.display())))
}
