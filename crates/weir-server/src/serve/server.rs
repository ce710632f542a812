//! A server from start to shutdown.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use weir_base::time::now_ms;
use weir_host::{Host, Space};

use super::address::{self, PublicUrl, listening_is_remote};
use super::connections::{Listening, Stopping};
use super::ready::{ReadyFile, link, write_ready_file};
use super::tls::{Certificate, TlsError};
use crate::api::app;
use crate::audit::Audit;
use crate::auth::{NewToken, Role, Secret, TokenFileError, Tokens};
use crate::guard::Places;
use crate::openai::Histories;
use crate::settings::ServerSettings;
use crate::state::{App, Parts, Phase};

/// Name of the token that the first start creates.
const OWNER: &str = "owner";

/// Name of the token in the ready file. Each start gives it a new secret and revokes the links made with it. It stays
/// the same token, so that messages accepted from it are still handed over after a restart.
const READY: &str = "ready-file";

/// Why a token must not have this name, if so. Names appear in the audit log and next to decisions, so one must not be
/// mistakable for another.
pub fn token_name_problem(name: &str) -> Option<&'static str> {
    if name.is_empty()
        || name.trim() != name
        || weir_transcript::reveal(name) != name
        || name.contains(['\n', '\t'])
    {
        return Some(
            "the name must not be empty, begin or end with a space, or contain invisible characters",
        );
    }
    // The next start changes the ready file's token, and decisions of the host itself are signed `weir`.
    let is_reserved = [READY, "weir"].iter().any(|reserved| name.eq_ignore_ascii_case(reserved));
    is_reserved.then_some("this name is reserved for the server itself; choose another one")
}

/// How often the token file is checked, for streams whose token was revoked from the command line.
const TOKENS_INTERVAL: Duration = Duration::from_millis(500);
/// How often the disk is checked.
const DISK_INTERVAL: Duration = Duration::from_secs(2);

/// How long open connections may take to finish after the host has shut down.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);

/// How a server is started.
#[derive(Debug, Clone)]
pub struct ServeOptions {
    /// Address to listen on.
    pub listen: SocketAddr,
    /// Whether other machines may connect.
    pub allow_remote: bool,
    /// Certificate, if connections are to be encrypted.
    pub certificate: Option<Certificate>,
    /// Addresses under which proxies expose the server.
    pub public: Vec<PublicUrl>,
    /// Where the tokens, the audit log and the certificate are stored.
    pub data_directory: PathBuf,
    /// A file to write the server's URL and a token to.
    pub ready_file: Option<PathBuf>,
    /// How long running turns may take to end on shutdown.
    pub drain: Duration,
    /// Limits and other settings.
    pub settings: ServerSettings,
}

/// Why a server did not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// Other machines could connect, and that was not allowed.
    #[error(
        "{0} can be reached from other machines: anyone with a token could run commands on this one. Pass \
         --allow-remote if that is what you want, and use TLS (--tls-self-signed, or --tls-cert and --tls-key)"
    )]
    Remote(SocketAddr),
    /// The address cannot be bound.
    #[error("cannot listen on {address}: {source}; choose another address with --listen")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// Error from the system.
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
        /// Error from the system.
        #[source]
        source: io::Error,
    },
}

/// A server that listens but does not answer yet.
#[derive(Debug)]
pub struct Server {
    listening: Listening,
    app: App,
    url: String,
    fingerprint: Option<String>,
    options: ServeOptions,
}

