//! Handles the responses of the homeserver: delivers each event once, in order.
//!
//! The SDK stores its own position in the event stream. The bridge stores another one, up to which everything is in its
//! inbox. After a restart or a failure, the events between the two are requested again, room by room, and the inbox
//! recognises those that it already has.

use matrix_sdk::deserialized_responses::{TimelineEvent, TimelineEventKind};
use matrix_sdk::ruma::OwnedUserId;
use matrix_sdk::ruma::events::room::message::RoomMessageEventContent;
use matrix_sdk::sync::{JoinedRoomUpdate, SyncResponse};
use matrix_sdk::{Client, Room, RoomMemberships};
use weir_base::time::now_ms;
use weir_bridge::channel::{Inlet, NotKept};

use crate::backfill::{self, Missed};
use crate::failure::{explain, is_logged_out};
use crate::invites::Invites;
use crate::mention::Names;
use crate::read::{Setting, read};
use crate::timeline::{TrustFilter, first_relevant};
use crate::undecrypted::{Held, HeldEvent};
use crate::upgrades::Upgrades;

const NOT_DECRYPTED: &str = "I could not decrypt one of your messages. Please send it again.";

/// Why a response of the homeserver could not be handled.
pub(crate) enum Trouble {
    /// The bridge accepts no more messages.
    NotKept,
    /// A request failed and has to be repeated.
    Matrix(matrix_sdk::Error),
}

impl From<NotKept> for Trouble {
    fn from(_: NotKept) -> Self {
        Self::NotKept
    }
}

impl From<matrix_sdk::Error> for Trouble {
    fn from(error: matrix_sdk::Error) -> Self {
        Self::Matrix(error)
    }
}

/// Delivers events of the homeserver.
pub(crate) struct Listener {
    client: Client,
    inlet: Inlet,
    me: OwnedUserId,
    my_name: Option<String>,
    held: Held,
    invites: Invites,
    upgrades: Upgrades,
    /// Everything before this position has been handled. `None` until the first response has been handled.
    place: Option<String>,
    last_order: i64,
}

impl Listener {
    pub(crate) fn new(client: Client, inlet: Inlet, me: OwnedUserId, my_name: Option<String>) -> Self {
        Self {
            client,
            inlet,
            me,
            my_name,
            held: Held::default(),
            invites: Invites::default(),
            upgrades: Upgrades::default(),
            place: None,
            last_order: 0,
        }
    }

    /// Whether there are no missed events to catch up on.
    pub(crate) fn is_up_to_date(&self) -> bool {
        self.place.is_some()
    }

    /// Handles a response of the homeserver. If that fails, the next call starts by catching up.
    pub(crate) async fn handle(&mut self, response: SyncResponse) -> Result<(), Trouble> {
        let place = self.place.take();
        // Must come before anything in a new room is delivered.
        self.upgrades.follow(&self.client, &self.inlet).await?;
        match place {
            None => self.catch_up().await?,
            Some(place) => {
                for (room, update) in &response.rooms.joined {
                    let Some(room) = self.client.get_room(room) else { continue };
                    self.handle_room(&room, update, &place).await?;
                }
            }
        }
        self.try_held().await?;
        self.invites.answer(&self.client, &self.inlet).await;
        if self.held.is_empty() {
            self.inlet.set_cursor(response.next_batch.clone()).await;
        }
        self.place = Some(response.next_batch);
        Ok(())
    }

