//! The editor at the other end, whichever version of the protocol it speaks. What it is told and asked is written in the
//! types of version 1.

use agent_client_protocol::v1::schema::{
    CreateElicitationRequest, CreateElicitationResponse, RequestPermissionRequest, RequestPermissionResponse,
    SessionNotification, SessionUpdate,
};
use agent_client_protocol::{Client, Error, v1};

#[cfg(feature = "draft-v2")]
use crate::draft;
use crate::outbox::Outbox;

/// The editor, as the library knows it.
#[derive(Debug, Clone)]
pub(crate) enum Editor {
    Stable(v1::ConnectionTo<Client>),
    #[cfg(feature = "draft-v2")]
    Draft(agent_client_protocol::v2::ConnectionTo<Client>),
}

impl Editor {
    /// Waits until the editor has closed its end. Cancel safe.
    pub(crate) async fn incoming_closed(&self) {
        match self {
            Self::Stable(editor) => editor.incoming_closed().await,
            #[cfg(feature = "draft-v2")]
            Self::Draft(editor) => editor.incoming_closed().await,
        }
    }

    /// Whether the editor has closed its end.
    pub(crate) fn is_incoming_closed(&self) -> bool {
        match self {
            Self::Stable(editor) => editor.is_incoming_closed(),
            #[cfg(feature = "draft-v2")]
            Self::Draft(editor) => editor.is_incoming_closed(),
        }
    }

    /// Tells of an update in a session.
    pub(crate) fn tell(&self, session: String, update: SessionUpdate, outbox: &Outbox) {
        match self {
            Self::Stable(editor) => {
                outbox.put();
                // The editor may have gone, which ends the task that tells it.
                let _ = editor.send_notification(SessionNotification::new(session, update));
            }
            #[cfg(feature = "draft-v2")]
            Self::Draft(editor) => draft::tell(editor, &session, update, outbox),
        }
    }

    /// Asks for a permission. Dropping what is returned withdraws it.
    pub(crate) async fn permission(
        &self,
        request: RequestPermissionRequest,
    ) -> Result<RequestPermissionResponse, Error> {
        match self {
            Self::Stable(editor) => editor.send_request(request).block_task().await,
            #[cfg(feature = "draft-v2")]
            Self::Draft(editor) => {
                let request = draft::permission(&request)?;
                draft::same(&editor.send_request(request).block_task().await?)
            }
        }
    }

    /// Asks for what a form or a link wants. Dropping what is returned withdraws it.
    pub(crate) async fn elicit(
        &self,
        request: CreateElicitationRequest,
    ) -> Result<CreateElicitationResponse, Error> {
        match self {
            Self::Stable(editor) => editor.send_request(request).block_task().await,
            #[cfg(feature = "draft-v2")]
            Self::Draft(editor) => {
                let request: agent_client_protocol::v2::schema::CreateElicitationRequest =
                    draft::same(&request)?;
                draft::same(&editor.send_request(request).block_task().await?)
            }
        }
    }
}