impl Server {
    /// Binds the address and opens the files.
    ///
    /// # Errors
    /// If any of these steps fails.
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
        // Streams must leave room for other requests.
        settings.limits.streams =
            settings.limits.streams.min(settings.connections.max_connections / 4 * 3).max(1);
        let app = App::new(Parts { host, tokens, audit, places, settings, tls, histories });
        Ok(Self { listening, app, url: own, fingerprint, options })
    }

    /// Writes the ready file, if one is wanted.
    fn announce(&self) -> Result<(), ServeError> {
        let Some(file) = &self.options.ready_file else {
            // The one in the file of an earlier run is not to be used any more.
            return Ok(self.app.tokens().renew_if_present(READY, now_ms())?);
        };
        let token = self.app.tokens().renew(NewToken::new(READY, Role::Admin), now_ms())?;
        let ready = ReadyFile { url: &self.url, token: token.reveal() };
        write_ready_file(file, &ready).map_err(|source| ServeError::File { path: file.clone(), source })
    }

    /// The server's URL, without a trailing slash.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// A link with an admin token, if there is no token yet apart from the one in the ready file. This creates the
    /// token, so call it only where the link is shown to a person.
    ///
    /// # Errors
    /// If the token cannot be stored.
    pub fn first_link(&self) -> Result<Option<String>, TokenFileError> {
        let public_url = self.options.public.first().map_or_else(|| self.url.clone(), ToString::to_string);
        let first = first_token(self.app.tokens())?;
        Ok(first.map(|secret| link(&public_url, &secret, None)))
    }

    /// Whether there is no token yet apart from the one in the ready file.
    pub fn is_first_start(&self) -> bool {
        self.app.tokens().list().iter().all(|token| token.name == READY)
    }

    /// SHA-256 fingerprint of the certificate.
    pub fn fingerprint(&self) -> Option<&str> {
        self.fingerprint.as_deref()
    }

    /// State shared by the handlers.
    pub fn app(&self) -> &App {
        &self.app
    }

    /// Serves until asked to stop. The first stop request lets running turns end, while people can still watch and
    /// answer; the second one ends them.
    ///
    /// The ready file is written first: everything else that a client may look for should be there by now.
    ///
    /// # Errors
    /// If the ready file or its token cannot be written.
    pub async fn run(self, mut stop: mpsc::Receiver<()>) -> Result<(), ServeError> {
        self.announce()?;
        let Self { listening, app: state, options, .. } = self;
        let (stop_listening, stopping) = oneshot::channel();
        let tokens_task = tokio::spawn(watch_tokens(state.clone()));
        let disk_task = tokio::spawn(watch_disk(state.clone()));
        let (limits, counts) = (state.settings().connections, state.metrics().connections());
        let serving = tokio::spawn(listening.serve(app(state.clone()), limits, counts, stopping));
        // A dropped channel also means stop.
        let _ = stop.recv().await;
        tracing::info!(seconds = options.drain.as_secs(), "stopping: waiting for running turns to end");
        state.advance(Phase::Draining);
        tokio::select! {
            () = state.host().shut_down(options.drain) => {}
            Some(()) = stop.recv() => {
                tracing::warn!("stopping immediately");
                state.host().shut_down(Duration::ZERO).await;
            }
        }
        state.advance(Phase::Closing);
        tokens_task.abort();
        disk_task.abort();
        // Fails only if the listener has already ended.
        let _ = stop_listening.send(Stopping(CLOSE_TIMEOUT));
        let _ = serving.await;
        if let Some(file) = &options.ready_file {
            let _ = std::fs::remove_file(file);
        }
        tracing::info!("stopped");
        Ok(())
    }
}

/// Creates the token of the first start; none if there are tokens already.
fn first_token(tokens: &Tokens) -> Result<Option<Secret>, TokenFileError> {
    if tokens.list().iter().any(|token| token.name != READY) {
        return Ok(None);
    }
    tokens.add(NewToken::new(OWNER, Role::Admin), now_ms()).map(|(_, secret)| Some(secret))
}

/// Logs when the disk becomes full or fails, and when it is writable again.
async fn watch_disk(app: App) {
    let mut interval = tokio::time::interval(DISK_INTERVAL);
    interval.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let mut was_full = false;
    loop {
        interval.tick().await;
        match app.host().space() {
            Space::Full { advice } | Space::Unusable { advice } if !was_full => tracing::error!("{advice}"),
            Space::Enough if was_full => {
                tracing::warn!("the disk is writable again; all requests are accepted");
            }
            _ => {}
        }
        was_full = app.host().space() != Space::Enough;
    }
}

async fn watch_tokens(app: App) {
    let mut interval = tokio::time::interval(TOKENS_INTERVAL);
    loop {
        interval.tick().await;
        app.tokens().refresh();
    }
}
