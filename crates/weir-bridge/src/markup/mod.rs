//! Markdown of the model as a chat shows it.
//!
//! Everything here is a function from text to text. Nothing that the model writes can become markup of the channel
//! by itself: HTML in its text is text.

mod html;
mod measure;
mod plain;
mod split;
mod table;

use serde::{Deserialize, Serialize};

pub use split::{Splitter, split};

/// How a channel writes text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Markup {
    /// No markup at all. Length is counted in characters.
    Plain,
    /// The HTML of Telegram. Length is counted in UTF-16 units of the text without tags.
    TelegramHtml,
    /// The HTML of Matrix, with plain text beside it. Length is counted in bytes of both.
    MatrixHtml,
}

/// A text in the channel's markup.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Rendered {
    /// The text without markup.
    pub plain: String,
    /// The text with markup, where the channel has one.
    pub html: Option<String>,
}

impl Markup {
    /// Turns Markdown into the markup.
    pub fn render(self, markdown: &str) -> Rendered {
        match self {
            Self::Plain => Rendered { plain: plain::render(markdown), html: None },
            Self::TelegramHtml => Rendered {
                plain: plain::render(markdown),
                html: Some(html::render(markdown, html::Dialect::Telegram)),
            },
            Self::MatrixHtml => Rendered {
                // Clients without HTML show Markdown well enough, and it is what a person would have typed.
                plain: markdown.to_owned(),
                html: Some(html::render(markdown, html::Dialect::Matrix)),
            },
        }
    }

    /// How long a text is for the channel once it is rendered.
    pub fn length(self, markdown: &str) -> usize {
        match self {
            Self::Plain => plain::render(markdown).chars().count(),
            Self::TelegramHtml => measure::visible_utf16(&html::render(markdown, html::Dialect::Telegram)),
            Self::MatrixHtml => markdown.len() + html::render(markdown, html::Dialect::Matrix).len(),
        }
    }
}
