//! Publishing: what the store has taken goes to the view, the viewers and the summaries, in order.

use std::sync::{Arc, Weak};

use tokio::sync::mpsc;
use tokio::time::Instant;
use weir_store::SessionUpdate;
use weir_transcript::Oddities;
use weir_wire::TurnId;

use super::{LiveSession, State};
use crate::core::Lease;
use crate::error::HostError;
use crate::frame_builder::{FrameBuilder, Watched};
use crate::info::{SessionInfo, SessionStatus};
use crate::item::Item;
use crate::log_state::Place;
use crate::message::queued;
use crate::message_queue::Record;
use crate::metrics::count;
use crate::recorder::{Batch, Done};
use crate::summary;
use crate::viewer::Offered;
use crate::watch::Format;
use crate::watch_event::{Frame, MessagesEvent, WatchEvent};

impl LiveSession {
    /// Publishes a batch that the store has taken. Returns the turns that have begun in it without a message.
    fn publish(&self, batch: &mut Batch, placed: Option<&weir_store::Appended>) -> Vec<TurnId> {
        let mut guard = self.lock();
        let state = &mut *guard;
        let mut watched = Watched::default();
        for viewer in &state.viewers {
            watched.add(viewer.format);
        }
        self.recorder.set_raw_watched(watched.raw);
        let mut frames = FrameBuilder::new(watched, batch.steps.changes());
        let mut places = placed.into_iter().flat_map(|appended| &appended.placed);
        let mut done = Done { seq: state.log.newest(), new: true };
        let (mut events, mut bytes, mut previews) = (0, 0, 0);
        let before = state.view.oddities;
        let was_at_work = state.view.status.is_in_turn() || state.log.messages.is_any_in_flight();
        let mut newest_at = 0;
        if let Some(appended) = placed.filter(|appended| appended.placed.iter().any(|place| place.new)) {
            state.log.set_check(Some(appended.check));
        }
        let mut has_news = false;
        let (steps, mut changes) = batch.steps.take();
        for (number, step) in steps.enumerate() {
            let mut changes = changes.by_ref().take(step.changes);
            let place = if step.is_logged { places.next() } else { None };
            if let Some(place) = place.filter(|_| number == 0) {
                done = Done { seq: place.seq, new: place.new };
            }
            if place.is_some_and(|place| !place.new) {
                changes.by_ref().for_each(drop);
                continue;
            }
            match place {
                Some(_) => (events, bytes) = (events + 1, bytes + step.size as u64),
                None => previews += 1,
            }
            newest_at = newest_at.max(step.at);
            has_news |= !matches!(step.item, Some(Item::Line(_) | Item::Preview(_)) | None);
            let (item, place) = (
                step.item.as_ref(),
                Place { at: step.at, seq: place.map(|place| place.seq), size: step.size },
            );
            state.log.begin(place, item, &mut frames);
            for change in changes {
                state.view.apply(&change);
                has_news |= summary::is_told_by(&change);
                state.log.change(place, &state.view, &change, &mut frames);
                frames.view_change(|| change);
            }
            state.log.end(place, &state.view, item, &mut frames);
            if let Some(Item::Message(message)) = item {
                // Under the lock, so that nothing else about the message comes before it.
                let waiter = batch.waiter.take().map(|waiter| waiter.with(done));
                let items = vec![Item::Host(queued(message))];
                self.recorder.record_for(items, SessionUpdate::default(), waiter);
            }
        }
        let counters = &self.core.counters;
        count(&counters.events, events);
        count(&counters.event_bytes, bytes);
        count(&counters.previews, previews);
        if events > 0 {
            counters.appends.record(batch.sent.elapsed().as_secs_f64());
        }
        state.row.updated_at = state.row.updated_at.max(newest_at);
        let tally = state.log.take_tally();
        summary::count_turns(&tally.ended, counters);
        // A turn that runs charges for its agents itself.
        if tally.has_cut_off_agents && !was_at_work {
            self.charge_cut_off_agents(state);
        }
        tally.first_texts.iter().for_each(|took| counters.first_texts.record(*took as f64 / 1000.0));
        let odd = state.view.oddities;
        let malformed = |odd: Oddities| odd.mismatches + odd.not_json + odd.oversize;
        count(&counters.unknown_lines, odd.unknown_types.saturating_sub(before.unknown_types));
        count(&counters.malformed_lines, malformed(odd).saturating_sub(malformed(before)));
        self.offer(state, frames);
        // An append without events has changed something else. Transient lines do not change the summary.
        has_news |= placed.is_some() && events == 0;
        if has_news || events > 0 && summary::figures(state) != state.told {
            self.tell_facts(state);
        }
        self.keep_checkpoint(state);
        drop(guard);
        if let Some(waiter) = batch.waiter.take() {
            waiter.done(done);
        }
        tally.unasked
    }

