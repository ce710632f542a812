//! How a running bridge is doing, told in a file beside its inbox.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use weir_bridge::channel::{HealthOfAll, HealthReport};

use crate::exit::tell;

const FILE: &str = "health.json";
/// It is written at most so often, and only when something is new.
const PAUSE: Duration = Duration::from_secs(1);

/// How a bridge is doing.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Told {
    pub(super) channels: BTreeMap<String, HealthReport>,
}

/// What a bridge told last.
pub(super) fn read(folder: &Path) -> Option<Told> {
    serde_json::from_slice(&std::fs::read(folder.join(FILE)).ok()?).ok()
}

/// Tells how a bridge is doing, as long as this is polled.
pub(super) async fn keep_telling(folder: PathBuf, health: HealthOfAll) {
    loop {
        if let Err(error) = write(&folder, &Told { channels: health.look() }) {
            tell(&format!(
                "weir bridge: {FILE} cannot be written, so `weir bridge status` knows less: {error}"
            ));
            return;
        }
        health.changed().await;
        tokio::time::sleep(PAUSE).await;
    }
}

/// There is nothing to tell any more.
pub(super) fn remove(folder: &Path) {
    let _ = std::fs::remove_file(folder.join(FILE));
}

/// Whole or not at all: somebody may read it at any moment.
fn write(folder: &Path, told: &Told) -> std::io::Result<()> {
    let beside = folder.join("health.new");
    std::fs::write(&beside, serde_json::to_vec(told)?)?;
    std::fs::rename(beside, folder.join(FILE))
}
