//! The bot, and what its failures are called. Nothing here shows the token.

use std::error::Error as _;
use std::fmt;
use std::time::Duration;

use teloxide_core::{ApiError, Bot, RequestError};
use weir_bridge::BridgeError;
use weir_bridge::config::Secret;

/// How long a poll waits for updates.
pub(crate) const POLL: Duration = Duration::from_secs(50);
/// How long an answer may take beyond that.
const PATIENCE: Duration = Duration::from_secs(20);

/// The bot of a token.
#[derive(Clone)]
pub(crate) struct TelegramBot {
    bot: Bot,
    token: Secret,
}

impl fmt::Debug for TelegramBot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The library's own would show the token.
        f.debug_struct("TelegramBot").field("api_url", &self.bot.api_url().as_str()).finish_non_exhaustive()
    }
}

impl TelegramBot {
    /// The bot of this token, on Telegram's server or on another one.
    pub(crate) fn new(api_url: Option<&str>, token: Secret) -> Result<Self, BridgeError> {
        let client = reqwest::Client::builder()
            .user_agent(concat!("weir/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(Duration::from_secs(10))
            .timeout(POLL + PATIENCE)
            .tcp_nodelay(true)
            // A redirect could carry the token to somebody else.
            .redirect(reqwest::redirect::Policy::none())
            .build()
            .map_err(|error| BridgeError::Failed(format!("the HTTP client cannot be made: {error}")))?;
        let mut bot = Bot::with_client(token.reveal(), client);
        if let Some(address) = api_url {
            bot = bot.set_api_url(server(address)?);
        }
        Ok(Self { bot, token })
    }

    /// For calls.
    pub(crate) fn api(&self) -> &Bot {
        &self.bot
    }

    /// Why a call failed, in words. The library hides the token where it finds it; this hides it everywhere.
    pub(crate) fn explain(&self, error: &RequestError) -> String {
        let text = match error {
            RequestError::Api(ApiError::Unknown(description)) => format!("Telegram says: {description}"),
            RequestError::Api(error) => format!("Telegram says: {error}"),
            RequestError::MigrateToChatId(chat) => {
                format!("Telegram says: the group became the supergroup {chat}")
            }
            RequestError::RetryAfter(time) => format!("Telegram asks to wait {} seconds", time.seconds()),
            RequestError::Network(error) => {
                let mut text = format!("Telegram cannot be reached: {error}");
                let mut source = error.source();
                while let Some(cause) = source {
                    text = format!("{text}: {cause}");
                    source = cause.source();
                }
                text
            }
            RequestError::InvalidJson { source, .. } => {
                format!("the answer is not one of the Bot API: {source}")
            }
            RequestError::Io(error) => error.to_string(),
        };
        text.replace(self.token.reveal(), "TOKEN")
    }
}

/// The address of a server of the Bot API.
fn server(address: &str) -> Result<reqwest::Url, BridgeError> {
    let wrong = |why: &str| {
        BridgeError::Configuration(format!(
            "telegram.api_url: {address} {why}; it must be like https://example.org"
        ))
    };
    let url =
        reqwest::Url::parse(address.trim_end_matches('/')).map_err(|error| wrong(&error.to_string()))?;
    match url.scheme() {
        "http" | "https" if url.has_host() => Ok(url),
        _ => Err(wrong("is no address of a server")),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use teloxide_core::requests::Requester as _;
    use teloxide_core::{ApiError, RequestError};
    use weir_bridge::config::Secret;

    use super::TelegramBot;

    const TOKEN: &str = "42:a-secret-that-is-not-shown-anywhere";

    fn bot(url: &str) -> TelegramBot {
        TelegramBot::new(Some(url), Secret::new(TOKEN)).unwrap()
    }

    #[tokio::test]
    async fn the_token_is_never_shown() {
        // Nobody listens on this port of the loopback.
        let bot = bot("http://127.0.0.1:1/some/path");
        assert!(!format!("{bot:?}").contains("secret"));
        let error = bot.api().get_me().await.unwrap_err();
        let text = bot.explain(&error);
        assert!(text.starts_with("Telegram cannot be reached: "), "{text}");
        assert!(!text.contains("secret") && !format!("{error:?}").contains("secret"), "{text}");
        let echoed = RequestError::Api(ApiError::Unknown(format!("bot{TOKEN} is unknown")));
        assert_eq!(bot.explain(&echoed), "Telegram says: botTOKEN is unknown");
        let raw = format!("<html>{TOKEN}</html>");
        let source = Arc::new(serde_json::from_str::<bool>(&raw).unwrap_err());
        let page = RequestError::InvalidJson { source, raw: raw.into() };
        assert!(!bot.explain(&page).contains("secret"));
    }

    #[test]
    fn an_address_that_is_none_is_refused() {
        for address in ["data:text/plain,x", "api.telegram.org", "ftp://example.org", "http://"] {
            let error = TelegramBot::new(Some(address), Secret::new(TOKEN)).unwrap_err();
            assert!(error.to_string().starts_with("telegram.api_url: "), "{error}");
        }
    }
}
