//! A fake Bot API. It enforces the documented rules and records every violation.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Body;
use axum::extract::{DefaultBodyLimit, FromRequest as _, Multipart, Path, Request, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use axum::routing::any;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::Notify;

use crate::html;

pub(crate) const TOKEN: &str = "42:test-token";
const BOT: i64 = 42;

/// A message as a person would see it.
#[derive(Debug, Clone)]
pub(crate) struct Shown {
    pub(crate) chat: i64,
    pub(crate) text: String,
    pub(crate) buttons: Vec<(String, String)>,
    pub(crate) topic: Option<i64>,
    pub(crate) edits: usize,
    pub(crate) edited_at: Vec<Instant>,
    raw: String,
}

/// A file that was sent.
#[derive(Debug, Clone)]
pub(crate) struct Upload {
    /// `photo` or `document`.
    pub(crate) kind: &'static str,
    pub(crate) chat: i64,
    pub(crate) topic: Option<i64>,
    pub(crate) name: String,
    pub(crate) data: Vec<u8>,
}

#[derive(Debug, Default)]
pub(crate) struct Inner {
    updates: VecDeque<Value>,
    next_update: i64,
    next_message: i64,
    pub(crate) messages: BTreeMap<i64, Shown>,
    pub(crate) calls: Vec<(String, Value)>,
    pub(crate) breaches: Vec<String>,
    polls: u64,
    /// Number of writing calls to answer with 429.
    pub(crate) throttle: usize,
    /// Number of polls that fail.
    pub(crate) fail_polls: usize,
    pub(crate) files: BTreeMap<String, Vec<u8>>,
    /// Files whose download never ends.
    pub(crate) stalled: BTreeSet<String>,
    /// Downloads that were started.
    downloads: Vec<String>,
    pub(crate) uploads: Vec<Upload>,
    /// Refuses photos because of their dimensions.
    pub(crate) refuse_photos: bool,
    /// A group that became a supergroup, with its new id.
    pub(crate) migrated: Option<(i64, i64)>,
    pub(crate) conflicts: usize,
    /// The next call that posts this text is never answered. The flag says whether it takes effect anyway.
    pub(crate) silence: Option<(String, bool)>,
}

/// The fake Bot API.
#[derive(Debug, Clone)]
pub(crate) struct Double {
    inner: Arc<Mutex<Inner>>,
    changed: Arc<Notify>,
    pub(crate) url: String,
}

impl Double {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let double = Self { inner: Arc::default(), changed: Arc::default(), url };
        let app = Router::new()
            .route("/{bot}/{method}", any(call))
            .route("/file/{bot}/{*path}", any(file))
            .layer(DefaultBodyLimit::max(60 << 20))
            .with_state(double.clone());
        tokio::spawn(async move { axum::serve(listener, app).await });
        double
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap()
    }

    fn push(&self, what: &str, body: &Value) -> i64 {
        let mut inner = self.lock();
        inner.next_update += 1;
        let number = inner.next_update;
        inner.updates.push_back(json!({"update_id": number, what: body}));
        drop(inner);
        self.changed.notify_waiters();
        number
    }

    fn next_message(&self) -> i64 {
        let mut inner = self.lock();
        inner.next_message += 1;
        inner.next_message
    }

    /// A person writes in a direct chat.
    pub(crate) fn says(&self, user: i64, text: &str) -> i64 {
        self.message(user, user, "private", &json!({"text": text}))
    }

    /// A person writes in any chat.
    pub(crate) fn message(&self, user: i64, chat: i64, kind: &str, more: &Value) -> i64 {
        let number = self.next_message();
        let mut message = json!({
            "message_id": number,
            "from": person(user),
            "chat": chat_object(chat, kind),
            "date": 0,
        });
        if let (Some(message), Some(more)) = (message.as_object_mut(), more.as_object()) {
            message.extend(more.clone());
        }
        self.push("message", &message);
        number
    }

    /// A person edits their message in a direct chat.
    pub(crate) fn changes(&self, user: i64, message: i64, text: &str) {
        let chat = chat_object(user, "private");
        let changed = json!({"message_id": message, "from": person(user), "chat": chat, "date": 0, "edit_date": 1, "text": text});
        self.push("edited_message", &changed);
    }

    /// Sends an update of an unknown kind.
    pub(crate) fn happens(&self, what: &str, body: &Value) {
        self.push(what, body);
    }

    /// Waits for a file from the bot.
    pub(crate) async fn gets(&self, what: &str, wanted: impl Fn(&Upload) -> bool) -> Upload {
        let started = Instant::now();
        loop {
            let changed = self.changed.notified();
            if let Some(upload) = self.lock().uploads.iter().find(|upload| wanted(upload)) {
                return upload.clone();
            }
            assert!(started.elapsed() < Duration::from_secs(60), "timed out waiting for {what}");
            let _ = tokio::time::timeout(Duration::from_millis(200), changed).await;
        }
    }

    /// A person presses a button.
    pub(crate) fn presses(&self, user: i64, message: i64, data: &str) {
        let chat = self.lock().messages[&message].chat;
        let kind = if chat > 0 { "private" } else { "supergroup" };
        self.push(
            "callback_query",
            &json!({
                "id": format!("q{message}"),
                "from": person(user),
                "message": {"message_id": message, "date": 0, "chat": chat_object(chat, kind)},
                "chat_instance": "instance",
                "data": data,
            }),
        );
    }

    /// Waits for a message from the bot.
    pub(crate) async fn sees(&self, what: &str, wanted: impl Fn(&Shown) -> bool) -> (i64, Shown) {
        let started = Instant::now();
        loop {
            let changed = self.changed.notified();
            if let Some((number, shown)) = self.lock().messages.iter().find(|(_, shown)| wanted(shown)) {
                return (*number, shown.clone());
            }
            assert!(
                started.elapsed() < Duration::from_secs(60),
                "timed out waiting for {what}\n{:#?}",
                self.lock().messages
            );
            let _ = tokio::time::timeout(Duration::from_millis(200), changed).await;
        }
    }

    /// Waits until the download of this file has started.
    pub(crate) async fn stalls(&self, file: &str) {
        let started = Instant::now();
        while !self.lock().downloads.iter().any(|begun| begun == file) {
            assert!(started.elapsed() < Duration::from_secs(60), "{file} is not fetched");
            let _ = tokio::time::timeout(Duration::from_millis(50), self.changed.notified()).await;
        }
    }

    /// Waits until all updates are confirmed.
    pub(crate) async fn all_taken(&self) {
        let started = Instant::now();
        while !self.lock().updates.is_empty() {
            assert!(started.elapsed() < Duration::from_secs(60), "updates are not confirmed");
            let _ = tokio::time::timeout(Duration::from_millis(50), self.changed.notified()).await;
        }
    }
}

