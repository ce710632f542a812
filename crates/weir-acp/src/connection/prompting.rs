//! Prompts: a message to the session, and an answer when its turn has ended, whatever way that is.

use std::slice;
use std::sync::Arc;

use agent_client_protocol::v1::schema::{ContentBlock, PromptResponse, StopReason};
use agent_client_protocol::{Error, RequestCancellation};
use weir_host::{Accepted, Actor, Finished, Host, HostError, SessionId};
use weir_wire::MessageId;

use super::attached::{Attached, Prompt};
use super::{Connection, Editor};
use crate::guard::Right;
use crate::translate::failure::{forbidden, host_error, invalid, prompt_end};
use crate::translate::prompt::message;

/// A prompt that the editor waits for, until it is dropped.
pub(crate) struct Waiting {
    attached: Arc<Attached>,
    prompt: Arc<Prompt>,
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.attached.forget_prompt(&self.prompt);
    }
}

impl Connection {
    /// Notes that a prompt has come. A session that the editor has not opened on this connection is followed from now on:
    /// after a restart of either side the next prompt works.
    pub(crate) fn expect_prompt(self: &Arc<Self>, id: &SessionId, editor: &Editor) -> Result<Waiting, Error> {
        let features = self.features()?;
        self.may(Right::Drive)?;
        let attached = self.attached(id).filter(|attached| attached.is_followed());
        let attached = attached.unwrap_or_else(|| self.follow(id, features, false, editor));
        attached.begin();
        let prompt = attached.expect_prompt();
        Ok(Waiting { attached, prompt })
    }

    /// Sends a prompt and waits for the end of its turn.
    pub(super) async fn prompt(
        &self,
        waiting: Waiting,
        blocks: Vec<ContentBlock>,
        cancellation: RequestCancellation,
    ) -> Result<PromptResponse, Error> {
        let Some(accepted) = self.send_prompt(&waiting, blocks).await? else {
            return Ok(PromptResponse::new(StopReason::Cancelled));
        };
        let cancelled = async move { cancellation.cancelled().await };
        let finished = self.ended(&waiting, &accepted.message_id, cancelled).await;
        let finished = finished.map_err(|error| host_error(&error))?;
        waiting.attached.flushed().await;
        prompt_end(&finished, waiting.prompt.is_cancelled())
    }

    /// Sends a prompt, if it was not cancelled in the meantime.
    pub(crate) async fn send_prompt(
        &self,
        waiting: &Waiting,
        blocks: Vec<ContentBlock>,
    ) -> Result<Option<Accepted>, Error> {
        let id = &waiting.attached.id;
        self.guard.may_begin(Some(id)).map_err(forbidden)?;
        let new = message(&blocks, &self.guard.offer().commands).map_err(invalid)?;
        drop(blocks);
        waiting.attached.told().await;
        if waiting.prompt.is_cancelled() {
            return Ok(None);
        }
        match self.send(&waiting.attached, new).await {
            Ok(accepted) => Ok(Some(accepted)),
            Err(error) => {
                if self.host.info(id).await.is_err() {
                    self.detach(id);
                }
                Err(host_error(&error))
            }
        }
    }

    async fn send(&self, attached: &Attached, new: weir_host::NewMessage) -> Result<Accepted, HostError> {
        let mut own = attached.own.lock().await;
        let accepted = self.host.send(&attached.id, new, &self.guard.actor()).await?;
        own.insert(accepted.message_id.clone());
        drop(own);
        self.guard.record("prompt", Some(&attached.id), Some(accepted.message_id.to_string()));
        Ok(accepted)
    }

    /// Waits for the end of a message's turn, and brings it about once this request is cancelled.
    pub(crate) async fn ended(
        &self,
        Waiting { attached, prompt }: &Waiting,
        message: &MessageId,
        cancelled: impl Future<Output = ()>,
    ) -> Result<Finished, HostError> {
        let finished = self.host.finished(&attached.id, message);
        tokio::pin!(finished);
        if !prompt.sent(message.clone()) {
            tokio::select! {
                finished = &mut finished => return finished,
                () = cancelled => prompt.cancel(),
            };
        }
        end_turn_of(&self.host, &attached.id, slice::from_ref(message), &self.guard.actor()).await;
        finished.await
    }

    /// Ends what the editor waits for; if it waits for nothing, the turn that runs.
    pub(super) fn cancel(&self, id: &SessionId) {
        let messages = self.attached(id).and_then(|attached| attached.cancel_prompts());
        self.guard.record("cancel", Some(id), None);
        let (host, id, actor) = (self.host.clone(), id.clone(), self.guard.actor());
        tokio::spawn(async move {
            match messages {
                Some(messages) => end_turn_of(&host, &id, &messages, &actor).await,
                None => interrupt(&host, &id, &actor).await,
            }
        });
    }
}

/// Withdraws messages that no turn has begun for, and then ends the turn of one that has: the withdrawn ones must not begin
/// instead. Turns of other people continue.
async fn end_turn_of(host: &Host, id: &SessionId, messages: &[MessageId], actor: &Actor) {
    let mut has_begun = false;
    for message in messages {
        has_begun |= host.cancel_message(id, message, actor).await.is_err();
    }
    if has_begun {
        interrupt(host, id, actor).await;
    }
}

async fn interrupt(host: &Host, id: &SessionId, actor: &Actor) {
    if let Err(error) = host.interrupt(id, actor).await {
        tracing::warn!(session = %id, %error, "the turn cannot be interrupted");
    }
}
