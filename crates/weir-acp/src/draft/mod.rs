//! Version 2 of the protocol, which is a draft. The rest of this crate is written in the types of version 1; here is what
//! differs.
//!
//! - A prompt is answered as soon as its message is in the session's log. What the session does, and how a turn has ended,
//!   is told as its state, for turns of everyone.
//! - An editor is told of its own prompts. Each text has an id of its own.
//! - Modes are options, replayed sessions are resumed, differences are patches, and terminals are filled by updates.

mod patch;
mod requests;
mod updates;

use std::sync::Arc;

use agent_client_protocol::v2::schema::{
    ClientNotification, ClientRequest, RequestPermissionRequest, RequestPermissionSubject, StateUpdate,
    ToolCallPermissionSubject, UpdateSessionNotification,
};
use agent_client_protocol::v2::{ConnectionTo, Responder};
use agent_client_protocol::{
    Agent, Client, ConnectTo, Error, on_receive_notification, on_receive_request, v1, v2,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::connection::{Connection, Editor};
use crate::outbox::Outbox;
use crate::translate::failure::invalid;

/// Version 2 of the protocol on a connection.
pub(crate) struct Draft(pub(crate) Arc<Connection>);

impl ConnectTo<Client> for Draft {
    async fn connect_to(self, client: impl ConnectTo<Agent>) -> Result<(), Error> {
        let (requests, notifications) = (Arc::clone(&self.0), self.0);
        Agent
            .v2()
            .name("weir")
            .on_receive_request(
                async move |request: ClientRequest,
                            responder: Responder<Value>,
                            editor: ConnectionTo<Client>| {
                    requests::receive(&requests, request, responder, Editor::Draft(editor));
                    Ok(())
                },
                on_receive_request!(),
            )
            .on_receive_notification(
                async move |notification: ClientNotification, _editor: ConnectionTo<Client>| {
                    if let ClientNotification::CancelSessionNotification(cancel) = &notification {
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

/// What both versions write in the same way, in the type of the other one.
///
/// # Errors
/// If the other version has no such thing.
pub(crate) fn same<T: DeserializeOwned>(value: &impl Serialize) -> Result<T, Error> {
    let value = serde_json::to_value(value).map_err(Error::into_internal_error)?;
    serde_json::from_value(value).map_err(|error| invalid(error.to_string()))
}

/// Tells an editor of an update.
pub(crate) fn tell(
    editor: &ConnectionTo<Client>,
    session: &str,
    update: v1::schema::SessionUpdate,
    outbox: &Outbox,
) {
    match updates::updates(update) {
        Ok(updates) => updates.into_iter().for_each(|update| send(editor, session, update, outbox)),
        Err(error) => tracing::warn!(session, ?error, "an update cannot be written in version 2"),
    }
}

/// Tells an editor what a session is doing.
pub(crate) fn tell_state(editor: &ConnectionTo<Client>, session: &str, state: StateUpdate, outbox: &Outbox) {
    send(editor, session, v2::schema::SessionUpdate::StateUpdate(state), outbox);
}

fn send(editor: &ConnectionTo<Client>, session: &str, update: v2::schema::SessionUpdate, outbox: &Outbox) {
    outbox.put();
    // The editor may have gone, which ends the task that tells it.
    let _ = editor.send_notification(UpdateSessionNotification::new(session.to_owned(), update));
}

/// A request for permission.
///
/// # Errors
/// If the call cannot be written in version 2.
pub(crate) fn permission(
    request: &v1::schema::RequestPermissionRequest,
) -> Result<RequestPermissionRequest, Error> {
    let title = request.tool_call.fields.title.clone().unwrap_or_default();
    let (call, _) = updates::call(&request.tool_call)?;
    let options = request.options.iter().map(same).collect::<Result<Vec<_>, _>>()?;
    let subject = RequestPermissionSubject::ToolCall(Box::new(ToolCallPermissionSubject::new(call)));
    Ok(RequestPermissionRequest::new(request.session_id.0.to_string(), title, options).subject(subject))
}
