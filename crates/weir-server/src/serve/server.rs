//! A server from its start to its end.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use weir_host::{Host, Space};

use super::address::{self, PublicUrl, listening_is_remote};
use super::connections::{Listening, Stopping};
use super::ready::{ReadyFile, link, write_ready_file};
use super::tls::{Certificate, TlsError};
use crate::api::app;
use crate::audit::Audit;
use crate::auth::{NewToken, Role, Secret, TokenFileError, Tokens};
use crate::clock;
use crate::guard::Places;
use crate::openai::Histories;
use crate::settings::ServerSettings;
use crate::state::{App, Parts, Phase};

/// The name of the token that the first start makes.
const OWNER: &str = "owner";

/// The name of the token in the ready file. Each start makes a new one, and the last one is no good any more.
const READY: &str = "ready-file";

/// Why a token must not have this name, if it must not. It has to be one that nobody takes for another: names stand in the
/// audit log and beside decisions.
pub fn token_name_problem(name: &str) -> Option<&'static str> {
    if name.is_empty()
        || name.trim() != name
        || weir_transcript::reveal(name) != name
        || name.contains(['\n', '\t'])
    {
        return Some(
            "the name must not be empty, begin or end with a space, or hold characters that cannot be seen",
        );
    }
    // The next start revokes the token of the ready file, and what the host decides by itself is signed `weir`.
    let is_reserved = [READY, "weir"].iter().any(|reserved| name.eq_ignore_ascii_case(reserved));
    is_reserved.then_some("this name is reserved for the server itself; choose another one")
}

/// How often the token file is looked at, for streams whose token was revoked from the command line.
const LOOK: Duration = Duration::from_millis(500);
/// How often the disk is looked at.
const LOOK_AT_DISK: Duration = Duration::from_secs(2);

/// How long open connections may take to end.
const LAST: Duration = Duration::from_secs(5);

/// How a server is started.
#[derive(Debug, Clone)]
pub struct ServeOptions {
    /// Where it listens.
    pub listen: SocketAddr,
    /// Whether others than this machine may connect.
    pub allow_remote: bool,
    /// Its certificate, if connections are to be encrypted.
    pub certificate: Option<Certificate>,
    /// Addresses under which proxies make it known.
    pub public: Vec<PublicUrl>,
    /// Where tokens, the audit log and the certificate are.
    pub data_directory: PathBuf,
    /// A file that tells where it is, with a token.
    pub ready_file: Option<PathBuf>,
    /// How long running turns may take to end when it is asked to stop.
    pub drain: Duration,
    /// What it allows.
    pub settings: ServerSettings,
}

/// Why a server did not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// It would be open to others.
    #[error(
        "{0} can be reached from other machines: whoever has a token could run commands on this one. Say \
         --allow-remote if that is what you want, and use TLS (--tls-self-signed, or --tls-cert and --tls-key)"
    )]
    Remote(SocketAddr),
    /// The address cannot be had.
    #[error("cannot listen on {address}: {source}; choose another address with --listen")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// The certificate cannot be used.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// The tokens cannot be used.
    #[error(transparent)]
    Tokens(#[from] TokenFileError),
    /// A file cannot be written.
    #[error("cannot write {}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
}

/// A server that listens and has not answered anything yet.
#[derive(Debug)]
pub struct Server {
    listening: Listening,
    app: App,
    url: String,
    fingerprint: Option<String>,
    options: ServeOptions,
}

impl Server {
    /// Listens, opens what it needs, and tells where it is.
    ///
    /// # Errors
    /// If something of that cannot be done.
    pub async fn start(host: Host, options: ServeOptions) -> Result<Self, ServeError> {
        if listening_is_remote(options.listen) && !options.allow_remote {
            return Err(ServeError::Remote(options.listen));
        }
        let certificate = options.certificate.as_ref().map(Certificate::load).transpose()?;
        let fingerprint = certificate.as_ref().map(|loaded| loaded.fingerprint.clone());
        let listening = Listening::bind(options.listen, certificate)
            .await
            .map_err(|source| ServeError::Listen { address: options.listen, source })?;
        let tls = listening.is_tls();
        let own = address::url(listening.address(), tls, &options.settings.base_path);
        let mut places = Places::of_listener(listening.address(), tls);
        for public in &options.public {
            public.add_to(&mut places);
        }
        let tokens = Tokens::open(options.data_directory.join("tokens.json"))?;
        let audit_file = options.data_directory.join("audit.ndjson");
        let audit = Audit::open(audit_file.clone())
            .map_err(|source| ServeError::File { path: audit_file, source })?;
        let histories_file = options.data_directory.join("openai-histories.ndjson");
        let histories = Histories::open(histories_file.clone())
            .map_err(|source| ServeError::File { path: histories_file, source })?;
        let mut settings = options.settings.clone();
        settings.connections = settings.connections.affordable();
        // Streams must leave room for those who want to ask something.
        settings.limits.streams = settings.limits.streams.min(settings.connections.most / 4 * 3).max(1);
        let app = App::new(Parts { host, tokens, audit, places, settings, tls, histories });
        if let Some(file) = &options.ready_file {
            let token = ready_token(app.tokens())?;
            let ready = ReadyFile { url: &own, token: token.reveal() };
            write_ready_file(file, &ready)
                .map_err(|source| ServeError::File { path: file.clone(), source })?;
        }
        Ok(Self { listening, app, url: own, fingerprint, options })
    }

