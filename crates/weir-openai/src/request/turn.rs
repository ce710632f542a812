//! Messages in the form used by the rest of the front.

/// Author of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Role {
    /// Instructions for the model.
    System,
    /// The user.
    User,
    /// The model.
    Assistant,
    /// The result of a tool call.
    Tool,
}

impl Role {
    /// OpenAI's name for the role.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::User => "user",
            Self::Assistant => "assistant",
            Self::Tool => "tool",
        }
    }
}

/// A message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Turn {
    /// Who wrote the message.
    pub role: Role,
    /// The client's name for the author or the tool.
    pub name: Option<String>,
    /// The content, in order.
    pub parts: Vec<Part>,
    /// The tools that the model called.
    pub calls: Vec<ToolCall>,
    /// The tool call that this is the result of.
    pub call_id: Option<String>,
}

/// A part of a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    /// A text.
    Text(String),
    /// A picture.
    Image(Image),
}

/// A picture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Image {
    /// Such as `image/png`.
    pub media_type: String,
    /// The bytes of the file.
    pub data: Vec<u8>,
}

/// A call of one of the client's tools.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolCall {
    /// Id of the call.
    pub id: String,
    /// The function.
    pub name: String,
    /// Its arguments as JSON text.
    pub arguments: String,
}

impl Turn {
    /// A message with one text.
    pub fn text(role: Role, text: impl Into<String>) -> Self {
        Self { role, name: None, parts: vec![Part::Text(text.into())], calls: Vec::new(), call_id: None }
    }

    /// All its text, separated by line breaks.
    pub fn words(&self) -> String {
        let texts: Vec<&str> = self.parts.iter().filter_map(Part::as_text).collect();
        texts.join("\n")
    }

    /// Its pictures.
    pub fn images(&self) -> impl Iterator<Item = &Image> {
        self.parts.iter().filter_map(|part| match part {
            Part::Image(image) => Some(image),
            Part::Text(_) => None,
        })
    }
}

impl Part {
    fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Image(_) => None,
        }
    }
}
