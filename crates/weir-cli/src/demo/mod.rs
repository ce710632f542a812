//! `weir demo`: the server on the simulated CLI, in a temporary folder.

mod place;
mod tour;

use std::io::{IsTerminal as _, Write as _};
use std::time::Duration;

use anyhow::Context as _;
use tokio::sync::mpsc;
use weir_host::{Actor, Host, NewMessage, NewSession, SessionId};
use weir_server::{ServeOptions, Server, ServerSettings};
use weir_session::SessionSpec;

use crate::exit::{Exit, tell};
use crate::opts::DemoOpts;
use crate::serve::{stop_requests, telemetry};
use place::Place;

/// How long running turns may take to finish: short, because it is only a demo.
const DRAIN: Duration = Duration::from_secs(2);

const PROMPT: &str = "Show me around: give me the tour.";

pub(crate) fn run(opts: DemoOpts) -> anyhow::Result<Exit> {
    let _telemetry = weir_server::start_telemetry(&telemetry(&opts.log))?;
    crate::runtime::block_on(demonstrate(opts))
}

async fn demonstrate(opts: DemoOpts) -> anyhow::Result<Exit> {
    // A caller that waits for the ready file wants to use the server.
    let is_unattended = !std::io::stderr().is_terminal() && opts.ready_file.is_none();
    let once = opts.once || is_unattended;
    let place = Place::new().context("cannot create a folder for the demo")?;
    let signals = stop_requests();
    let host = place.engine()?.open().await?;
    let server = Server::start(host.clone(), options(&opts, &place)).await?;
    let (session, message) = begin(&host, &place).await?;
    // Printed even without a terminal: the token is soon removed with the folder.
    let link = server.first_link()?.map(|link| format!("{link}&session={session}"));
    tell(&format!("weir: the demo is at\n\n    {}\n", link.as_deref().unwrap_or(server.url())));
    if !weir_server::page_is_built() {
        tell("weir: this program was built without the page; run `make web` and build again to include it");
    }
    let is_shown = !once && !opts.no_open && opts.ready_file.is_none();
    if let Some(link) = link.as_deref().filter(|_| is_shown) {
        place.show(link);
    }
    if !once {
        tell("weir: no account, no cost; Ctrl-C ends it and removes its data");
        server.run(signals).await?;
        return Ok(Exit::Success);
    }
    let (stop, stopped) = mpsc::channel(1);
    let serving = tokio::spawn(server.run(stopped));
    let summary = tour::take(&host, &session, &message, signals).await;
    drop(stop);
    serving.await??;
    writeln!(std::io::stdout(), "{}", summary?)?;
    Ok(Exit::Success)
}

fn options(opts: &DemoOpts, place: &Place) -> ServeOptions {
    ServeOptions {
        listen: opts.listen,
        allow_remote: false,
        certificate: None,
        public: Vec::new(),
        data_directory: place.data(),
        ready_file: opts.ready_file.clone(),
        drain: DRAIN,
        settings: ServerSettings { roots: vec![place.workspace()], demo: true, ..ServerSettings::default() },
    }
}

/// Starts the session that a visitor sees.
async fn begin(host: &Host, place: &Place) -> anyhow::Result<(SessionId, weir_wire::MessageId)> {
    let guide = Actor::new("demo");
    let new = NewSession {
        name: Some("A short tour".to_owned()),
        spec: SessionSpec { permission_mode: Some("acceptEdits".to_owned()), ..SessionSpec::default() },
        ..NewSession::new(place.workspace().display().to_string())
    };
    let created = host.create(new, &guide).await?;
    let id: SessionId = created.session.id.parse()?;
    let sent = host.send(&id, NewMessage::text(PROMPT), &guide).await?;
    Ok((id, sent.message_id))
}
