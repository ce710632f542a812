//! Invitations into rooms: only people who may talk to the agent can bring the bot into one.

use std::collections::HashSet;

use matrix_sdk::Client;
use matrix_sdk::ruma::OwnedRoomId;
use weir_bridge::channel::Inlet;

use crate::failure::explain;

/// Invitations that are remembered as told.
const MOST_TOLD: usize = 1_000;

/// Answers invitations.
#[derive(Debug, Default)]
pub(crate) struct Invites {
    told: HashSet<OwnedRoomId>,
}

impl Invites {
    /// Accepts what may be accepted. The rest stays where it is: its sender may be let in later.
    pub(crate) async fn answer(&mut self, client: &Client, inlet: &Inlet) {
        for room in client.invited_rooms() {
            let invite = match room.invite_details().await {
                Ok(invite) => invite,
                Err(error) => {
                    self.tell_once(inlet, room.room_id(), &format!("not understood: {}", explain(&error)));
                    continue;
                }
            };
            let inviter = invite.inviter_id;
            if !inlet.may_invite(&inviter.as_str().into()).await {
                self.tell_once(inlet, room.room_id(), &format!("{inviter} may not invite, so it is left"));
                continue;
            }
            match room.join().await {
                Ok(()) => {
                    self.told.remove(room.room_id());
                    inlet.note(format!("joined {} because {inviter} has invited", room.room_id()));
                }
                Err(error) => {
                    self.tell_once(inlet, room.room_id(), &format!("not accepted: {}", explain(&error)));
                }
            }
        }
    }

    fn tell_once(&mut self, inlet: &Inlet, room: &matrix_sdk::ruma::RoomId, what: &str) {
        if self.told.len() >= MOST_TOLD {
            self.told.clear();
        }
        if self.told.insert(room.to_owned()) {
            inlet.note(format!("an invitation into {room}: {what}"));
        }
    }
}
