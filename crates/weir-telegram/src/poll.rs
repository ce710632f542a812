//! Long polling: one poller, for ever, whatever happens to the network.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use weir_bridge::BridgeError;
use weir_bridge::channel::{Incoming, IncomingBody, IncomingFile, Inlet};

use crate::api::{Api, ApiError, File, POLL, Update, User};
use crate::channel::TelegramChannel;
use crate::read::{Wanted, read};

/// The Bot API gives no larger files.
const LARGEST_FILE: i64 = 20 << 20;
/// Longest wait between two tries.
const LONGEST_WAIT: u64 = 60;

/// Delivers updates until it is dropped. It ends only where the token is wrong.
pub(crate) async fn poll(channel: Arc<TelegramChannel>, inlet: Inlet) -> Result<(), BridgeError> {
    let api = channel.api().clone();
    let mut failures = 0_u32;
    let me = loop {
        match channel.me().await {
            Ok(me) => {
                inlet.connected(true);
                break me;
            }
            Err(error) => wait(&inlet, &mut failures, &error).await?,
        }
    };
    let mut offset = 0_i64;
    loop {
        let body = json!({
            "offset": offset,
            "timeout": POLL.as_secs(),
            "allowed_updates": ["message", "callback_query"],
        });
        match api.call::<Vec<Update>>("getUpdates", &body).await {
            Ok(updates) => {
                failures = 0;
                inlet.connected(true);
                for update in updates {
                    if !take(&api, &inlet, &update, &me).await {
                        return Ok(());
                    }
                    // Asking for the next one tells Telegram that this one need not come again.
                    offset = offset.max(update.update_id + 1);
                }
            }
            Err(error) => wait(&inlet, &mut failures, &error).await?,
        }
    }
}

async fn wait(inlet: &Inlet, failures: &mut u32, error: &ApiError) -> Result<(), BridgeError> {
    inlet.connected(false);
    let seconds = match error {
        ApiError::Refused { code: 401 | 404, .. } => {
            return Err(BridgeError::Channel {
                channel: inlet.channel().to_string(),
                reason: format!("{error}; the token is wrong, ask @BotFather for the right one"),
            });
        }
        ApiError::Refused { retry_after: Some(seconds), .. } => u64::try_from(*seconds).unwrap_or(1),
        _ => 1_u64 << (*failures).min(6),
    };
    *failures = failures.saturating_add(1);
    inlet.note(if matches!(error, ApiError::Refused { code: 409, .. }) {
        format!(
            "{error}; another program polls with the same token, or this one did a moment ago: trying again"
        )
    } else {
        format!("{error}; trying again")
    });
    tokio::time::sleep(Duration::from_secs(seconds.clamp(1, LONGEST_WAIT))).await;
    Ok(())
}

/// Delivers an update. `false` if the bridge takes nothing any more.
async fn take(api: &Api, inlet: &Inlet, update: &Update, me: &User) -> bool {
    let Some((mut incoming, wanted)) = read(update, inlet.channel(), me) else { return true };
    let mut files = Vec::new();
    for wanted in wanted {
        match fetch(api, &wanted).await {
            Ok(data) => files.push(IncomingFile { name: wanted.name, media_type: wanted.media_type, data }),
            Err(reason) => say(&mut incoming, &format!("[{} could not be read: {reason}]", wanted.name)),
        }
    }
    let kept = inlet.deliver(incoming, files).await.is_ok();
    if let Some(query) = update.callback_query.as_ref().filter(|_| kept) {
        // Ends the waiting sign of the button. It is only a courtesy.
        let answered = api.call::<bool>("answerCallbackQuery", &json!({"callback_query_id": query.id})).await;
        drop(answered);
    }
    kept
}

fn say(incoming: &mut Incoming, words: &str) {
    if let IncomingBody::Text { text, .. } = &mut incoming.body {
        *text = if text.is_empty() { words.to_owned() } else { format!("{text}\n\n{words}") };
    }
}

async fn fetch(api: &Api, wanted: &Wanted) -> Result<Vec<u8>, String> {
    if wanted.size > LARGEST_FILE {
        return Err("Telegram gives bots no files of more than 20 MB".to_owned());
    }
    let file: File =
        api.call("getFile", &json!({"file_id": wanted.file_id})).await.map_err(|error| error.to_string())?;
    let path = file.file_path.ok_or("Telegram did not say where it is")?;
    api.download(&path).await.map_err(|error| error.to_string())
}