    /// Requests a checkpoint once enough events have arrived. It is made from the log, because the state here may have
    /// more than the log.
    fn keep_checkpoint(&self, state: &mut State) {
        let newest = state.log.newest();
        if newest - state.checkpoint < self.core.options.checkpoint_every {
            return;
        }
        state.checkpoint = newest;
        self.core.checkpoints.request(&self.id);
    }

    /// Fails if another program has written to the log in between: the view would not have it.
    fn in_order(
        &self,
        placed: Option<weir_store::Appended>,
    ) -> Result<Option<weir_store::Appended>, HostError> {
        let newest = self.lock().log.newest();
        let first = placed.iter().flat_map(|appended| &appended.placed).find(|place| place.new);
        match first {
            Some(place) if place.seq != newest + 1 => {
                Err(weir_store::StoreError::Moved { expected: newest, newest: place.seq }.into())
            }
            _ => Ok(placed),
        }
    }

    /// Sends frames to the viewers.
    fn offer(&self, state: &mut State, mut built: FrameBuilder) {
        if state.viewers.is_empty() {
            return;
        }
        let newest = state.log.cursor(self.core.options.store.epoch());
        for format in [Format::View, Format::Agent, Format::Classic, Format::Raw] {
            if state.viewers.iter().all(|viewer| viewer.format != format) {
                continue;
            }
            let frames = built.frames(format, &newest);
            self.offer_frames(state, format, &frames);
        }
    }

    fn offer_frames(&self, state: &mut State, format: Format, frames: &[Frame]) {
        if frames.is_empty() {
            return;
        }
        state.viewers.retain(|viewer| {
            if viewer.format != format {
                return true;
            }
            let offered = viewer.outlet.offer(frames);
            if offered == Offered::Lagged {
                count(&self.core.counters.lagged, 1);
            }
            offered == Offered::Taken
        });
    }

    /// Publishes the session's summary to the store, its viewers and the viewers of all sessions, if it has changed.
    pub(super) fn tell_facts(&self, state: &mut State) {
        let figures = summary::figures(state);
        let before = std::mem::replace(&mut state.told, figures);
        let mut info = summary::info_with(state, figures);
        let waits = info.status == SessionStatus::Waiting;
        if waits && state.waiting_since.is_none() {
            state.waiting_since = Some(Instant::now());
            // The session gives its slot in the pool back.
            self.core.freed.notify_waiters();
        } else if !waits {
            state.waiting_since = None;
        }
        if let Some(update) = summary::update(state, &info) {
            // The write happens even if its reply is dropped. If it fails, so does the next event.
            drop(self.core.options.store.update(self.id.clone(), update));
        }
        if !summary::is_same(&mut info, &state.info) {
            state.info = Arc::new(info);
            self.core.hub.tell(&state.info);
            let frame =
                Frame::new(None, WatchEvent::Session(Arc::clone(&state.info)), size_of::<SessionInfo>());
            self.offer_frames(state, Format::View, &[frame]);
        }
        if figures.messages != before.messages {
            let messages: Vec<_> = state.log.messages.queued().map(Record::info).collect();
            let size = messages.iter().map(|message| size_of_val(message) + message.text.len()).sum();
            let frame = Frame::new(None, WatchEvent::Messages(MessagesEvent { messages }), size);
            self.offer_frames(state, Format::View, &[frame]);
        }
    }
}

/// Publishes what the store has taken, in order, until the session is released.
pub(super) async fn publish(live: Weak<LiveSession>, mut batches: mpsc::UnboundedReceiver<Batch>) {
    while let Some(mut batch) = batches.recv().await {
        let reply = match batch.reply.take() {
            Some(reply) => reply.await.map(Some),
            None => Ok(None),
        };
        let Some(live) = live.upgrade() else { return };
        match reply.map_err(HostError::from).and_then(|placed| live.in_order(placed)) {
            Ok(placed) => {
                for turn in live.publish(&mut batch, placed.as_ref()) {
                    Lease::of(&live).bill_unasked(turn);
                }
                live.recorder.shown(&batch);
                if placed.is_some() {
                    // Text that is being written changes nothing that is waited for.
                    live.changed();
                }
                // Dropping the lease also releases the session, if nothing is left to do.
                Lease::of(&live).kick();
            }
            Err(error) => {
                if batch.is_refusable(&error) {
                    live.recorder.shown(&batch);
                    if let Some(waiter) = batch.waiter.take() {
                        waiter.failed(error);
                    }
                    continue;
                }
                live.fail(&error);
                if let Some(waiter) = batch.waiter.take() {
                    waiter.failed(error);
                }
                return;
            }
        }
    }
}
