//! The bot, and descriptions of its errors. The token is never shown.

use std::fmt;
use std::time::Duration;

use teloxide_core::{ApiError, Bot, RequestError};
use weir_base::error::with_causes;
use weir_bridge::BridgeError;
use weir_bridge::config::Secret;

/// How long a poll waits for updates.
pub(crate) const POLL: Duration = Duration::from_secs(50);
/// How much longer than that a response may take.
const EXTRA_TIMEOUT: Duration = Duration::from_secs(20);

/// A bot.
#[derive(Clone)]
pub(crate) struct TelegramBot {
    bot: Bot,
    token: Secret,
}

impl fmt::Debug for TelegramBot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The library's own implementation would show the token.
        f.debug_struct("TelegramBot").field("api_url", &self.bot.api_url().as_str()).finish_non_exhaustive()
    }
}

impl TelegramBot {
    /// The bot with this token, on Telegram's server or another one.
    pub(crate) fn new(api_url: Option<&str>, token: Secret) -> Result<Self, BridgeError> {
        let client = reqwest::Client::builder()
            .user_agent(concat!("weir/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(Duration::from_secs(10))
            .timeout(POLL + EXTRA_TIMEOUT)
            .tcp_nodelay(true)
            // A redirect could send the token to another host.
            .redirect(reqwest::redirect::Policy::none())
            .build()
            .map_err(|error| BridgeError::Failed(format!("cannot create the HTTP client: {error}")))?;
        let mut bot = Bot::with_client(token.reveal(), client);
        if let Some(address) = api_url {
            bot = bot.set_api_url(server(address)?);
        }
        Ok(Self { bot, token })
    }

    /// The client for API calls.
    pub(crate) fn api(&self) -> &Bot {
        &self.bot
    }

    /// Describes why a call failed. The library hides the token in some places; this hides it everywhere.
    pub(crate) fn explain(&self, error: &RequestError) -> String {
        let text = match error {
            RequestError::Api(ApiError::Unknown(description)) => format!("Telegram says: {description}"),
            RequestError::Api(error) => format!("Telegram says: {error}"),
            RequestError::MigrateToChatId(chat) => {
                format!("Telegram says: the group became the supergroup {chat}")
            }
            RequestError::RetryAfter(time) => format!("Telegram asks to wait {} seconds", time.seconds()),
            RequestError::Network(error) => format!("Telegram cannot be reached: {}", with_causes(error)),
            RequestError::InvalidJson { source, .. } => {
                format!("the response is not valid for the Bot API: {source}")
            }
            RequestError::Io(error) => error.to_string(),
        };
        text.replace(self.token.reveal(), "TOKEN")
    }
}

/// Parses the URL of a Bot API server.
fn server(address: &str) -> Result<reqwest::Url, BridgeError> {
    let wrong = |why: &str| {
        BridgeError::Configuration(format!(
            "telegram.api_url: {address} {why}; use one like https://example.org"
        ))
    };
    let url = reqwest::Url::parse(address.trim_end_matches('/'))
        .map_err(|error| wrong(&format!("is not a valid address ({error})")))?;
    match url.scheme() {
        "http" | "https" if url.has_host() => Ok(url),
        _ => Err(wrong("is not the address of a server")),
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
        // Nothing listens on this port.
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
    fn invalid_addresses_are_refused() {
        for address in ["data:text/plain,x", "api.telegram.org", "ftp://example.org", "http://"] {
            let error = TelegramBot::new(Some(address), Secret::new(TOKEN)).unwrap_err();
            assert!(error.to_string().starts_with("telegram.api_url: "), "{error}");
        }
    }
}
