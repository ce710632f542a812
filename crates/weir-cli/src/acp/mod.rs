//! `weir acp`: sessions for editors.

mod backend;
mod door;
pub(crate) mod settings;

use std::path::Path;
use std::sync::Arc;

use tokio::sync::mpsc;
use weir_acp::{AcpAgent, Extras};
use weir_host::SessionSettings;
use weir_session::SessionOptions;

use crate::engine::Engine;
use crate::exit::{Exit, tell};
use crate::opts::AcpOpts;
use crate::serve::stop_requests;
use backend::Backend;
pub(crate) use door::Door;

pub(crate) fn run(opts: AcpOpts) -> anyhow::Result<Exit> {
    let settings = settings::Settings::resolve(opts)?;
    crate::runtime::block_on_with_input(speak(settings))
}

async fn speak(settings: settings::Settings) -> anyhow::Result<Exit> {
    let mut signals: mpsc::Receiver<()> = stop_requests();
    let backend = Arc::new(Backend::new(settings));
    let relaying = weir_acp::relay(tokio::io::stdin(), tokio::io::stdout(), || {
        let backend = Arc::clone(&backend);
        async move { backend.connect().await }
    });
    let relayed = tokio::select! {
        relayed = relaying => relayed,
        _ = signals.recv() => Ok(()),
    };
    tokio::select! {
        () = backend.end() => {}
        // A second signal does not wait for other editors.
        _ = signals.recv() => backend.end_now().await,
    }
    relayed?;
    Ok(Exit::Success)
}

/// Lets editors of this user into the process that has a data folder. Reports it if that is not possible.
pub(crate) fn open_door(data: &Path, agent: AcpAgent) -> Option<Door> {
    #[cfg(unix)]
    let door = Door::open(data, agent)
        .inspect_err(|error| {
            tell(&format!("weir: `weir acp` cannot use the sessions of this process: {error}"));
        })
        .ok();
    #[cfg(not(unix))]
    let door = {
        let _ = (data, agent);
        None
    };
    door
}

/// The folder for what editors bring to sessions.
pub(crate) fn extras(engine: &Engine) -> std::io::Result<Extras> {
    weir_base::file::create_private_folder(&engine.data_directory)?;
    Extras::new(engine.data_directory.join("acp"))
}

/// Options of a session, with what an editor brings to it.
pub(crate) fn with_extras(
    engine: Engine,
    extras: Extras,
) -> impl Fn(&SessionSettings) -> Option<SessionOptions> + Send + Sync + 'static {
    move |settings| {
        let mut options = engine.session(settings);
        let (folders, config) = extras.of(&settings.id);
        options.add_dirs.extend(folders);
        if let Some(config) = config {
            options.extra_args.extend(["--mcp-config".into(), config.into_os_string()]);
        }
        Some(options)
    }
}
