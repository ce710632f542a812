//! Messages of long ago, which only the log knows. Blocks.

use weir_store::{CheckpointQuery, SessionId};
use weir_transcript::MessageState;
use weir_wire::MessageId;

use crate::checkpoint;
use crate::core::Core;
use crate::error::HostError;
use crate::frame_builder::FrameBuilder;
use crate::history::History;
use crate::item::Item;
use crate::load::walk;
use crate::log_state::answer_to;
use crate::message::Finished;
use crate::summary;

/// The reason for a failure comes within this many events after it.
const REASON_WITHIN: usize = 8;

/// What became of the message with this number in the log.
pub(crate) fn by_seq(core: &Core, id: &SessionId, seq: u64) -> Result<Finished, HostError> {
    let event = core.options.store.event(id.clone(), seq).wait()?.ok_or(HostError::NoSuchMessage)?;
    match Item::of(event) {
        Some(Item::Message(message) | Item::OldMessage(message)) => {
            follow(core, id, &message.message_id, seq.saturating_sub(1))
        }
        _ => Err(HostError::NoSuchMessage),
    }
}

/// What became of a message: the log is folded up to the moment at which that is known.
pub(crate) fn by_id(core: &Core, id: &SessionId, message: &MessageId) -> Result<Finished, HostError> {
    follow(core, id, message, 0)
}

/// The same, of a message that comes after this event.
fn follow(core: &Core, id: &SessionId, message: &MessageId, after: u64) -> Result<Finished, HostError> {
    let (store, keep) = (&*core.options.store, core.options.keep_entries);
    let query = CheckpointQuery { seq_at_most: after, ..checkpoint::query(id, keep) };
    let mut history = checkpoint::restore(store, query, keep)?;
    let mut frames = FrameBuilder::default();
    let (mut found, mut reasons) = (None, 0);
    let mut look = |history: &History| {
        // Those that have come to their end are forgotten only when others come, so each is seen.
        if let Some(record) = history.log.messages.get(message) {
            let total = history.view().cost.usd;
            if record.state.is_final() {
                let is_told = record.failure.is_some() || record.state == MessageState::Answered;
                let answer = answer_to(history.view(), message);
                found = Some(summary::finish(message, record.state, record.failure.clone(), answer, total));
                // Why nothing came of it is written a few events later.
                reasons += 1;
                return !is_told && reasons < REASON_WITHIN;
            }
        }
        true
    };
    // The store may have dropped the message, and kept what became of it.
    if look(&history) {
        walk(core.source(), id, history.newest(), |event| {
            history.replay(event, &mut frames);
            Ok(look(&history))
        })?;
    }
    found.ok_or(HostError::NoSuchMessage)
}
