//! Listens to the homeserver forever, whatever happens to the network.
//!
//! This module only logs in, polls and waits; `listener` handles the responses.

use std::sync::Arc;
use std::time::Duration;

use matrix_sdk::config::SyncSettings;
use matrix_sdk::ruma::api::client::filter::{FilterDefinition, LazyLoadOptions};
use matrix_sdk::ruma::api::client::sync::sync_events::v3::Filter;
use matrix_sdk::ruma::uint;
use weir_bridge::BridgeError;
use weir_bridge::channel::Inlet;

use crate::channel::MatrixChannel;
use crate::failure::{explain, is_logged_out};
use crate::listener::{Listener, Trouble};
use crate::login::{LoginError, how_to_log_in_again, log_in};

/// How long the homeserver waits for events before it responds without any.
const POLL: Duration = Duration::from_secs(30);
/// Maximum wait between two attempts, in seconds.
const MAX_WAIT: u64 = 60;

/// Delivers events until dropped. Ends only if a person has to fix something.
pub(crate) async fn listen(channel: Arc<MatrixChannel>, inlet: Inlet) -> Result<(), BridgeError> {
    let mut failures = 0_u32;
    let client = loop {
        match log_in(channel.options()).await {
            Ok(client) => break client,
            Err(LoginError::Final(reason)) => return Err(stopped(&inlet, reason)),
            Err(LoginError::Passing(reason)) => wait(&inlet, &mut failures, &reason).await,
        }
    };
    let Some(me) = client.user_id().map(ToOwned::to_owned) else {
        return Err(stopped(&inlet, "not logged in".to_owned()));
    };
    let my_name = client.account().get_display_name().await.ok().flatten();
    let mut listener = Listener::new(client.clone(), inlet.clone(), me, my_name);
    loop {
        // The first response comes at once, so that the bridge can post before anyone writes.
        let timeout = if listener.is_up_to_date() { POLL } else { Duration::ZERO };
        let settings = SyncSettings::new().timeout(timeout).filter(filter());
        let handled = match client.sync_once(settings).await {
            Ok(response) => {
                channel.set_online(client.clone());
                listener.handle(response).await
            }
            Err(error) => Err(Trouble::Matrix(error)),
        };
        match handled {
            Ok(()) => {
                failures = 0;
                inlet.connected(true);
            }
            Err(Trouble::NotKept) => return Ok(()),
            Err(Trouble::Matrix(error)) if is_logged_out(&error) => {
                return Err(stopped(&inlet, how_to_log_in_again(channel.options())));
            }
            Err(Trouble::Matrix(error)) => wait(&inlet, &mut failures, &explain(&error)).await,
        }
    }
}

fn stopped(inlet: &Inlet, reason: String) -> BridgeError {
    BridgeError::Channel { channel: inlet.channel().to_string(), reason }
}

async fn wait(inlet: &Inlet, failures: &mut u32, reason: &str) {
    inlet.connected(false);
    let seconds = (1_u64 << (*failures).min(6)).min(MAX_WAIT);
    *failures = failures.saturating_add(1);
    inlet.note(format!("{reason}; trying again"));
    tokio::time::sleep(Duration::from_secs(seconds)).await;
}

/// Leaves out typing notices, read receipts and presence, and loads members lazily, because rooms can have many.
fn filter() -> Filter {
    let nothing = || vec!["*".to_owned()];
    let mut filter = FilterDefinition::default();
    filter.presence.not_types = nothing();
    filter.room.ephemeral.not_types = nothing();
    filter.room.timeline.limit = Some(uint!(100));
    filter.room.state.lazy_load_options = LazyLoadOptions::Enabled { include_redundant_members: false };
    filter.room.timeline.lazy_load_options = LazyLoadOptions::Enabled { include_redundant_members: false };
    Filter::FilterDefinition(filter)
}
