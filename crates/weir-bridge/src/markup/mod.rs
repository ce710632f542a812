//! Renders the model's Markdown for a chat.
//!
//! All functions are pure. HTML in the model's text is escaped, so it cannot become markup of the channel.

mod html;
mod measure;
mod plain;
mod split;
mod table;

use serde::{Deserialize, Serialize};

pub use split::{Splitter, split};

/// The markup of a channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Markup {
    /// No markup at all. Length is counted in characters.
    Plain,
    /// The HTML of Telegram. Length is counted in UTF-16 units of the text without tags.
    TelegramHtml,
    /// The HTML of Matrix, with a plain text version. Length is counted in bytes of both.
    MatrixHtml,
}

/// A text in the channel's markup.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Rendered {
    /// The text without markup.
    pub plain: String,
    /// The text with markup, if the channel has any.
    pub html: Option<String>,
}

impl Markup {
    /// Renders Markdown.
    pub fn render(self, markdown: &str) -> Rendered {
        match self {
            Self::Plain => Rendered { plain: plain::render(markdown), html: None },
            Self::TelegramHtml => Rendered {
                plain: plain::render(markdown),
                html: Some(html::render(markdown, html::Dialect::Telegram)),
            },
            Self::MatrixHtml => Rendered {
                // For clients without HTML. Markdown is readable enough, and is what a person would type.
                plain: markdown.to_owned(),
                html: Some(html::render(markdown, html::Dialect::Matrix)),
            },
        }
    }

    /// The length of a text for the channel, once rendered.
    pub fn length(self, markdown: &str) -> usize {
        match self {
            Self::Plain => plain::render(markdown).chars().count(),
            // Either may be sent: the plain text if the channel refuses the markup.
            Self::TelegramHtml => {
                let plain = plain::render(markdown).encode_utf16().count();
                plain.max(measure::visible_utf16(&html::render(markdown, html::Dialect::Telegram)))
            }
            Self::MatrixHtml => markdown.len() + html::render(markdown, html::Dialect::Matrix).len(),
        }
    }
}
