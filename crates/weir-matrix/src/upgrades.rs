//! Upgraded rooms: the bot joins the new room, and the conversation continues there.
//!
//! Anyone can create a room that claims to replace another one. The claim counts only if the old room confirms it.

use std::collections::HashSet;

use matrix_sdk::deserialized_responses::RawSyncOrStrippedState;
use matrix_sdk::ruma::events::room::tombstone::RoomTombstoneEventContent;
use matrix_sdk::ruma::{OwnedRoomId, OwnedUserId, RoomId};
use matrix_sdk::{Client, Room, RoomState};
use weir_bridge::channel::{Incoming, IncomingBody, Inlet, NotKept, Place, Sender};

use crate::failure::explain;

/// Follows upgrades of rooms.
#[derive(Debug, Default)]
pub(crate) struct Upgrades {
    /// Old rooms whose upgrade has been handled.
    over: HashSet<OwnedRoomId>,
    /// New rooms that were tried once. An invitation may still come.
    closed: HashSet<OwnedRoomId>,
}

impl Upgrades {
    /// Joins new rooms if that is allowed, and tells the bridge which rooms replace which.
    pub(crate) async fn follow(&mut self, client: &Client, inlet: &Inlet) -> Result<(), NotKept> {
        for old in client.joined_rooms() {
            let Some(successor) = old.successor_room() else { continue };
            if self.over.contains(old.room_id()) {
                continue;
            }
            let new = client.get_room(&successor.room_id);
            match new.filter(|new| new.state() == RoomState::Joined) {
                None => self.join(client, inlet, &old, &successor.room_id).await,
                Some(new) => {
                    let follows =
                        new.predecessor_room().is_some_and(|before| before.room_id == old.room_id());
                    if follows {
                        inlet.deliver(moved(inlet, &old, new.room_id()), Vec::new()).await?;
                        inlet.note(format!("{} continues in {}", old.room_id(), new.room_id()));
                    }
                    self.over.insert(old.room_id().to_owned());
                }
            }
        }
        Ok(())
    }

    /// Joins the new room if the person who upgraded the old one may talk to the agent.
    async fn join(&mut self, client: &Client, inlet: &Inlet, old: &Room, new: &RoomId) {
        if self.closed.contains(new) {
            return;
        }
        self.closed.insert(new.to_owned());
        let Some(by) = upgraded_by(old).await else { return };
        if !inlet.knows(&by.as_str().into()).await {
            inlet.note(format!("{by} may not move the bot out of {}, so {new} is not joined", old.room_id()));
            return;
        }
        let servers = [by.server_name().to_owned()];
        if let Err(error) = client.join_room_by_id_or_alias(new.into(), &servers).await {
            inlet.note(format!(
                "{} continues in {new}, but the bot needs an invitation: {}",
                old.room_id(),
                explain(&error)
            ));
        }
    }
}

async fn upgraded_by(room: &Room) -> Option<OwnedUserId> {
    let stone = room.get_state_event_static::<RoomTombstoneEventContent>().await.ok()??;
    match stone {
        RawSyncOrStrippedState::Sync(stone) => stone.get_field("sender").ok()?,
        RawSyncOrStrippedState::Stripped(stone) => stone.get_field("sender").ok()?,
    }
}

fn moved(inlet: &Inlet, old: &Room, new: &RoomId) -> Incoming {
    Incoming {
        key: format!("moved/{new}"),
        place: Place { channel: inlet.channel().clone(), chat: new.as_str().into(), thread: None },
        // The homeserver reports it, not a particular person.
        sender: Sender { id: new.as_str().into(), name: String::new(), is_bot: false },
        direct: false,
        addressed: false,
        order: 0,
        message: None,
        body: IncomingBody::Moved { from: old.room_id().as_str().into() },
    }
}
