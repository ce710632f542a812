//! The health of a running bridge, written to a file next to its inbox.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use weir_base::file::Replace;
use weir_bridge::channel::{ChannelsHealth, HealthReport};

use crate::exit::tell;

const FILE: &str = "health.json";
/// The shortest time between two writes. It is written only after a change.
const PAUSE: Duration = Duration::from_secs(1);

/// The health of a bridge.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct BridgeHealth {
    pub(super) channels: BTreeMap<String, HealthReport>,
}

/// The health that a bridge wrote last.
pub(super) fn read(folder: &Path) -> Option<BridgeHealth> {
    serde_json::from_slice(&std::fs::read(folder.join(FILE)).ok()?).ok()
}

/// Keeps the health file up to date until the future is dropped.
pub(super) async fn keep_written(folder: PathBuf, health: ChannelsHealth) {
    loop {
        if let Err(error) = write(&folder, &BridgeHealth { channels: health.look() }) {
            tell(&format!(
                "weir bridge: cannot write {FILE}, so `weir bridge status` is incomplete: {error}"
            ));
            return;
        }
        health.changed().await;
        tokio::time::sleep(PAUSE).await;
    }
}

/// Removes the file after the bridge has ended.
pub(super) fn remove(folder: &Path) {
    let _ = std::fs::remove_file(folder.join(FILE));
}

/// Writes the file atomically: it may be read at any moment.
fn write(folder: &Path, health: &BridgeHealth) -> std::io::Result<()> {
    Replace::new().quick().bytes(&folder.join(FILE), &serde_json::to_vec(health)?)
}
