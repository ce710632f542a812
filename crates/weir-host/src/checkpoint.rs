//! Checkpoints of a history, so that a long log need not be folded from its beginning.
//!
//! They are made only by folding the log, never from live state. So a history that continues from one is the same as
//! one that has read everything. The store may lose them at any time; unreadable ones are skipped.

use weir_store::{Checkpoint, CheckpointQuery, Reply, SessionId, Store};

use crate::error::HostError;
use crate::history::History;

/// Increased when the format of a history or the result of a fold changes. The version of this crate also counts.
const FORMAT: u32 = 5;
/// A log of large events gets one after this many bytes as well.
const EVERY_BYTES: usize = 16 << 20;
/// Larger checkpoints are not kept: folding the log costs less.
const MAX_SIZE: usize = 8 << 20;

fn version(keep_entries: usize) -> String {
    format!("{}/{FORMAT}/{keep_entries}", env!("CARGO_PKG_VERSION"))
}

/// Which checkpoint to begin with.
pub(crate) fn query(id: &SessionId, keep_entries: usize) -> CheckpointQuery {
    CheckpointQuery::newest(id.clone(), version(keep_entries))
}

/// The history that a checkpoint holds; an empty one where there is none that can be read.
pub(crate) fn history(checkpoint: Option<Checkpoint>, keep_entries: usize) -> History {
    let kept = checkpoint.and_then(|checkpoint| {
        let history = History::from_json(&checkpoint.data, keep_entries)?;
        Some(history).filter(|history| history.newest() == checkpoint.seq)
    });
    kept.unwrap_or_else(|| History::new(keep_entries))
}

/// The history to continue from. Blocks.
pub(crate) fn restore(
    store: &dyn Store,
    query: CheckpointQuery,
    keep_entries: usize,
) -> Result<History, HostError> {
    Ok(history(store.checkpoint(query).wait()?, keep_entries))
}

/// Keeps a checkpoint from time to time while a log is folded.
#[derive(Debug)]
pub(crate) struct Keeper {
    every: u64,
    /// The event that the last one was made at.
    pub(crate) last: u64,
    bytes: usize,
    /// The one before, which may still be on its way.
    saving: Option<Reply<()>>,
}

impl Keeper {
    /// For a fold that continues after this event.
    pub(crate) fn new(every: u64, last: u64) -> Self {
        Self { every: every.max(1), last, bytes: 0, saving: None }
    }

