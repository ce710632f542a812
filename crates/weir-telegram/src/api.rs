//! Calls of the Bot API, typed as far as they are used.

use std::time::Duration;

use reqwest::multipart::{Form, Part};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use weir_bridge::BridgeError;
use weir_bridge::config::Secret;
use weir_bridge::http;

/// How long a poll waits for updates.
pub const POLL: Duration = Duration::from_secs(50);
/// How long an answer may take beyond that.
const PATIENCE: Duration = Duration::from_secs(20);

/// The Bot API of one bot.
#[derive(Debug, Clone)]
pub struct Api {
    client: reqwest::Client,
    base: String,
    token: Secret,
}

/// Why a call was not answered as hoped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ApiError {
    /// Telegram said no.
    Refused {
        /// The code, as in HTTP.
        code: i64,
        /// Why.
        description: String,
        /// How many seconds to wait.
        retry_after: Option<i64>,
    },
    /// No answer, or not one of Telegram's.
    Unreachable(String),
}

impl std::fmt::Display for ApiError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Refused { code, description, .. } => write!(f, "Telegram says: {description} ({code})"),
            Self::Unreachable(reason) => write!(f, "Telegram cannot be reached: {reason}"),
        }
    }
}

#[derive(Debug, Deserialize)]
struct Response {
    ok: bool,
    #[serde(default)]
    result: Value,
    #[serde(default)]
    error_code: i64,
    #[serde(default)]
    description: String,
    #[serde(default)]
    parameters: Option<Parameters>,
}

#[derive(Debug, Deserialize)]
struct Parameters {
    #[serde(default)]
    retry_after: Option<i64>,
}

impl Api {
    /// The API at this address, for the bot of this token.
    pub fn new(base: &str, token: Secret) -> Result<Self, BridgeError> {
        let client = http::client(POLL + PATIENCE)?;
        Ok(Self { client, base: base.trim_end_matches('/').to_owned(), token })
    }

    /// Calls a method.
    pub async fn call<T: DeserializeOwned>(
        &self,
        method: &str,
        body: &impl Serialize,
    ) -> Result<T, ApiError> {
        let request = self.client.post(self.url(method)).json(body);
        self.answer(request).await
    }

    /// Sends a text as a file.
    pub async fn send_document(
        &self,
        fields: Vec<(&'static str, String)>,
        name: String,
        text: String,
    ) -> Result<Message, ApiError> {
        let mut form = Form::new();
        for (key, value) in fields {
            form = form.text(key, value);
        }
        form = form.part("document", Part::bytes(text.into_bytes()).file_name(name));
        self.answer(self.client.post(self.url("sendDocument")).multipart(form)).await
    }

    /// The bytes of a file that `getFile` has named.
    pub async fn download(&self, path: &str) -> Result<Vec<u8>, ApiError> {
        let url = format!("{}/file/bot{}/{path}", self.base, self.token.reveal());
        let response = self.client.get(url).send().await;
        let response = response.and_then(reqwest::Response::error_for_status).map_err(unreachable)?;
        Ok(response.bytes().await.map_err(unreachable)?.to_vec())
    }

    fn url(&self, method: &str) -> String {
        format!("{}/bot{}/{method}", self.base, self.token.reveal())
    }

    async fn answer<T: DeserializeOwned>(&self, request: reqwest::RequestBuilder) -> Result<T, ApiError> {
        let response = request.send().await.map_err(unreachable)?;
        let status = response.status();
        let body = response.bytes().await.map_err(unreachable)?;
        let response: Response = serde_json::from_slice(&body)
            .map_err(|_| ApiError::Unreachable(format!("the answer ({status}) is not one of the Bot API")))?;
        if !response.ok {
            return Err(ApiError::Refused {
                code: response.error_code,
                description: response.description,
                retry_after: response.parameters.and_then(|parameters| parameters.retry_after),
            });
        }
        serde_json::from_value(response.result)
            .map_err(|error| ApiError::Unreachable(format!("the answer is not as documented: {error}")))
    }
}

fn unreachable(error: reqwest::Error) -> ApiError {
    ApiError::Unreachable(http::reason(error))
}

/// Something that happened.
#[derive(Debug, Clone, Deserialize)]
pub struct Update {
    /// Its number.
    pub update_id: i64,
    /// A message.
    #[serde(default)]
    pub message: Option<Message>,
    /// A button that was pressed.
    #[serde(default)]
    pub callback_query: Option<CallbackQuery>,
}

/// A message.
#[derive(Debug, Clone, Deserialize)]
pub struct Message {
    /// Its number in the chat.
    pub message_id: i64,
    /// The topic.
    #[serde(default)]
    pub message_thread_id: Option<i64>,
    /// Whether the thread is a topic, and not a chain of replies.
    #[serde(default)]
    pub is_topic_message: bool,
    /// Who wrote it.
    #[serde(default)]
    pub from: Option<User>,
    /// Where.
    pub chat: Chat,
    /// What it says.
    #[serde(default)]
    pub text: Option<String>,
    /// What a picture or a file says.
    #[serde(default)]
    pub caption: Option<String>,
    /// The message that it replies to.
    #[serde(default)]
    pub reply_to_message: Option<Box<Message>>,
    /// A picture in several sizes.
    #[serde(default)]
    pub photo: Vec<PhotoSize>,
    /// A file.
    #[serde(default)]
    pub document: Option<Document>,
}

/// A user.
#[derive(Debug, Clone, Deserialize)]
pub struct User {
    /// The number.
    pub id: i64,
    /// Whether it is a bot.
    #[serde(default)]
    pub is_bot: bool,
    /// What they call themselves.
    #[serde(default)]
    pub first_name: String,
    /// The name with which they can be mentioned.
    #[serde(default)]
    pub username: Option<String>,
}

/// A chat.
#[derive(Debug, Clone, Deserialize)]
pub struct Chat {
    /// The number.
    pub id: i64,
    /// `private`, `group`, `supergroup` or `channel`.
    #[serde(default)]
    pub r#type: String,
}

/// A picture in one size.
#[derive(Debug, Clone, Deserialize)]
pub struct PhotoSize {
    /// Names the file.
    pub file_id: String,
    /// Its width.
    #[serde(default)]
    pub width: i64,
    /// How many bytes.
    #[serde(default)]
    pub file_size: Option<i64>,
}

/// A file.
#[derive(Debug, Clone, Deserialize)]
pub struct Document {
    /// Names the file.
    pub file_id: String,
    /// What the sender calls it.
    #[serde(default)]
    pub file_name: Option<String>,
    /// What it is.
    #[serde(default)]
    pub mime_type: Option<String>,
    /// How many bytes.
    #[serde(default)]
    pub file_size: Option<i64>,
}

/// A button that was pressed.
#[derive(Debug, Clone, Deserialize)]
pub struct CallbackQuery {
    /// Names the press.
    pub id: String,
    /// Who pressed it.
    pub from: User,
    /// The message that it is below.
    #[serde(default)]
    pub message: Option<Message>,
    /// What it carries.
    #[serde(default)]
    pub data: Option<String>,
}

/// A file that can be downloaded.
#[derive(Debug, Clone, Deserialize)]
pub struct File {
    /// Where.
    #[serde(default)]
    pub file_path: Option<String>,
}