fn fine(result: impl Into<Value>) -> (StatusCode, Value) {
    (StatusCode::OK, json!({"ok": true, "result": result.into()}))
}

fn refused(code: u16, description: &str) -> (StatusCode, Value) {
    let status = StatusCode::from_u16(code).unwrap();
    (status, json!({"ok": false, "error_code": code, "description": description}))
}

fn person(user: i64) -> Value {
    json!({"id": user, "is_bot": false, "first_name": format!("User{user}")})
}

fn chat_object(chat: i64, kind: &str) -> Value {
    match kind {
        "private" => json!({"id": chat, "type": kind, "first_name": format!("User{chat}")}),
        _ => json!({"id": chat, "type": kind, "title": "Group"}),
    }
}

/// The parameters of a call, and the file that came with them.
async fn parameters(request: Request<Body>) -> (Value, Option<(String, Vec<u8>)>) {
    let kind = request.headers().get("content-type").and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    if !kind.starts_with("multipart/form-data") {
        let body = axum::body::to_bytes(request.into_body(), usize::MAX).await.unwrap();
        return (serde_json::from_slice(&body).unwrap_or(Value::Null), None);
    }
    let (mut fields, mut file) = (serde_json::Map::new(), None);
    let mut parts = Multipart::from_request(request, &()).await.unwrap();
    while let Some(part) = parts.next_field().await.unwrap() {
        let name = part.name().unwrap_or_default().to_owned();
        match part.file_name().map(str::to_owned) {
            Some(file_name) => file = Some((file_name, part.bytes().await.unwrap().to_vec())),
            None => {
                let text = part.text().await.unwrap();
                fields.insert(name, serde_json::from_str(&text).unwrap_or(Value::String(text)));
            }
        }
    }
    (Value::Object(fields), file)
}

async fn call(
    State(double): State<Double>,
    Path((bot, method)): Path<(String, String)>,
    request: Request<Body>,
) -> Response {
    let (status, answer) = if bot == format!("bot{TOKEN}") {
        let (parameters, file) = parameters(request).await;
        // Method names are not case-sensitive on Telegram.
        let method = format!(
            "{}{}",
            method.get(..1).unwrap_or_default().to_lowercase(),
            method.get(1..).unwrap_or_default()
        );
        double.lock().calls.push((method.clone(), parameters.clone()));
        double.answer(&method, &parameters, file).await
    } else {
        refused(401, "Unauthorized")
    };
    double.changed.notify_waiters();
    (status, [("content-type", "application/json")], answer.to_string()).into_response()
}

