//! Invitations to rooms: only people who may talk to the agent can invite the bot.

use std::collections::HashSet;

use matrix_sdk::Client;
use matrix_sdk::ruma::OwnedRoomId;
use weir_bridge::channel::Inlet;

use crate::failure::explain;

/// Maximum number of invitations that are remembered as logged.
const MAX_LOGGED: usize = 1_000;

/// Answers invitations.
#[derive(Debug, Default)]
pub(crate) struct Invites {
    logged: HashSet<OwnedRoomId>,
}

impl Invites {
    /// Accepts invitations of people who may invite. Others stay open, because their senders may be paired later.
    pub(crate) async fn answer(&mut self, client: &Client, inlet: &Inlet) {
        for room in client.invited_rooms() {
            let invite = match room.invite_details().await {
                Ok(invite) => invite,
                Err(error) => {
                    self.log_once(inlet, room.room_id(), &format!("cannot be read: {}", explain(&error)));
                    continue;
                }
            };
            let inviter = invite.inviter_id;
            if !inlet.may_invite(&inviter.as_str().into()).await {
                self.log_once(
                    inlet,
                    room.room_id(),
                    &format!("{inviter} may not invite the bot, so it is not accepted"),
                );
                continue;
            }
            match room.join().await {
                Ok(()) => {
                    self.logged.remove(room.room_id());
                    inlet.note(format!("joined {}, invited by {inviter}", room.room_id()));
                }
                Err(error) => {
                    self.log_once(inlet, room.room_id(), &format!("cannot be accepted: {}", explain(&error)));
                }
            }
        }
    }

    fn log_once(&mut self, inlet: &Inlet, room: &matrix_sdk::ruma::RoomId, what: &str) {
        if self.logged.len() >= MAX_LOGGED {
            self.logged.clear();
        }
        if self.logged.insert(room.to_owned()) {
            inlet.note(format!("invitation to {room}: {what}"));
        }
    }
}