    /// The history has taken an event of this size. Blocks while the checkpoint before is being stored.
    pub(crate) fn passed(
        &mut self,
        store: &dyn Store,
        id: &SessionId,
        history: &History,
        keep: usize,
        size: usize,
    ) {
        self.bytes += size;
        if history.newest() - self.last < self.every && self.bytes < EVERY_BYTES {
            return;
        }
        (self.last, self.bytes) = (history.newest(), 0);
        let Some(data) = history.to_json().filter(|data| data.len() <= MAX_SIZE) else { return };
        let checkpoint =
            Checkpoint { seq: history.newest(), version: version(keep), mark: history.first_entry(), data };
        // One at a time, so that checkpoints do not pile up if folding is faster than storing. Nothing is lost if one
        // cannot be kept.
        let before = self.saving.replace(store.save_checkpoint(id.clone(), checkpoint));
        let _not_kept = before.map(Reply::wait);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use weir_store::{Event, NewEvent};
    use weir_testkit::Capture;
    use weir_transcript::HostEvent;
    use weir_wire::MessageId;

    use super::*;
    use crate::frame_builder::{FrameBuilder, Watched};
    use crate::item::{Item, Note};
    use crate::message::{MessageMode, StoredMessage};
    use crate::message_queue::Record;
    use crate::watch::Format;
    use crate::watch_event::{Frame, WatchEvent};

    const KEEP: usize = 12;
    const FORMATS: [Format; 4] = [Format::View, Format::Agent, Format::Classic, Format::Raw];

    fn captures() -> Vec<Vec<u8>> {
        let newest = Capture::all().unwrap().into_iter().filter(|capture| capture.version == "2.1.325");
        newest.map(|capture| capture.read().unwrap()).collect()
    }

    /// Logs of whole sessions, one after another, with what the host writes between them.
    fn log(order: &[usize]) -> Vec<Event> {
        let captures = captures();
        let mut items: Vec<NewEvent> = Vec::new();
        for (number, capture) in order.iter().enumerate() {
            let message_id = MessageId::new(format!("message-{number}"));
            let message = StoredMessage {
                message_id: message_id.clone(),
                client_id: Some(format!("client-{number}")),
                by: "test".to_owned(),
                account: None,
                mode: MessageMode::Queue,
                goes_first: number % 5 == 4,
                text: format!("question {number}"),
                images: Vec::new(),
                documents: Vec::new(),
                links: Vec::new(),
                files: Vec::new(),
                command: None,
            };
            let before = [
                Item::Message(message.into()),
                Item::Note(Note::HandedOver { message_id: message_id.clone() }),
                Item::Host(HostEvent::ProcessStarted { resumes: None }),
                Item::Host(HostEvent::MessageSent { message: message_id }),
            ];
            items.extend(before.iter().filter_map(|item| item.to_event(number as i64, None)));
            for line in captures[capture % captures.len()].split(|byte| *byte == b'\n') {
                // Pieces are not logged.
                if !line.is_empty() && !line.starts_with(br#"{"type":"stream_event""#) {
                    items.push(NewEvent::new(number as i64, "line", line.to_vec()));
                }
            }
            if number % 3 == 1 {
                let end = HostEvent::ProcessExited {
                    code: Some(1),
                    signal: None,
                    stderr: "gone".to_owned(),
                    wanted: false,
                };
                items.extend(Item::Host(end).to_event(number as i64, None));
            }
            if number % 4 == 3 {
                items.extend(Item::Note(Note::Restarted { turn: true }).to_event(number as i64, None));
            }
        }
        let numbered = items.into_iter().enumerate();
        numbered
            .map(|(number, item)| Event {
                seq: number as u64 + 1,
                at: item.at,
                kind: item.kind,
                client_id: item.client_id,
                payload: item.payload,
                check: None,
            })
            .collect()
    }

    /// What viewers of all forms are told of an event.
    fn told(history: &mut History, event: Event) -> Vec<String> {
        let mut watched = Watched::default();
        FORMATS.into_iter().for_each(|format| watched.add(format));
        let mut frames = FrameBuilder::new(watched, 0);
        history.replay(event, &mut frames);
        let newest = history.log.cursor("epoch");
        let frames = FORMATS.into_iter().flat_map(|format| frames.frames(format, &newest));
        frames.map(|frame| told_in_json(&frame)).collect()
    }

    /// A frame as a client sees it. In memory, equal JSON may be laid out differently.
    fn told_in_json(frame: &Frame) -> String {
        let json = match frame.event() {
            WatchEvent::Changes(event) => serde_json::to_string(event),
            WatchEvent::Agent(event) => serde_json::to_string(event),
            WatchEvent::Classic(event) => serde_json::to_string(event),
            WatchEvent::Line(raw) => Ok(String::from_utf8_lossy(raw).into_owned()),
            other => panic!("{other:?}"),
        };
        format!("{:?} {} {}", frame.id(), frame.event().name(), json.unwrap())
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

        #[test]
        fn a_history_continues_as_if_it_had_read_everything(
            order in prop::collection::vec(0usize..200, 1..8),
            cuts in prop::collection::vec(any::<prop::sample::Index>(), 1..4),
        ) {
            let events = log(&order);
            let cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(events.len())).collect();
            let (mut whole, mut kept) = (History::new(KEEP), History::new(KEEP));
            for (place, event) in events.into_iter().enumerate() {
                let expected = told(&mut whole, event.clone());
                prop_assert_eq!(told(&mut kept, event), expected);
                if cuts.contains(&place) {
                    let data = kept.to_json().unwrap();
                    kept = History::from_json(&data, KEEP).unwrap();
                }
                prop_assert_eq!(kept.view(), whole.view());
                prop_assert_eq!(kept.log.status(kept.view()), whole.log.status(whole.view()));
                prop_assert_eq!(kept.closing(), whole.closing());
            }
            let messages = |history: &History| history.log.messages.records().map(Record::info).collect::<Vec<_>>();
            prop_assert_eq!(messages(&kept), messages(&whole));
        }
    }

    #[test]
    fn unreadable_checkpoints_are_skipped() {
        let checkpoint =
            |seq, data: &[u8]| Checkpoint { seq, version: version(KEEP), mark: 1, data: data.to_vec() };
        let whole = History::new(KEEP).to_json().unwrap();
        for broken in [&b""[..], b"{}", b"\xff", &whole[..whole.len() / 2]] {
            assert_eq!(history(Some(checkpoint(0, broken)), KEEP).newest(), 0);
        }
        // One that says another number than it has is not trusted either.
        assert_eq!(history(Some(checkpoint(7, &whole)), KEEP).newest(), 0);
    }

    #[test]
    fn another_version_or_size_of_view_is_another_checkpoint() {
        assert_ne!(version(1), version(2));
        assert!(version(1).contains(env!("CARGO_PKG_VERSION")));
    }
}