    /// Where it is, without a slash at the end.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// A link with a token of all rights, if there is no token yet apart from the one in the ready file. The token is made
    /// here: call this only where the link is shown to a person.
    ///
    /// # Errors
    /// If the token cannot be kept.
    pub fn first_link(&self) -> Result<Option<String>, TokenFileError> {
        let seen_as = self.options.public.first().map_or_else(|| self.url.clone(), ToString::to_string);
        let first = first_token(self.app.tokens())?;
        Ok(first.map(|secret| link(&seen_as, &secret, None)))
    }

    /// Whether there is no token yet apart from the one in the ready file.
    pub fn is_first_start(&self) -> bool {
        self.app.tokens().list().iter().all(|token| token.name == READY)
    }

    /// SHA-256 of its certificate.
    pub fn fingerprint(&self) -> Option<&str> {
        self.fingerprint.as_deref()
    }

    /// What its handlers share.
    pub fn app(&self) -> &App {
        &self.app
    }

    /// Answers until it is asked to stop. The first request to stop lets running turns end, while people can still
    /// watch and answer; the second one ends them.
    pub async fn run(self, mut stop: mpsc::Receiver<()>) {
        let Self { listening, app: state, options, .. } = self;
        let (stop_listening, stopping) = oneshot::channel();
        let looking = tokio::spawn(look_at_tokens(state.clone()));
        let watching = tokio::spawn(look_at_disk(state.clone()));
        let (limits, counts) = (state.settings().connections, state.metrics().connections());
        let serving = tokio::spawn(listening.serve(app(state.clone()), limits, counts, stopping));
        // A channel that was dropped asks as well.
        let _ = stop.recv().await;
        tracing::info!(seconds = options.drain.as_secs(), "stopping: running turns may end");
        state.advance(Phase::Draining);
        tokio::select! {
            () = state.host().shut_down(options.drain) => {}
            Some(()) = stop.recv() => {
                tracing::warn!("stopping at once");
                state.host().shut_down(Duration::ZERO).await;
            }
        }
        state.advance(Phase::Closing);
        looking.abort();
        watching.abort();
        // Where nobody serves any more there is nobody to tell.
        let _ = stop_listening.send(Stopping(LAST));
        let _ = serving.await;
        if let Some(file) = &options.ready_file {
            let _ = std::fs::remove_file(file);
        }
        tracing::info!("stopped");
    }
}

/// The token of the first start; none where there are tokens already.
fn first_token(tokens: &Tokens) -> Result<Option<Secret>, TokenFileError> {
    if tokens.list().iter().any(|token| token.name != READY) {
        return Ok(None);
    }
    tokens.add(NewToken::new(OWNER, Role::Admin), clock::now()).map(|(_, secret)| Some(secret))
}

fn ready_token(tokens: &Tokens) -> Result<Secret, TokenFileError> {
    tokens.revoke(|token| token.name == READY)?;
    tokens.add(NewToken::new(READY, Role::Admin), clock::now()).map(|(_, secret)| secret)
}

/// Tells the log when the disk becomes full or fails, and when it can be written again.
async fn look_at_disk(app: App) {
    let mut interval = tokio::time::interval(LOOK_AT_DISK);
    interval.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let mut was_full = false;
    loop {
        interval.tick().await;
        match app.host().space() {
            Space::Full { advice } | Space::Unusable { advice } if !was_full => tracing::error!("{advice}"),
            Space::Enough if was_full => tracing::warn!("the disk can be written again; everything is taken"),
            _ => {}
        }
        was_full = app.host().space() != Space::Enough;
    }
}

async fn look_at_tokens(app: App) {
    let mut interval = tokio::time::interval(LOOK);
    loop {
        interval.tick().await;
        app.tokens().refresh();
    }
}
