//! Finding and deleting sessions.

use std::path::Path;

use agent_client_protocol::Error;
use agent_client_protocol::v1::schema::{
    DeleteSessionResponse, ListSessionsRequest, ListSessionsResponse, SessionInfo as ListedSession,
};
use serde_json::json;
use weir_host::{HostError, ListSessions, PastSession, SessionId, SessionInfo};

use super::Connection;
use crate::guard::Right;
use crate::translate::failure::{forbidden, host_error, session_not_found};
use crate::translate::meta;
use crate::translate::status::timestamp;

/// Sessions on a page.
const PAGE: usize = 50;

/// Pages of the host that are looked through for one of ours. With few sessions that the editor may see, a page may be empty
/// and still not be the last one.
const MAX_PAGES: usize = 20;

/// Most sessions of the CLI's own that are listed.
const MAX_PAST: usize = 200;

/// The cursor of the last page, which has only sessions that the CLI keeps. The host's cursors are numbers.
const PAST: &str = "past";

impl Connection {
    pub(super) async fn list(&self, request: ListSessionsRequest) -> Result<ListSessionsResponse, Error> {
        self.may(Right::Watch)?;
        let wanted = request.cwd.map(|cwd| cwd.canonicalize().unwrap_or(cwd));
        let (mut cursor, mut found) = (request.cursor, Vec::new());
        if cursor.as_deref() == Some(PAST) {
            return Ok(ListSessionsResponse::new(self.past(wanted.as_deref()).await?));
        }
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
            if found.len() >= PAGE {
                let next = cursor.unwrap_or_else(|| PAST.to_owned());
                return Ok(ListSessionsResponse::new(found).next_cursor(next));
            }
            if cursor.is_none() {
                found.extend(self.past(wanted.as_deref()).await?);
                return Ok(ListSessionsResponse::new(found));
            }
            if looked >= MAX_PAGES {
                break;
            }
        }
        Ok(ListSessionsResponse::new(found).next_cursor(cursor))
    }

    /// Sessions that the CLI keeps, such as those of a terminal, for an editor that may continue them.
    async fn past(&self, wanted: Option<&Path>) -> Result<Vec<ListedSession>, Error> {
        if self.may(Right::Drive).is_err() {
            return Ok(Vec::new());
        }
        let work = self.host.past_work(MAX_PAST).await.map_err(|error| host_error(&error))?;
        let seen = work.sessions.iter().filter(|past| {
            let is_wanted = wanted.is_none_or(|cwd| Path::new(&past.cwd) == cwd);
            is_wanted && self.session(&past.id).is_ok()
        });
        Ok(seen.map(listed_past).collect())
    }

    /// A session of the host. One that the CLI keeps becomes one, for an editor that may create sessions.
    pub(super) async fn found(&self, id: &SessionId) -> Result<SessionInfo, Error> {
        let known = self.host.info(id).await;
        if !matches!(known, Err(HostError::NotFound(_))) || self.may(Right::Drive).is_err() {
            return known.map_err(|error| host_error(&error));
        }
        self.guard.may_begin(None).map_err(forbidden)?;
        match self.host.take_over(id, "acp", &self.guard.actor()).await {
            Ok(info) => {
                self.guard.record("session/take over", Some(id), None);
                Ok(info)
            }
            Err(HostError::NoSuchPast(_)) => Err(session_not_found(id.as_str())),
            Err(error) => Err(host_error(&error)),
        }
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

fn listed_past(past: &PastSession) -> ListedSession {
    ListedSession::new(past.id.clone(), past.cwd.clone())
        .title(past.title.clone())
        .updated_at(past.updated_at.map(timestamp))
        .meta(meta("weir", json!({"status": "past"})))
}

fn listed(info: &SessionInfo) -> ListedSession {
    let more = json!({"status": info.status.as_str(), "origin": info.origin, "costUsd": info.cost_usd});
    ListedSession::new(info.id.clone(), info.cwd.clone())
        .title(info.name.clone().or_else(|| info.title.clone()))
        .updated_at(timestamp(info.updated_at))
        .meta(meta("weir", more))
}
