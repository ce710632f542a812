//! What an editor with a token may do: what the token may do on every other way.

use std::fmt;
use std::sync::{Mutex, PoisonError};

use weir_acp::{Guard, Offer, Right};
use weir_base::time::now_ms;
use weir_host::{Actor, SessionId};
use weir_wire::PermissionUpdate;

use crate::api::{may_begin, may_keep};
use crate::audit::AuditEntry;
use crate::auth::{Principal, Role, Standing};
use crate::state::{App, WeakApp};

/// The rights of a token.
pub(crate) struct TokenGuard {
    /// The server has the guard, not the other way round.
    app: WeakApp,
    who: Mutex<Principal>,
}

impl TokenGuard {
    pub(crate) fn new(app: &App, who: &Principal) -> Self {
        Self { app: app.downgrade(), who: Mutex::new(who.clone()) }
    }

    /// The token as the newest request has it: its budget may have changed.
    pub(crate) fn is_now(&self, who: &Principal) {
        *self.who.lock().unwrap_or_else(PoisonError::into_inner) = who.clone();
    }

    fn who(&self) -> Principal {
        self.who.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl fmt::Debug for TokenGuard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TokenGuard").field("token", &self.who().token_id).finish_non_exhaustive()
    }
}

impl Guard for TokenGuard {
    fn actor(&self) -> Actor {
        self.who().actor()
    }

    fn right(&self) -> Option<Right> {
        let (who, app) = (self.who(), self.app.upgrade()?);
        if app.tokens().standing(&who.token_id, now_ms()) != Standing::Good {
            return None;
        }
        Some(match who.role {
            Role::Viewer => Right::Watch,
            Role::Approver => Right::Answer,
            Role::Driver | Role::Admin => Right::Drive,
        })
    }

    fn may_see(&self, session: &SessionId) -> bool {
        self.who().may_see(session.as_str())
    }

    fn may_begin(&self, session: Option<&SessionId>) -> Result<(), String> {
        let who = self.who();
        if session.is_none() && who.session.is_some() {
            return Err("this token is valid for one session only".to_owned());
        }
        let app = self.app.upgrade().ok_or("the server is being shut down")?;
        may_begin(&app, &who).map_err(|problem| problem.detail().to_owned())
    }

    fn offer(&self) -> Offer {
        let Some(app) = self.app.upgrade() else { return Offer::default() };
        let settings = app.settings();
        Offer {
            models: settings.models.clone(),
            modes: settings.permission_modes.clone(),
            commands: settings.commands_for(self.who().role).to_vec(),
        }
    }

    fn may_remember(&self, suggestion: &PermissionUpdate) -> bool {
        let app = self.app.upgrade();
        app.is_some_and(|app| may_keep(self.who().role, suggestion, &app.host().options().roots))
    }

    fn is_owner(&self) -> bool {
        false
    }

    fn is_alone(&self) -> bool {
        false
    }

    fn deleted(&self, session: &SessionId) {
        let (Some(app), session) = (self.app.upgrade(), session.to_string()) else { return };
        let tokens = app.tokens().clone();
        // Nobody waits for it: without their session they give access to nothing.
        drop(tokio::task::spawn_blocking(move || {
            if let Err(error) = tokens.revoke(|token| token.session.as_deref() == Some(session.as_str())) {
                tracing::warn!(%error, session, "the share links of a deleted session cannot be removed");
            }
        }));
    }

    fn record(&self, action: &str, session: Option<&SessionId>, detail: Option<String>) {
        let (who, Some(app)) = (self.who(), self.app.upgrade()) else { return };
        app.audit().add(&AuditEntry {
            at: now_ms(),
            who: Some(who.name),
            token: Some(who.token_id),
            action: format!("acp {action}"),
            session: session.map(ToString::to_string),
            detail,
            status: 200,
            peer: None,
            request: String::new(),
        });
    }
}
