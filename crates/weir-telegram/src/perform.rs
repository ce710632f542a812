//! Performs operations in chats.

use teloxide_core::RequestError;
use teloxide_core::payloads::{
    EditMessageTextSetters as _, SendChatActionSetters as _, SendDocumentSetters as _,
    SendMessageSetters as _, SendPhotoSetters as _,
};
use teloxide_core::requests::Requester as _;
use teloxide_core::types::{
    ChatAction, ChatId, InlineKeyboardButton, InlineKeyboardMarkup, InputFile, LinkPreviewOptions, Message,
    MessageId, ParseMode, ReplyParameters, ThreadId,
};
use weir_bridge::channel::{Content, MessageRef, Operation, OperationError, OutgoingFile, Place};

use crate::bot::TelegramBot;
use crate::failure::{done_despite_error, is_about_the_picture, judge};

/// Maximum size of a photo. Larger pictures are sent as documents.
const MAX_PHOTO_BYTES: usize = 10 << 20;
/// Maximum length of the label of a button.
const MAX_LABEL_LENGTH: usize = 64;

/// The message that a call created, if any.
type Made = Result<Option<MessageId>, RequestError>;

/// Performs an operation in a chat.
pub(crate) async fn perform(
    bot: &TelegramBot,
    operation: Operation,
) -> Result<Option<MessageRef>, OperationError> {
    let mut chat = chat(operation.place())?;
    let mut made = attempt(bot, chat, &operation).await?;
    // The group became a supergroup, which has another id.
    if let Err(RequestError::MigrateToChatId(now)) = made {
        chat = now;
        made = attempt(bot, chat, &operation).await?;
    }
    let made = match made {
        Ok(made) => made,
        Err(error) => match done_despite_error(&error) {
            Some(made) => made,
            None => return judge(&error, bot.explain(&error)).map_or(Ok(None), Err),
        },
    };
    Ok(made.map(|message| message.0.to_string().into()))
}

async fn attempt(bot: &TelegramBot, chat: ChatId, operation: &Operation) -> Result<Made, OperationError> {
    Ok(match operation {
        Operation::Post { place, content, reply_to, .. } => {
            post(bot, chat, place, content, reply_to.as_ref()).await
        }
        Operation::Edit { message, content, .. } => edit(bot, chat, number(message)?, content).await,
        Operation::Delete { message, .. } => {
            bot.api().delete_message(chat, number(message)?).await.map(|_| None)
        }
        Operation::Typing { place } => {
            let mut request = bot.api().send_chat_action(chat, ChatAction::Typing);
            if let Some(topic) = topic(place) {
                request = request.message_thread_id(topic);
            }
            request.await.map(|_| None)
        }
        Operation::Upload { place, file, .. } => upload(bot, chat, topic(place), file).await,
        Operation::React { .. } => Ok(None),
    })
}

async fn post(
    bot: &TelegramBot,
    chat: ChatId,
    place: &Place,
    content: &Content,
    reply_to: Option<&MessageRef>,
) -> Made {
    let mut request = bot.api().send_message(chat, words(content)).link_preview_options(no_preview());
    if content.text.html.is_some() {
        request = request.parse_mode(ParseMode::Html);
    }
    if let Some(topic) = topic(place) {
        request = request.message_thread_id(topic);
    }
    if let Some(to) = reply_to.and_then(|message| number(message).ok()) {
        request = request.reply_parameters(ReplyParameters::new(to).allow_sending_without_reply());
    }
    if let Some(buttons) = buttons(content) {
        request = request.reply_markup(buttons);
    }
    request.await.map(|message| Some(message.id))
}

async fn edit(bot: &TelegramBot, chat: ChatId, message: MessageId, content: &Content) -> Made {
    let mut request =
        bot.api().edit_message_text(chat, message, words(content)).link_preview_options(no_preview());
    if content.text.html.is_some() {
        request = request.parse_mode(ParseMode::Html);
    }
    if let Some(buttons) = buttons(content) {
        request = request.reply_markup(buttons);
    }
    request.await.map(|_| None)
}

/// Sends a picture as a photo if Telegram accepts it, and anything else as a document.
async fn upload(bot: &TelegramBot, chat: ChatId, topic: Option<ThreadId>, file: &OutgoingFile) -> Made {
    let input = || InputFile::memory(file.data.clone()).file_name(file.name.clone());
    let made = |sent: Result<Message, RequestError>| sent.map(|message| Some(message.id));
    // Animations do not move as photos.
    let is_photo = file.is_picture() && file.media_type != "image/gif" && file.data.len() <= MAX_PHOTO_BYTES;
    if is_photo {
        let mut request = bot.api().send_photo(chat, input());
        if let Some(topic) = topic {
            request = request.message_thread_id(topic);
        }
        match request.await {
            Err(error) if is_about_the_picture(&error) => {}
            sent => return made(sent),
        }
    }
    let mut request = bot.api().send_document(chat, input());
    if let Some(topic) = topic {
        request = request.message_thread_id(topic);
    }
    made(request.await)
}

fn chat(place: &Place) -> Result<ChatId, OperationError> {
    let number = place.chat.as_str().parse();
    number
        .map(ChatId)
        .map_err(|_| OperationError::Refused(format!("{} is not a valid Telegram chat id", place.chat)))
}

fn number(message: &MessageRef) -> Result<MessageId, OperationError> {
    let number = message.as_str().parse();
    number
        .map(MessageId)
        .map_err(|_| OperationError::Gone(format!("{message} is not a valid Telegram message id")))
}

fn topic(place: &Place) -> Option<ThreadId> {
    let number = place.thread.as_ref()?.as_str().parse().ok()?;
    Some(ThreadId(MessageId(number)))
}

fn words(content: &Content) -> &str {
    content.text.html.as_deref().unwrap_or(&content.text.plain)
}

fn no_preview() -> LinkPreviewOptions {
    LinkPreviewOptions {
        is_disabled: true,
        url: None,
        prefer_small_media: false,
        prefer_large_media: false,
        show_above_text: false,
    }
}

fn buttons(content: &Content) -> Option<InlineKeyboardMarkup> {
    let rows = content.buttons.iter().map(|button| {
        let label: String = button.label.chars().take(MAX_LABEL_LENGTH).collect();
        [InlineKeyboardButton::callback(label, button.data.clone())]
    });
    (!content.buttons.is_empty()).then(|| InlineKeyboardMarkup::new(rows))
}
