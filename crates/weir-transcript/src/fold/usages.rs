//! What each message from the model used.
//!
//! With partial messages on, the number of written tokens is known only at the end of the message; `assistant`
//! lines carry what was known when the message began. Later values replace earlier ones.

use weir_wire::{ApiMessageId, IdRef, ToolUseId, Usage};

use super::{Fold, Sink};
use crate::view::{Change, EntryId, MessageUsage, TokenUsage};

impl Fold {
    pub(super) fn message_used(
        &mut self,
        message: Option<&ApiMessageId>,
        parent: Option<IdRef<'_, ToolUseId>>,
        model: Option<weir_wire::Text<'_>>,
        usage: Option<&Usage<'_>>,
        sink: &mut Sink<'_>,
    ) {
        let (Some(message), Some(usage)) = (message, usage) else { return };
        let known = self.view.usages.iter().rfind(|known| known.message == *message);
        let mut now = known.cloned().unwrap_or_else(|| MessageUsage {
            message: message.clone(),
            turn: self.turn_for(parent),
            parent: parent.map(|id| id.to_id()),
            entry: EntryId(self.next_entry),
            model: None,
            usage: TokenUsage::default(),
        });
        now.usage.update(usage);
        if let Some(model) = model {
            now.model = Some(model.to_str().into_owned());
        }
        if known != Some(&now) {
            self.emit(Change::MessageUsed(Box::new(now)), sink);
        }
    }
}

impl Fold {
    /// The latest message of an agent: if the pieces are not kept, only its end arrives.
    pub(super) fn newest_message(&self, parent: Option<IdRef<'_, ToolUseId>>) -> Option<ApiMessageId> {
        let is_of_agent = |known: &&MessageUsage| match (&known.parent, parent) {
            (None, None) => true,
            (Some(ours), Some(theirs)) => theirs == *ours,
            _ => false,
        };
        self.view.usages.iter().rev().find(is_of_agent).map(|known| known.message.clone())
    }
}

impl TokenUsage {
    /// The tokens that the CLI reports, if any.
    pub(super) fn of(usage: Option<&Usage<'_>>) -> Option<Self> {
        let usage = usage?;
        let is_empty = usage.input_tokens.is_none()
            && usage.output_tokens.is_none()
            && usage.cache_read_input_tokens.is_none()
            && usage.cache_creation_input_tokens.is_none();
        let mut tokens = Self::default();
        tokens.update(usage);
        (!is_empty).then_some(tokens)
    }

    /// Takes the reported values and keeps the others.
    fn update(&mut self, usage: &Usage<'_>) {
        let places = [
            (&mut self.input_tokens, usage.input_tokens),
            (&mut self.output_tokens, usage.output_tokens),
            (&mut self.cache_read_input_tokens, usage.cache_read_input_tokens),
            (&mut self.cache_creation_input_tokens, usage.cache_creation_input_tokens),
        ];
        for (place, reported) in places {
            *place = reported.unwrap_or(*place);
        }
    }
}
