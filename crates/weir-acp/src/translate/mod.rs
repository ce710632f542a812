//! Between the host's values and the protocol's. No I/O, no clock.

pub(crate) mod children;
pub(crate) mod choices;
pub(crate) mod diff;
pub(crate) mod failure;
pub(crate) mod form;
mod notice;
pub(crate) mod options;
pub(crate) mod permission;
pub(crate) mod projection;

pub(crate) mod prompt;
pub(crate) mod question;
pub(crate) mod status;
pub(crate) mod tool;

use agent_client_protocol::v1::schema::{ClientCapabilities, ElicitationCapabilities, Meta};
use serde_json::Value;

/// What an editor can show beyond the basics.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Features {
    /// Forms for questions.
    pub(crate) forms: bool,
    /// Links that a person opens in answer to a question.
    pub(crate) links: bool,
    /// Notices that are not part of the conversation.
    pub(crate) notices: bool,
    /// When the history is replaced by a summary.
    pub(crate) compaction: bool,
    /// Sub-agents as sessions of their own.
    pub(crate) children: bool,
    /// The output of commands as terminals that the agent fills. Not a part of the protocol; some editors say that they
    /// can with `terminal_output` in the metadata of their capabilities.
    pub(crate) terminals: bool,
    /// Version 2 of the protocol: the editor is told of its own prompts, and each text has an id of its own.
    pub(crate) draft: bool,
}

impl Features {
    /// What these capabilities mean.
    pub(crate) fn of(capabilities: &ClientCapabilities) -> Self {
        let elicitation = capabilities.elicitation.as_ref();
        let session = capabilities.session.as_ref();
        let says = |name: &str| {
            let meta = capabilities.meta.as_ref();
            meta.and_then(|meta| meta.get(name)).and_then(Value::as_bool).unwrap_or_default()
        };
        Self {
            forms: elicitation.is_some_and(ElicitationCapabilities::supports_form),
            links: elicitation.is_some_and(ElicitationCapabilities::supports_url),
            notices: session.is_some_and(|session| session.notices.is_some()),
            compaction: session.is_some_and(|session| session.compaction.is_some()),
            children: capabilities.subagents.is_some(),
            terminals: says("terminal_output"),
            draft: false,
        }
    }

    /// What every editor that speaks version 2 can show, with what it says of forms.
    #[cfg(feature = "draft-v2")]
    pub(crate) fn of_draft(elicitation: Option<&ElicitationCapabilities>) -> Self {
        Self {
            forms: elicitation.is_some_and(ElicitationCapabilities::supports_form),
            links: elicitation.is_some_and(ElicitationCapabilities::supports_url),
            notices: true,
            compaction: true,
            children: true,
            terminals: true,
            draft: true,
        }
    }
}

/// A text of the CLI or the model for a person, with hidden characters made visible.
pub(crate) fn shown(text: &str) -> String {
    weir_transcript::reveal(text).into_owned()
}

/// Metadata with one member. Weir's own are below `weir`.
pub(crate) fn meta(name: &str, value: impl Into<Value>) -> Meta {
    let mut meta = Meta::new();
    meta.insert(name.to_owned(), value.into());
    meta
}