    /// Delivers the events since the bridge last listened. On the very first start there are none.
    async fn catch_up(&mut self) -> Result<(), Trouble> {
        let Some(cursor) = self.inlet.cursor().await else { return Ok(()) };
        // They come after that position, so they are read again.
        drop(self.held.take());
        for room in self.client.joined_rooms() {
            match backfill::since(&room, &cursor).await {
                Ok(missed) => self.deliver_all(&room, missed).await?,
                Err(error) if is_refused(&error) => self.inlet.note(format!(
                    "missed messages in {} cannot be read: {}",
                    room.room_id(),
                    explain(&error)
                )),
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    async fn handle_room(
        &mut self,
        room: &Room,
        update: &JoinedRoomUpdate,
        place: &str,
    ) -> Result<(), Trouble> {
        let timeline = &update.timeline;
        let is_new_to_us = first_relevant(&timeline.events, &self.me) > 0;
        let mut missed = Missed::default();
        if let Some(before) = timeline.prev_batch.as_ref().filter(|_| timeline.limited && !is_new_to_us) {
            missed = match backfill::between(room, place, before).await {
                Err(error) if is_refused(&error) => Missed { cut: true, ..Missed::default() },
                read => read?,
            };
        }
        missed.events.extend(timeline.events.iter().cloned());
        self.deliver_all(room, missed).await
    }

    async fn deliver_all(&mut self, room: &Room, missed: Missed) -> Result<(), Trouble> {
        if missed.cut {
            self.inlet.note(format!(
                "too many messages were missed in {}; some of them are not read",
                room.room_id()
            ));
        }
        let begin = first_relevant(&missed.events, &self.me);
        let events = missed.events.get(begin..).unwrap_or_default();
        let mut trust = TrustFilter::new(room.encryption_state().is_encrypted(), events);
        for event in events {
            let order = self.next_order();
            if !trust.accepts(event) {
                self.inlet.note(format!(
                    "a message in {} is not encrypted although the room is, so it is not read",
                    room.room_id()
                ));
                continue;
            }
            if let TimelineEventKind::UnableToDecrypt { event, .. } = &event.kind {
                let at = now_ms();
                self.held.push(HeldEvent {
                    room: room.room_id().to_owned(),
                    event: event.clone(),
                    order,
                    at,
                });
                continue;
            }
            self.deliver(room, event, order).await?;
        }
        Ok(())
    }

    async fn deliver(&mut self, room: &Room, event: &TimelineEvent, order: i64) -> Result<(), Trouble> {
        let (Ok(parsed), Some(sender)) = (event.raw().deserialize(), event.sender()) else { return Ok(()) };
        let member = room.get_member_no_sync(&sender).await.ok().flatten();
        let sender_name = member.as_ref().map_or(sender.localpart(), |member| member.name()).to_owned();
        let setting = Setting {
            channel: self.inlet.channel(),
            room: room.room_id(),
            names: Names { id: &self.me, display_name: self.my_name.as_deref() },
            sender_name: &sender_name,
            direct: is_direct(room).await,
            order,
        };
        let Some(mut reading) = read(&parsed, &setting) else { return Ok(()) };
        if let Some(answered) = reading.answers.as_ref().filter(|_| !reading.incoming.addressed) {
            let answered = room.load_or_fetch_event(answered, None).await;
            reading.incoming.addressed = answered.is_ok_and(|event| event.sender() == Some(self.me.clone()));
        }
        self.inlet.deliver(reading.incoming, Vec::new()).await?;
        Ok(())
    }

    /// Tries again to decrypt the messages that wait for a key.
    async fn try_held(&mut self) -> Result<(), Trouble> {
        for held in self.held.take() {
            let Some(room) = self.client.get_room(&held.room) else { continue };
            match room.decrypt_event(held.event.cast_ref_unchecked(), None).await {
                Ok(event) if !event.kind.is_utd() => self.deliver(&room, &event, held.order).await?,
                _ => self.held.push(held),
            }
        }
        for lost in self.held.give_up(now_ms()) {
            self.inlet.note(format!("a message in {} could not be decrypted", lost.room));
            self.report_lost(&lost).await;
        }
        Ok(())
    }

    /// Tells the sender that a message was not read, if they may talk to the agent.
    async fn report_lost(&self, lost: &HeldEvent) {
        let sender: Option<OwnedUserId> = lost.event.get_field("sender").ok().flatten();
        let (Some(sender), Some(room)) = (sender, self.client.get_room(&lost.room)) else { return };
        let known = self.inlet.knows(&sender.as_str().into()).await;
        if known && is_direct(&room).await {
            // A failure does not matter: this is only a courtesy.
            drop(room.send(RoomMessageEventContent::notice_plain(NOT_DECRYPTED)).await);
        }
    }

    /// An increasing number, also across restarts if the clock does not go back.
    fn next_order(&mut self) -> i64 {
        self.last_order = (self.last_order + 1).max(now_ms().saturating_mul(1_000));
        self.last_order
    }
}

/// Whether only one other person is in a room.
async fn is_direct(room: &Room) -> bool {
    let counted = room.active_members_count();
    if counted > 0 {
        return counted <= 2;
    }
    // If it is unknown, treat it as a group, where the bot says less.
    room.members(RoomMemberships::ACTIVE).await.is_ok_and(|members| members.len() <= 2)
}

/// Whether repeating the request is pointless.
fn is_refused(error: &matrix_sdk::Error) -> bool {
    let status = error.as_client_api_error().map(|error| error.status_code.as_u16());
    !is_logged_out(error) && matches!(status, Some(400 | 403 | 404))
}
