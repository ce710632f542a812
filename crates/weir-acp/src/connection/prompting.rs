//! Prompts: a message to the session, and an answer when its turn has ended, whatever way that is.

use std::sync::Arc;

use agent_client_protocol::v1::schema::{PromptRequest, PromptResponse, StopReason};
use agent_client_protocol::{Error, RequestCancellation};
use weir_host::{Accepted, Finished, HostError, SessionId};
use weir_wire::MessageId;

use super::attached::{Attached, Prompt};
use super::{Connection, Editor};
use crate::guard::Right;
use crate::translate::failure::{forbidden, host_error, invalid, prompt_end};
use crate::translate::prompt::message;

/// Ends the wait for a prompt, however its request ends.
struct Waiting<'a> {
    attached: &'a Attached,
    prompt: &'a Arc<Prompt>,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.attached.forget_prompt(self.prompt);
    }
}

impl Connection {
    /// Notes that a prompt has come. A session that the editor has not opened on this connection is followed from now on:
    /// after a restart of either side the next prompt works.
    pub(super) fn expect_prompt(
        self: &Arc<Self>,
        id: &SessionId,
        editor: &Editor,
    ) -> Result<(Arc<Attached>, Arc<Prompt>), Error> {
        let features = self.features()?;
        self.may(Right::Drive)?;
        let attached = self.attached(id).filter(|attached| attached.is_followed());
        let attached = attached.unwrap_or_else(|| self.follow(id, features, false, editor).0);
        let prompt = attached.expect_prompt();
        Ok((attached, prompt))
    }

    /// Sends a prompt and waits for the end of its turn.
    pub(super) async fn prompt(
        &self,
        attached: &Arc<Attached>,
        prompt: &Arc<Prompt>,
        request: PromptRequest,
        cancellation: RequestCancellation,
    ) -> Result<PromptResponse, Error> {
        let _waiting = Waiting { attached, prompt };
        self.guard.may_begin(Some(&attached.id)).map_err(forbidden)?;
        let new = message(&request.prompt, &self.guard.offer().commands).map_err(invalid)?;
        drop(request);
        if prompt.is_cancelled() {
            return Ok(PromptResponse::new(StopReason::Cancelled));
        }
        let accepted = self.send(attached, new).await.map_err(|error| host_error(&error));
        let accepted = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                if self.host.info(&attached.id).await.is_err() {
                    self.detach(&attached.id);
                }
                return Err(error);
            }
        };
        let finished = self.ended(attached, prompt, &accepted.message_id, cancellation).await;
        let finished = finished.map_err(|error| host_error(&error))?;
        attached.flushed().await;
        prompt_end(&finished, prompt.is_cancelled())
    }

    async fn send(&self, attached: &Attached, new: weir_host::NewMessage) -> Result<Accepted, HostError> {
        let mut own = attached.own.lock().await;
        let accepted = self.host.send(&attached.id, new, &self.guard.actor()).await?;
        own.insert(accepted.message_id.clone());
        drop(own);
        self.guard.record("prompt", Some(&attached.id), Some(accepted.message_id.to_string()));
        Ok(accepted)
    }

    /// Waits for the end of a message's turn, and brings it about once the editor wants it.
    async fn ended(
        &self,
        attached: &Attached,
        prompt: &Prompt,
        message: &MessageId,
        cancellation: RequestCancellation,
    ) -> Result<Finished, HostError> {
        let finished = self.host.finished(&attached.id, message);
        tokio::pin!(finished);
        tokio::select! {
            finished = &mut finished => return finished,
            () = prompt.cancelled() => {}
            () = cancellation.cancelled() => prompt.cancel(),
        }
        self.end_turn_of(&attached.id, message).await;
        finished.await
    }

    /// Withdraws a message that no turn has begun for, or ends its turn. Turns of other people continue.
    async fn end_turn_of(&self, id: &SessionId, message: &MessageId) {
        let actor = self.guard.actor();
        if self.host.cancel_message(id, message, &actor).await.is_ok() {
            return;
        }
        if let Err(error) = self.host.interrupt(id, &actor).await {
            tracing::warn!(session = %id, %error, "the turn cannot be interrupted");
        }
    }

    /// Ends what the editor waits for; if it waits for nothing, the turn that runs.
    pub(super) fn cancel(&self, id: &SessionId) {
        let has_prompts = self.attached(id).is_some_and(|attached| attached.cancel_prompts());
        self.guard.record("cancel", Some(id), None);
        if has_prompts {
            return;
        }
        let (host, id, actor) = (self.host.clone(), id.clone(), self.guard.actor());
        tokio::spawn(async move {
            if let Err(error) = host.interrupt(&id, &actor).await {
                tracing::warn!(session = %id, %error, "the turn cannot be interrupted");
            }
        });
    }
}
