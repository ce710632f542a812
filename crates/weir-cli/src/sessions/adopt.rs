//! Brings a session of a terminal into the log of a server, where it continues.

use std::io::Write as _;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context as _;
use weir_host::{Actor, Adoption, Host, HostError, HostOptions};
use weir_session::SessionOptions;
use weir_store::{SqliteOptions, SqliteStore};

use super::settings::Places;
use crate::engine::DATABASE;
use crate::exit::{Exit, UsageError, tell};
use crate::screen::one_line;

pub(super) async fn run(id: &str, way: Adoption, data: PathBuf, places: &Places) -> anyhow::Result<Exit> {
    let transcripts = places.transcripts()?;
    let past = transcripts.summary(transcripts.find(id)?).context("cannot read the transcript")?;
    let folder = past.glance.cwd.clone().ok_or_else(|| {
        UsageError(format!("the transcript of {id} does not say in which folder the session worked"))
    })?;
    weir_base::file::create_private_folder(&data)
        .with_context(|| format!("cannot create {}", data.display()))?;
    let store = SqliteStore::open(data.join(DATABASE), &SqliteOptions::default())?;
    // No process is started here, so nothing has to be said about one.
    let mut options = HostOptions::new(Arc::new(store), |_| SessionOptions::new()).root(&folder);
    options.state_directory = Some(data.join("state"));
    options.cli_config = places.config();
    let host = match Host::open(options).await {
        Err(error @ HostError::Locked(_)) => {
            tell(&format!("weir: {error}; adopt the session on its page, or over its API"));
            return Ok(Exit::ErrorResult);
        }
        host => host?,
    };
    let adopted = host.adopt(&past.found.id, way, &Actor::new("terminal")).await;
    host.shut_down(std::time::Duration::ZERO).await;
    let info = adopted?;
    tell(&format!(
        "weir: adopted “{}”; `weir serve` with a root around {} shows it",
        one_line(info.title.as_deref().unwrap_or(&info.id), 60),
        one_line(&folder, 200)
    ));
    writeln!(std::io::stdout(), "{}", info.id)?;
    Ok(Exit::Success)
}