async fn file(State(double): State<Double>, Path((_, path)): Path<(String, String)>) -> Response {
    let name = path.trim_start_matches("documents/");
    double.lock().downloads.push(name.to_owned());
    double.changed.notify_waiters();
    if double.lock().stalled.contains(name) {
        std::future::pending::<()>().await;
    }
    match double.lock().files.get(name) {
        Some(data) => data.clone().into_response(),
        None => StatusCode::NOT_FOUND.into_response(),
    }
}

impl Double {
    async fn answer(
        &self,
        method: &str,
        parameters: &Value,
        file: Option<(String, Vec<u8>)>,
    ) -> (StatusCode, Value) {
        match method {
            "getMe" => fine(json!({
                "id": BOT, "is_bot": true, "first_name": "Weir", "username": "weir_bot", "can_join_groups": true,
                "can_read_all_group_messages": false, "supports_inline_queries": false, "has_main_web_app": false,
            })),
            "getUpdates" => self.updates(parameters).await,
            "getFile" => fine(json!({
                "file_id": parameters["file_id"], "file_unique_id": "u",
                "file_path": format!("documents/{}", parameters["file_id"].as_str().unwrap_or_default()),
            })),
            "answerCallbackQuery" | "sendChatAction" => fine(true),
            "sendMessage" | "editMessageText" | "deleteMessage" | "sendDocument" | "sendPhoto" => {
                if self.falls_silent(method, parameters) {
                    self.changed.notify_waiters();
                    std::future::pending::<()>().await;
                }
                let mut inner = self.lock();
                if inner.throttle > 0 {
                    inner.throttle -= 1;
                    let mut answer = refused(429, "Too Many Requests: retry after 1");
                    answer.1["parameters"] = json!({"retry_after": 1});
                    return answer;
                }
                inner.write(method, parameters, file)
            }
            other => {
                self.lock().breaches.push(format!("unknown method {other}"));
                refused(404, "Not Found")
            }
        }
    }

    /// Whether this is the call that is never answered. Later calls are answered again.
    fn falls_silent(&self, method: &str, parameters: &Value) -> bool {
        let mut inner = self.lock();
        let text = parameters["text"].as_str().unwrap_or_default();
        let Some((_, is_done)) = inner.silence.take_if(|(wanted, _)| text.contains(&*wanted)) else {
            return false;
        };
        if is_done {
            let _ = inner.write(method, parameters, None);
        }
        true
    }

    /// Long polling: confirms updates before the offset, and ends an earlier poll.
    async fn updates(&self, parameters: &Value) -> (StatusCode, Value) {
        let offset = parameters["offset"].as_i64().unwrap_or(0);
        let seconds = parameters["timeout"].as_u64().unwrap_or(0).min(2);
        let mine = {
            let mut inner = self.lock();
            if inner.fail_polls > 0 {
                inner.fail_polls -= 1;
                return refused(502, "Bad Gateway");
            }
            inner.updates.retain(|update| update["update_id"].as_i64() >= Some(offset));
            inner.polls += 1;
            inner.polls
        };
        self.changed.notify_waiters();
        let until = Instant::now() + Duration::from_secs(seconds);
        loop {
            let changed = self.changed.notified();
            {
                let mut inner = self.lock();
                if inner.polls != mine {
                    inner.conflicts += 1;
                    return refused(
                        409,
                        "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running",
                    );
                }
                if !inner.updates.is_empty() {
                    let updates: Vec<Value> = inner.updates.iter().take(100).cloned().collect();
                    return fine(updates);
                }
            }
            if Instant::now() >= until {
                return fine(json!([]));
            }
            let _ = tokio::time::timeout(Duration::from_millis(100), changed).await;
        }
    }
}

