//! Finding and deleting sessions.

use std::path::Path;

use agent_client_protocol::Error;
use agent_client_protocol::v1::schema::{
    DeleteSessionResponse, ListSessionsRequest, ListSessionsResponse, SessionInfo as ListedSession,
};
use serde_json::json;
use weir_host::{ListSessions, SessionInfo};

use super::Connection;
use crate::guard::Right;
use crate::translate::failure::host_error;
use crate::translate::meta;
use crate::translate::status::timestamp;

/// Sessions on a page.
const PAGE: usize = 50;

/// Pages of the host that are looked through for one of ours. With few sessions that the editor may see, a page may be empty
/// and still not be the last one.
const MAX_PAGES: usize = 20;

impl Connection {
    pub(super) async fn list(&self, request: ListSessionsRequest) -> Result<ListSessionsResponse, Error> {
        self.may(Right::Watch)?;
        let wanted = request.cwd.map(|cwd| cwd.canonicalize().unwrap_or(cwd));
        let (mut cursor, mut found) = (request.cursor, Vec::new());
        // A page of the host may have few sessions of a folder, or none.
        for looked in 1.. {
            let query = ListSessions {
                archived: Some(false),
                limit: Some(PAGE),
                cursor: cursor.take(),
                ..ListSessions::default()
            };
            let page = self.host.list(query).await.map_err(|error| host_error(&error))?;
            let seen = page.sessions.iter().filter(|info| {
                let is_wanted = wanted.as_deref().is_none_or(|cwd| Path::new(&info.cwd) == cwd);
                is_wanted && self.session(&info.id).is_ok()
            });
            found.extend(seen.map(listed));
            cursor = page.next_cursor;
            if cursor.is_none() || found.len() >= PAGE || looked >= MAX_PAGES {
                break;
            }
        }
        Ok(ListSessionsResponse::new(found).next_cursor(cursor))
    }

    pub(super) async fn delete(&self, id: &str) -> Result<DeleteSessionResponse, Error> {
        self.may(Right::Drive)?;
        let id = self.session(id)?;
        self.detach(&id);
        self.host.delete(&id).await.map_err(|error| host_error(&error))?;
        if let Some(extras) = &self.extras {
            extras.remove(&id);
        }
        self.guard.deleted(&id);
        self.guard.record("session/delete", Some(&id), None);
        Ok(DeleteSessionResponse::new())
    }
}

fn listed(info: &SessionInfo) -> ListedSession {
    let more = json!({"status": info.status.as_str(), "origin": info.origin, "costUsd": info.cost_usd});
    ListedSession::new(info.id.clone(), info.cwd.clone())
        .title(info.name.clone().or_else(|| info.title.clone()))
        .updated_at(timestamp(info.updated_at))
        .meta(meta("weir", more))
}
