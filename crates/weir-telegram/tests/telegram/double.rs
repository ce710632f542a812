//! A Bot API of our own. It keeps the documented rules and remembers every breach.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Bytes;
use axum::extract::{Path, State};
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

#[derive(Debug, Default)]
pub(crate) struct Inner {
    updates: VecDeque<Value>,
    next_update: i64,
    next_message: i64,
    pub(crate) messages: BTreeMap<i64, Shown>,
    pub(crate) calls: Vec<(String, Value)>,
    pub(crate) breaches: Vec<String>,
    polls: u64,
    /// So many calls that write are answered with 429.
    pub(crate) throttle: usize,
    /// So many polls fail.
    pub(crate) fail_polls: usize,
    pub(crate) files: BTreeMap<String, Vec<u8>>,
    pub(crate) uploads: Vec<String>,
    pub(crate) conflicts: usize,
    /// The next call that writes this is never answered; whether it is done all the same.
    pub(crate) silence: Option<(String, bool)>,
}

/// The double.
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

    /// Somebody writes in a chat of their own.
    pub(crate) fn says(&self, user: i64, text: &str) -> i64 {
        self.message(user, user, "private", &json!({"text": text}))
    }

    /// Somebody writes in some chat.
    pub(crate) fn message(&self, user: i64, chat: i64, kind: &str, more: &Value) -> i64 {
        let number = self.next_message();
        let mut message = json!({
            "message_id": number,
            "from": {"id": user, "is_bot": false, "first_name": format!("User{user}")},
            "chat": {"id": chat, "type": kind},
            "date": 0,
        });
        if let (Some(message), Some(more)) = (message.as_object_mut(), more.as_object()) {
            message.extend(more.clone());
        }
        self.push("message", &message);
        number
    }

    /// Somebody presses a button.
    pub(crate) fn presses(&self, user: i64, message: i64, data: &str) {
        let chat = self.lock().messages[&message].chat;
        let kind = if chat > 0 { "private" } else { "supergroup" };
        self.push(
            "callback_query",
            &json!({
                "id": format!("q{message}"),
                "from": {"id": user, "is_bot": false, "first_name": format!("User{user}")},
                "message": {"message_id": message, "chat": {"id": chat, "type": kind}},
                "data": data,
            }),
        );
    }

    /// Waits for a message of the bot's.
    pub(crate) async fn sees(&self, what: &str, wanted: impl Fn(&Shown) -> bool) -> (i64, Shown) {
        let started = Instant::now();
        loop {
            let changed = self.changed.notified();
            if let Some((number, shown)) = self.lock().messages.iter().find(|(_, shown)| wanted(shown)) {
                return (*number, shown.clone());
            }
            assert!(
                started.elapsed() < Duration::from_secs(60),
                "in vain: {what}\n{:#?}",
                self.lock().messages
            );
            let _ = tokio::time::timeout(Duration::from_millis(200), changed).await;
        }
    }

    /// Waits for an update to be confirmed.
    pub(crate) async fn all_taken(&self) {
        let started = Instant::now();
        while !self.lock().updates.is_empty() {
            assert!(started.elapsed() < Duration::from_secs(60), "updates are not taken");
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

async fn call(
    State(double): State<Double>,
    Path((bot, method)): Path<(String, String)>,
    body: Bytes,
) -> Response {
    let (status, answer) = if bot == format!("bot{TOKEN}") {
        let parameters: Value = serde_json::from_slice(&body).unwrap_or(Value::Null);
        double.lock().calls.push((method.clone(), parameters.clone()));
        double.answer(&method, &parameters, &body).await
    } else {
        refused(401, "Unauthorized")
    };
    double.changed.notify_waiters();
    (status, [("content-type", "application/json")], answer.to_string()).into_response()
}

async fn file(State(double): State<Double>, Path((_, path)): Path<(String, String)>) -> Response {
    match double.lock().files.get(&path) {
        Some(data) => data.clone().into_response(),
        None => StatusCode::NOT_FOUND.into_response(),
    }
}

impl Double {
    async fn answer(&self, method: &str, parameters: &Value, body: &[u8]) -> (StatusCode, Value) {
        match method {
            "getMe" => fine(json!({"id": BOT, "is_bot": true, "first_name": "Weir", "username": "weir_bot"})),
            "getUpdates" => self.updates(parameters).await,
            "getFile" => fine(json!({"file_path": parameters["file_id"]})),
            "answerCallbackQuery" | "sendChatAction" => fine(true),
            "sendMessage" | "editMessageText" | "deleteMessage" | "sendDocument" => {
                if self.falls_silent(method, parameters, body) {
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
                inner.write(method, parameters, body)
            }
            other => {
                self.lock().breaches.push(format!("unknown method {other}"));
                refused(404, "Not Found")
            }
        }
    }

    /// Whether this is the call that is never answered. Then nothing else is silent.
    fn falls_silent(&self, method: &str, parameters: &Value, body: &[u8]) -> bool {
        let mut inner = self.lock();
        let text = parameters["text"].as_str().unwrap_or_default();
        let Some((_, is_done)) = inner.silence.take_if(|(wanted, _)| text.contains(&*wanted)) else {
            return false;
        };
        if is_done {
            let _ = inner.write(method, parameters, body);
        }
        true
    }

    /// Long polling: confirms what is before the offset, and ends a poll that was there before.
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
    fn write(&mut self, method: &str, parameters: &Value, body: &[u8]) -> (StatusCode, Value) {
        if method == "sendDocument" {
            self.uploads.push(String::from_utf8_lossy(body).into_owned());
            self.next_message += 1;
            return fine(json!({"message_id": self.next_message, "chat": {"id": 0}}));
        }
        let Some(chat) = parameters["chat_id"].as_str().and_then(|chat| chat.parse::<i64>().ok()) else {
            self.breaches.push(format!("{method} without a chat: {parameters}"));
            return refused(400, "Bad Request: chat not found");
        };
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
                text,
                buttons,
                topic: parameters["message_thread_id"].as_i64(),
                edits: 0,
                edited_at: Vec::new(),
                raw,
            };
            self.messages.insert(self.next_message, shown);
            return fine(json!({"message_id": self.next_message, "chat": {"id": chat}}));
        }
        let number = parameters["message_id"].as_i64().unwrap_or(0);
        match self.messages.get_mut(&number) {
            None => refused(400, "Bad Request: message to edit not found"),
            Some(shown) if shown.raw == raw && shown.buttons == buttons => refused(
                400,
                "Bad Request: message is not modified: specified new message content and reply markup are exactly the same as a current content and reply markup of the message",
            ),
            Some(shown) => {
                (shown.text, shown.raw, shown.buttons) = (text, raw, buttons);
                shown.edits += 1;
                shown.edited_at.push(Instant::now());
                fine(json!({"message_id": number, "chat": {"id": chat}}))
            }
        }
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
