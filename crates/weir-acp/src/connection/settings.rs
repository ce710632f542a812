//! Permission mode, model and effort.

use agent_client_protocol::Error;
use agent_client_protocol::v1::schema::{
    SessionConfigOptionValue, SetSessionConfigOptionRequest, SetSessionConfigOptionResponse,
    SetSessionModeRequest, SetSessionModeResponse,
};
use weir_host::{SessionId, SessionInfo};

use super::Connection;
use crate::guard::Right;
use crate::translate::failure::{host_error, invalid};
use crate::translate::options::{self, Chosen, DEFAULT, EFFORT, MODE, MODEL};

impl Connection {
    pub(super) async fn set_mode(
        &self,
        request: &SetSessionModeRequest,
    ) -> Result<SetSessionModeResponse, Error> {
        let id = self.session(&request.session_id.0)?;
        self.choose_mode(&id, &request.mode_id.0).await?;
        Ok(SetSessionModeResponse::new())
    }

    pub(super) async fn set_option(
        &self,
        request: &SetSessionConfigOptionRequest,
    ) -> Result<SetSessionConfigOptionResponse, Error> {
        let id = self.session(&request.session_id.0)?;
        let SessionConfigOptionValue::ValueId { value } = &request.value else {
            return Err(invalid(format!("the option {} takes one of its values", request.config_id.0)));
        };
        let info = match &*request.config_id.0 {
            MODE => self.choose_mode(&id, &value.0).await?,
            MODEL => self.choose_model(&id, &value.0).await?,
            EFFORT => self.choose_effort(&id, &value.0).await?,
            other => {
                return Err(invalid(format!(
                    "unknown option {other:?}; there are {MODE}, {MODEL} and {EFFORT}"
                )));
            }
        };
        let chosen = Chosen::of(&info);
        Ok(SetSessionConfigOptionResponse::new(options::options(&self.guard.offer(), &chosen)))
    }

    async fn choose_mode(&self, id: &SessionId, mode: &str) -> Result<SessionInfo, Error> {
        self.may(Right::Drive)?;
        let offered = self.guard.offer().modes;
        if !offered.iter().any(|known| known == mode) {
            return Err(invalid(format!("unknown mode {mode:?}; the modes are {}", offered.join(", "))));
        }
        let set = self.host.set_permission_mode(id, mode.to_owned(), &self.guard.actor()).await;
        self.guard.record("mode", Some(id), Some(mode.to_owned()));
        set.map_err(|error| host_error(&error))
    }

    async fn choose_model(&self, id: &SessionId, model: &str) -> Result<SessionInfo, Error> {
        self.may(Right::Drive)?;
        let chosen = (model != DEFAULT).then(|| model.to_owned());
        let set = self.host.set_model(id, chosen, &self.guard.actor()).await;
        self.guard.record("model", Some(id), Some(model.to_owned()));
        set.map_err(|error| host_error(&error))
    }

    async fn choose_effort(&self, id: &SessionId, level: &str) -> Result<SessionInfo, Error> {
        self.may(Right::Drive)?;
        let effort = options::effort(level).map_err(invalid)?;
        let set = self.host.set_effort(id, effort, &self.guard.actor()).await;
        self.guard.record("effort", Some(id), Some(level.to_owned()));
        set.map_err(|error| host_error(&error))
    }
}
