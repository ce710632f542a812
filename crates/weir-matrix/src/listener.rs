//! Deals with what the homeserver tells: delivers it, once, in its order.
//!
//! The SDK keeps for itself where it is in the stream of events. The bridge keeps another place: the one up to which
//! everything is in its inbox. After a restart, and after a failure, what lies between them is asked for again, room by
//! room, and what the inbox has already is recognised there.

use matrix_sdk::deserialized_responses::{TimelineEvent, TimelineEventKind};
use matrix_sdk::ruma::OwnedUserId;
use matrix_sdk::ruma::events::room::message::RoomMessageEventContent;
use matrix_sdk::sync::{JoinedRoomUpdate, SyncResponse};
use matrix_sdk::{Client, Room, RoomMemberships};
use weir_bridge::channel::{Inlet, NotKept};

use crate::failure::{explain, is_logged_out};
use crate::held::{Held, HeldEvent};
use crate::invites::Invites;
use crate::mention::Names;
use crate::missed::{self, Missed};
use crate::read::{Setting, read};
use crate::timeline::{Belief, begins_at};
use crate::upgrades::Upgrades;

const NOT_DECRYPTED: &str = "I could not decrypt a message of yours. Please send it again.";

/// Why an answer of the homeserver is not dealt with.
pub(crate) enum Trouble {
    /// The bridge takes nothing any more.
    NotKept,
    /// Something has to be asked again.
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

/// Delivers what the homeserver tells.
pub(crate) struct Listener {
    client: Client,
    inlet: Inlet,
    me: OwnedUserId,
    my_name: Option<String>,
    held: Held,
    invites: Invites,
    upgrades: Upgrades,
    /// Everything before this has been dealt with. None until the first answer has been.
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

    /// Whether nothing has to be caught up with.
    pub(crate) fn is_up_to_date(&self) -> bool {
        self.place.is_some()
    }

    /// Deals with an answer of the homeserver. Where that fails, the next answer begins by catching up.
    pub(crate) async fn heard(&mut self, response: SyncResponse) -> Result<(), Trouble> {
        let place = self.place.take();
        // Before anything of a new room is delivered.
        self.upgrades.follow(&self.client, &self.inlet).await?;
        match place {
            None => self.catch_up().await?,
            Some(place) => {
                for (room, update) in &response.rooms.joined {
                    let Some(room) = self.client.get_room(room) else { continue };
                    self.room_heard(&room, update, &place).await?;
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

    /// Reads what was said since the bridge listened last. On the very first start nothing is new.
    async fn catch_up(&mut self) -> Result<(), Trouble> {
        let Some(cursor) = self.inlet.cursor().await else { return Ok(()) };
        // They come after that place, so they are read again.
        drop(self.held.take());
        for room in self.client.joined_rooms() {
            match missed::since(&room, &cursor).await {
                Ok(missed) => self.deliver_all(&room, missed).await?,
                Err(error) if is_refused(&error) => self.inlet.note(format!(
                    "what was said in {} meanwhile cannot be read: {}",
                    room.room_id(),
                    explain(&error)
                )),
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    async fn room_heard(
        &mut self,
        room: &Room,
        update: &JoinedRoomUpdate,
        place: &str,
    ) -> Result<(), Trouble> {
        let timeline = &update.timeline;
        let is_new_to_us = begins_at(&timeline.events, &self.me) > 0;
        let mut missed = Missed::default();
        if let Some(before) = timeline.prev_batch.as_ref().filter(|_| timeline.limited && !is_new_to_us) {
            missed = match missed::between(room, place, before).await {
                Err(error) if is_refused(&error) => Missed { cut: true, ..Missed::default() },
                read => read?,
            };
        }
        missed.events.extend(timeline.events.iter().cloned());
        self.deliver_all(room, missed).await
    }

    async fn deliver_all(&mut self, room: &Room, missed: Missed) -> Result<(), Trouble> {
        if missed.cut {
            self.inlet
                .note(format!("too much was said in {} meanwhile; a part of it is not read", room.room_id()));
        }
        let begin = begins_at(&missed.events, &self.me);
        let events = missed.events.get(begin..).unwrap_or_default();
        let mut belief = Belief::new(room.encryption_state().is_encrypted(), events);
        for event in events {
            let order = self.next_order();
            if !belief.takes(event) {
                self.inlet.note(format!(
                    "a message in {} is not encrypted as it should be, so it is not read",
                    room.room_id()
                ));
                continue;
            }
            if let TimelineEventKind::UnableToDecrypt { event, .. } = &event.kind {
                let at = now();
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

    /// Tries again to read what waits for a key.
    async fn try_held(&mut self) -> Result<(), Trouble> {
        for held in self.held.take() {
            let Some(room) = self.client.get_room(&held.room) else { continue };
            match room.decrypt_event(held.event.cast_ref_unchecked(), None).await {
                Ok(event) if !event.kind.is_utd() => self.deliver(&room, &event, held.order).await?,
                _ => self.held.push(held),
            }
        }
        for lost in self.held.give_up(now()) {
            self.inlet.note(format!("a message in {} could not be decrypted", lost.room));
            self.say_it_is_lost(&lost).await;
        }
        Ok(())
    }

    /// Whoever may talk to the agent hears that a message was not read.
    async fn say_it_is_lost(&self, lost: &HeldEvent) {
        let sender: Option<OwnedUserId> = lost.event.get_field("sender").ok().flatten();
        let (Some(sender), Some(room)) = (sender, self.client.get_room(&lost.room)) else { return };
        let known = self.inlet.knows(&sender.as_str().into()).await;
        if known && is_direct(&room).await {
            // It is a courtesy.
            drop(room.send(RoomMessageEventContent::notice_plain(NOT_DECRYPTED)).await);
        }
    }

    /// A number that grows, also over restarts as far as the clock does.
    fn next_order(&mut self) -> i64 {
        self.last_order = (self.last_order + 1).max(now().saturating_mul(1_000));
        self.last_order
    }
}

/// Whether nobody but one other person is in a room.
async fn is_direct(room: &Room) -> bool {
    let counted = room.active_members_count();
    if counted > 0 {
        return counted <= 2;
    }
    // Where it is not known, it is a group: there less is said.
    room.members(RoomMemberships::ACTIVE).await.is_ok_and(|members| members.len() <= 2)
}

/// Whether asking again is of no use.
fn is_refused(error: &matrix_sdk::Error) -> bool {
    let status = error.as_client_api_error().map(|error| error.status_code.as_u16());
    !is_logged_out(error) && matches!(status, Some(400 | 403 | 404))
}

/// The time, in milliseconds since 1970.
fn now() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.ok().and_then(|since| i64::try_from(since.as_millis()).ok()).unwrap_or_default()
}
