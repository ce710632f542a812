//! The library's own client, which checks every message against the protocol's types.

use std::sync::{Arc, Mutex};

use agent_client_protocol::Client;
use agent_client_protocol::schema::ProtocolVersion;
use agent_client_protocol::v1::schema::{
    ContentBlock, InitializeRequest, NewSessionRequest, PromptRequest, RequestPermissionOutcome,
    RequestPermissionRequest, RequestPermissionResponse, SelectedPermissionOutcome, SessionNotification,
    SessionUpdate, StopReason, TextContent,
};
use serde_json::json;
use weir_testkit::soon;

use crate::place::{Place, end, script};

#[tokio::test]
async fn a_turn_with_a_permission() {
    let place = Place::new();
    let host = place.host().await;
    let said: Arc<Mutex<Vec<SessionUpdate>>> = Arc::default();
    let heard = Arc::clone(&said);
    let file = place.directory().join("a.txt");
    let steps = json!([{"text": "I write.", "tool": "Write", "input": {"file_path": file, "content": "x"}}, {"text": "done"}]);
    let (cwd, text) = (place.directory(), script(&steps));
    let ended = Client
        .v1()
        .on_receive_notification(
            async move |notification: SessionNotification, _| {
                heard.lock().unwrap().push(notification.update);
                Ok(())
            },
            agent_client_protocol::on_receive_notification!(),
        )
        .on_receive_request(
            async move |request: RequestPermissionRequest, responder, _| {
                let option = request.options[0].option_id.clone();
                let outcome = RequestPermissionOutcome::Selected(SelectedPermissionOutcome::new(option));
                responder.respond(RequestPermissionResponse::new(outcome))
            },
            agent_client_protocol::on_receive_request!(),
        )
        .connect_with(Place::transport(&host), async |agent| {
            agent.send_request(InitializeRequest::new(ProtocolVersion::V1)).block_task().await?;
            let session = agent.send_request(NewSessionRequest::new(cwd)).block_task().await?;
            let prompt = vec![ContentBlock::Text(TextContent::new(text))];
            agent.send_request(PromptRequest::new(session.session_id, prompt)).block_task().await
        });
    assert_eq!(soon(ended).await.unwrap().stop_reason, StopReason::EndTurn);
    assert!(file.exists());
    let said = std::mem::take(&mut *said.lock().unwrap());
    assert!(said.iter().any(|update| matches!(update, SessionUpdate::ToolCall(_))));
    assert!(said.iter().any(|update| matches!(update, SessionUpdate::AgentMessageChunk(_))));
    end(&host).await;
}
