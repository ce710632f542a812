//! Tools of a client: which are offered, and what they give back.

use weir_store::{SessionId, SessionUpdate};
use weir_transcript::{HostEvent, RequestAnswer, RequestState};
use weir_wire::RequestId;

use super::Host;
use crate::client_tools::{ClientTools, ToolAnswer, ToolContent};
use crate::error::HostError;
use crate::info::SessionInfo;
use crate::item::Item;
use crate::settings::Actor;

impl Host {
    /// Answers a call of a client's tool. The first answer counts; later callers are told who answered.
    ///
    /// # Errors
    /// If it was answered, is not there, waits no longer, or the answer makes no sense.
    pub async fn answer_tool_call(
        &self,
        id: &SessionId,
        request: &RequestId,
        answer: ToolAnswer,
        by: &Actor,
    ) -> Result<(), HostError> {
        answer.check()?;
        let live = self.live(id).await?;
        let Some(waiting) = live.calls.take(request) else {
            let state = live.lock();
            return Err(match state.view.request(request).map(|request| &request.state) {
                Some(RequestState::Allowed { by, .. } | RequestState::Denied { by, .. }) => {
                    HostError::AlreadyAnswered { by: by.clone() }
                }
                _ => HostError::NoSuchRequest,
            });
        };
        let said = match answer.content.first() {
            Some(ToolContent::Text { text }) => text.clone(),
            _ => "the client's tool failed".to_owned(),
        };
        let decision = if answer.is_error {
            RequestAnswer::Deny { message: said }
        } else {
            RequestAnswer::Allow { answers: None }
        };
        let (request, by) = (request.clone(), Some(by.name.clone()));
        let event = HostEvent::RequestAnswered { request, answer: decision, by };
        // In the log first: once the call returns, the answer must be there.
        live.recorder.recorded(vec![Item::Host(event)], SessionUpdate::default()).await?;
        // The CLI may have cancelled the call in the meantime.
        let _ = waiting.send(answer);
        Ok(())
    }

    /// Offers these tools of a client to the model in place of those before, from the next turn on.
    ///
    /// # Errors
    /// If there is no such session, the tools make no sense, or the session lives in its process alone and has begun.
    pub async fn set_client_tools(
        &self,
        id: &SessionId,
        tools: ClientTools,
        by: &Actor,
    ) -> Result<SessionInfo, HostError> {
        tools.check()?;
        let live = self.live(id).await?;
        {
            let mut state = live.lock();
            let is_other = state.kept.client_tools != tools;
            // Another process would know nothing of what was said.
            if is_other && state.kept.spec.no_session_persistence && !state.view.turns.is_empty() {
                return Err(HostError::NotKept);
            }
            state.needs_other_process |= is_other;
            state.kept.client_tools = tools;
        }
        live.note("client_tools", by);
        live.refresh();
        live.kick();
        Ok(SessionInfo::clone(&live.info()))
    }
}
