//! What other nodes do: their records and wake-ups, as they come.

use std::sync::Arc;
use std::time::Duration;

use async_nats::jetstream::consumer::{DeliverPolicy, push};
use futures_util::StreamExt as _;
use tokio::sync::watch;

use crate::core::Core;
use crate::headers;
use crate::record::Placed;

/// The pause before following begins again.
const PAUSE: Duration = Duration::from_millis(200);

/// Tells readers about all records after this position, for ever. The client repeats nothing and leaves nothing out; where it
/// gives up, it is started again after the last record that it had.
pub(crate) async fn records(core: Arc<Core>, mut seen: u64) {
    loop {
        if let Err(error) = until_failure(&core, &mut seen).await {
            tracing::info!("following the log failed and begins again after record {seen}: {error}");
        }
        tokio::time::sleep(PAUSE).await;
    }
}

async fn until_failure(core: &Core, seen: &mut u64) -> Result<(), async_nats::Error> {
    let config = push::OrderedConfig {
        deliver_subject: core.client.new_inbox(),
        filter_subject: core.names.all_logs(),
        headers_only: true,
        deliver_policy: DeliverPolicy::ByStartSequence { start_sequence: *seen + 1 },
        ..Default::default()
    };
    let mut messages = core.log.create_consumer(config).await?.messages().await?;
    while let Some(message) = messages.next().await {
        let message = message?;
        let position = message.info()?.stream_sequence;
        let session = core.names.session(&message.subject);
        let head = message.headers.as_ref().and_then(|headers| headers::read(headers).ok());
        match session.zip(head) {
            Some((session, (head, _))) => core.tell(&session, &Placed { position, head }),
            None => tracing::warn!("message {position} of {} is no record", core.names.log_stream()),
        }
        *seen = position;
    }
    Ok(())
}

/// Passes on wake-ups, for ever. After a lost connection everyone is woken.
pub(crate) async fn wakes(
    core: Arc<Core>,
    mut messages: async_nats::Subscriber,
    mut connections: watch::Receiver<u64>,
) {
    connections.mark_unchanged();
    loop {
        tokio::select! {
            message = messages.next() => match message {
                Some(message) => {
                    if let Some(topic) = core.names.topic(&message.subject) {
                        core.wakes.wake(topic);
                    }
                }
                None => return core.wakes.close(),
            },
            connected = connections.changed() => match connected {
                Ok(()) => core.wakes.wake_all(),
                // The client was closed: no message comes any more.
                Err(_) => return core.wakes.close(),
            },
        }
    }
}
