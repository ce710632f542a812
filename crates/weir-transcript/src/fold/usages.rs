//! What each message of the model used.
//!
//! With partial messages on, the number of written tokens is known only at the end of the message; whole lines carry
//! what was known when the message began. What is said later counts.

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
    /// The message of an agent that was heard of last: where the pieces are not kept, its end comes alone.
    pub(super) fn newest_message(&self, parent: Option<IdRef<'_, ToolUseId>>) -> Option<ApiMessageId> {
        let is_its = |known: &&MessageUsage| match (&known.parent, parent) {
            (None, None) => true,
            (Some(ours), Some(theirs)) => theirs == *ours,
            _ => false,
        };
        self.view.usages.iter().rev().find(is_its).map(|known| known.message.clone())
    }
}

impl TokenUsage {
    /// What the CLI says of tokens, if it says anything.
    pub(super) fn of(usage: Option<&Usage<'_>>) -> Option<Self> {
        let usage = usage?;
        let says_nothing = usage.input_tokens.is_none()
            && usage.output_tokens.is_none()
            && usage.cache_read_input_tokens.is_none()
            && usage.cache_creation_input_tokens.is_none();
        let mut told = Self::default();
        told.update(usage);
        (!says_nothing).then_some(told)
    }

    /// Takes over what is said; what is not said stays.
    fn update(&mut self, usage: &Usage<'_>) {
        let places = [
            (&mut self.input_tokens, usage.input_tokens),
            (&mut self.output_tokens, usage.output_tokens),
            (&mut self.cache_read_input_tokens, usage.cache_read_input_tokens),
            (&mut self.cache_creation_input_tokens, usage.cache_creation_input_tokens),
        ];
        for (place, told) in places {
            *place = told.unwrap_or(*place);
        }
    }
}