impl Inner {
    fn write(
        &mut self,
        method: &str,
        parameters: &Value,
        file: Option<(String, Vec<u8>)>,
    ) -> (StatusCode, Value) {
        let Some(chat) = parameters["chat_id"].as_i64() else {
            self.breaches.push(format!("{method} without a chat: {parameters}"));
            return refused(400, "Bad Request: chat not found");
        };
        if let Some((_, now)) = self.migrated.filter(|(before, _)| *before == chat) {
            let mut answer = refused(400, "Bad Request: group chat was upgraded to a supergroup chat");
            answer.1["parameters"] = json!({"migrate_to_chat_id": now});
            return answer;
        }
        if matches!(method, "sendDocument" | "sendPhoto") {
            return self.upload(method, chat, parameters, file);
        }
        if method == "deleteMessage" {
            let number = parameters["message_id"].as_i64().unwrap_or(0);
            return match self.messages.remove(&number) {
                Some(_) => fine(true),
                None => refused(400, "Bad Request: message to delete not found"),
            };
        }
        let raw = parameters["text"].as_str().unwrap_or_default().to_owned();
        let text = match parameters["parse_mode"].as_str() {
            Some("HTML") => match html::parse(&raw) {
                Ok(text) => text,
                Err(error) => {
                    self.breaches.push(format!("{error} in {raw}"));
                    return refused(400, &format!("Bad Request: can't parse entities: {error}"));
                }
            },
            _ => raw.clone(),
        };
        if text.trim().is_empty() {
            self.breaches.push("an empty message".into());
            return refused(400, "Bad Request: message text is empty");
        }
        if text.encode_utf16().count() > 4_096 {
            self.breaches.push(format!("a message of {} units", text.encode_utf16().count()));
            return refused(400, "Bad Request: message is too long");
        }
        let buttons = self.buttons(&parameters["reply_markup"]);
        if method == "sendMessage" {
            self.next_message += 1;
            let shown = Shown {
                chat,
                text: text.clone(),
                buttons,
                topic: parameters["message_thread_id"].as_i64(),
                edits: 0,
                edited_at: Vec::new(),
                raw,
            };
            self.messages.insert(self.next_message, shown);
            return fine(self.sent(self.next_message, chat, &json!({"text": text})));
        }
        let number = parameters["message_id"].as_i64().unwrap_or(0);
        match self.messages.get_mut(&number) {
            None => refused(400, "Bad Request: message to edit not found"),
            Some(shown) if shown.raw == raw && shown.buttons == buttons => refused(
                400,
                "Bad Request: message is not modified: specified new message content and reply markup are exactly the same as a current content and reply markup of the message",
            ),
            Some(shown) => {
                let says = text.clone();
                (shown.text, shown.raw, shown.buttons) = (text, raw, buttons);
                shown.edits += 1;
                shown.edited_at.push(Instant::now());
                fine(self.sent(number, chat, &json!({"text": says, "edit_date": 1})))
            }
        }
    }

    /// Receives a file, as the documentation of the two methods describes it.
    fn upload(
        &mut self,
        method: &str,
        chat: i64,
        parameters: &Value,
        file: Option<(String, Vec<u8>)>,
    ) -> (StatusCode, Value) {
        let kind = if method == "sendPhoto" { "photo" } else { "document" };
        let is_attached = parameters[kind].as_str().is_some_and(|name| name.starts_with("attach://"));
        let Some((name, data)) = file.filter(|_| is_attached) else {
            self.breaches.push(format!("{method} without a file: {parameters}"));
            return refused(400, "Bad Request: there is no file in the request");
        };
        let most = if kind == "photo" { 10 << 20 } else { 50 << 20 };
        if data.is_empty() || data.len() > most {
            self.breaches.push(format!("{method} with {} bytes", data.len()));
            return refused(413, "Request Entity Too Large");
        }
        if kind == "photo" && self.refuse_photos {
            return refused(400, "Bad Request: PHOTO_INVALID_DIMENSIONS");
        }
        let topic = parameters["message_thread_id"].as_i64();
        self.uploads.push(Upload { kind, chat, topic, name, data });
        self.next_message += 1;
        let about = json!({"file_id": "f", "file_unique_id": "u", "file_size": 1, "width": 1, "height": 1});
        let about = if kind == "photo" { json!([about]) } else { about };
        fine(self.sent(self.next_message, chat, &json!({kind: about})))
    }

    /// A message of the bot, as calls return it.
    fn sent(&self, number: i64, chat: i64, more: &Value) -> Value {
        let kind = if chat > 0 { "private" } else { "supergroup" };
        let mut message = json!({
            "message_id": number, "date": 0, "chat": chat_object(chat, kind),
            "from": {"id": BOT, "is_bot": true, "first_name": "Weir", "username": "weir_bot"},
        });
        if let (Some(message), Some(more)) = (message.as_object_mut(), more.as_object()) {
            message.extend(more.clone());
        }
        message
    }

    fn buttons(&mut self, markup: &Value) -> Vec<(String, String)> {
        let rows = markup["inline_keyboard"].as_array().cloned().unwrap_or_default();
        let mut buttons = Vec::new();
        for button in rows.iter().flat_map(|row| row.as_array().cloned().unwrap_or_default()) {
            let text = button["text"].as_str().unwrap_or_default().to_owned();
            let data = button["callback_data"].as_str().unwrap_or_default().to_owned();
            if text.is_empty() || !(1..=64).contains(&data.len()) {
                self.breaches.push(format!("a bad button: {button}"));
            }
            buttons.push((text, data));
        }
        buttons
    }
}
