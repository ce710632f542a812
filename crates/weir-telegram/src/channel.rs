//! Telegram as a channel of the bridge.

use std::sync::Arc;

use serde_json::{Value, json};
use weir_bridge::BridgeError;
use weir_bridge::channel::{
    Capabilities, Channel, Content, Doing, Inlet, MessageRef, Operation, OperationError, Place,
};
use weir_bridge::config::Secret;
use weir_bridge::markup::Markup;

use crate::api::{Api, ApiError, Message, User};
use crate::failure::judge;
use crate::poll;

/// Where Telegram's own server is.
const SERVER: &str = "https://api.telegram.org";

/// What the channel works with.
#[derive(Debug, Clone)]
pub struct TelegramOptions {
    /// The bot's token.
    pub token: Secret,
    /// Another server of the Bot API than Telegram's.
    pub api_url: Option<String>,
}

/// The channel.
#[derive(Debug)]
pub struct TelegramChannel {
    api: Api,
}

impl TelegramChannel {
    /// A channel with these options. Nothing is asked of Telegram yet.
    pub fn new(options: TelegramOptions) -> Result<Self, BridgeError> {
        let url = options.api_url.as_deref().unwrap_or(SERVER);
        Ok(Self { api: Api::new(url, options.token)? })
    }

    pub(crate) fn api(&self) -> &Api {
        &self.api
    }

    pub(crate) async fn me(&self) -> Result<User, ApiError> {
        self.api.call("getMe", &json!({})).await
    }

    async fn perform(&self, operation: Operation) -> Result<Option<MessageRef>, OperationError> {
        match self.do_it(operation).await {
            Ok(message) => Ok(message.map(|message| message.message_id.to_string().into())),
            Err(error) => judge(&error).map_or(Ok(None), Err),
        }
    }

    async fn do_it(&self, operation: Operation) -> Result<Option<Message>, ApiError> {
        match operation {
            Operation::Post { place, content, reply_to, .. } => {
                let mut body = with_content(at(&place), &content);
                if let Some(number) = reply_to.and_then(|message| message.as_str().parse::<i64>().ok()) {
                    body.push((
                        "reply_parameters",
                        json!({"message_id": number, "allow_sending_without_reply": true}),
                    ));
                }
                self.api.call("sendMessage", &object(body)).await.map(Some)
            }
            Operation::Edit { place, message, content } => {
                let mut body = with_content(vec![("chat_id", json!(place.chat.as_str()))], &content);
                body.push(("message_id", number(&message)));
                // What comes back is the message, or `true` for some kinds.
                self.api.call::<Value>("editMessageText", &object(body)).await.map(|_| None)
            }
            Operation::Delete { place, message } => {
                let body = json!({"chat_id": place.chat.as_str(), "message_id": number(&message)});
                self.api.call::<bool>("deleteMessage", &body).await.map(|_| None)
            }
            Operation::Typing { place } => {
                let mut body = at(&place);
                body.push(("action", json!("typing")));
                self.api.call::<bool>("sendChatAction", &object(body)).await.map(|_| None)
            }
            Operation::Upload { place, name, text, .. } => {
                let mut fields = vec![("chat_id", place.chat.to_string())];
                fields.extend(place.thread.map(|thread| ("message_thread_id", thread.to_string())));
                self.api.send_document(fields, name, text).await.map(Some)
            }
            Operation::React { .. } => Ok(None),
        }
    }
}

fn object(fields: Vec<(&'static str, Value)>) -> Value {
    Value::Object(fields.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
}

fn number(message: &MessageRef) -> Value {
    message.as_str().parse::<i64>().map_or(Value::Null, Value::from)
}

fn at(place: &Place) -> Vec<(&'static str, Value)> {
    let mut fields = vec![("chat_id", json!(place.chat.as_str()))];
    let topic = place.thread.as_ref().and_then(|thread| thread.as_str().parse::<i64>().ok());
    fields.extend(topic.map(|topic| ("message_thread_id", json!(topic))));
    fields
}

fn with_content(mut fields: Vec<(&'static str, Value)>, content: &Content) -> Vec<(&'static str, Value)> {
    match &content.text.html {
        Some(html) => {
            fields.push(("text", json!(html)));
            fields.push(("parse_mode", json!("HTML")));
        }
        None => fields.push(("text", json!(content.text.plain))),
    }
    fields.push(("link_preview_options", json!({"is_disabled": true})));
    if !content.buttons.is_empty() {
        let rows: Vec<Value> = content
            .buttons
            .iter()
            .map(|button| {
                let label: String = button.label.chars().take(64).collect();
                json!([{"text": label, "callback_data": button.data}])
            })
            .collect();
        fields.push(("reply_markup", json!({"inline_keyboard": rows})));
    }
    fields
}

impl Channel for TelegramChannel {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            markup: Markup::TelegramHtml,
            longest: 4_096,
            edits: true,
            deletes: true,
            typing: true,
            buttons: true,
            reactions: false,
            files: true,
            posts_once: false,
            edit_interval_ms: 1_000,
        }
    }

    fn run(self: Arc<Self>, inlet: Inlet) -> Doing<'static, Result<(), BridgeError>> {
        Box::pin(poll::poll(self, inlet))
    }

    fn perform(&self, operation: Operation) -> Doing<'_, Result<Option<MessageRef>, OperationError>> {
        Box::pin(self.perform(operation))
    }

    fn check(&self) -> Doing<'_, Result<Vec<String>, BridgeError>> {
        Box::pin(async move {
            let me = self.me().await.map_err(|error| BridgeError::Channel {
                channel: "telegram".to_owned(),
                reason: error.to_string(),
            })?;
            let name = me.username.unwrap_or(me.first_name);
            Ok(vec![format!("logged in as @{name} ({})", me.id)])
        })
    }
}
