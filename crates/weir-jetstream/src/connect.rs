//! Connecting, and checking what the log stands on before it is used.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use async_nats::connection::State;
use async_nats::jetstream::stream::{Config, DiscardPolicy, StorageType, Stream};
use async_nats::jetstream::{self, Context};
use async_nats::{Client, ConnectOptions, Event};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::sync::watch;

use crate::error::ClusterError;
use crate::names::Names;
use crate::request::ANSWER_WAIT;

/// Before it, expectations about a subject were not checked in the same order on all servers.
const OLDEST: (u64, u64) = (2, 12);
const OLDEST_TEXT: &str = "2.12";
/// The metadata of the log's stream under which its epoch is kept.
const EPOCH: &str = "weir_epoch";
/// A part with its headers.
const NEEDED_PAYLOAD: usize = 512 << 10;
const MAX_MESSAGE: i32 = 1 << 20;
const PAUSE: Duration = Duration::from_millis(100);

/// Which cluster to use, and how.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct JetStreamOptions {
    /// Addresses of servers, such as `nats://127.0.0.1:4222`. The others of the cluster are found by themselves.
    pub urls: Vec<String>,
    /// The name of the cluster of Weir, with which the names of its streams begin.
    pub name: String,
    /// On how many servers everything is kept. With three, any one of them may be lost.
    pub replicas: usize,
    /// The monitoring of the servers (their option `http`), which says whether what was acknowledged is on their disks.
    pub monitors: Vec<SocketAddr>,
    /// How long a write is tried before its sender hears that the cluster does not answer.
    pub write_timeout: Duration,
    /// How long to try to connect, and to get an answer, at the start.
    pub start_timeout: Duration,
    /// More bytes than this may not wait to be written.
    pub queue_limit: usize,
}

impl JetStreamOptions {
    /// The cluster that these servers belong to, with three copies of everything.
    pub fn new<U: Into<String>>(urls: impl IntoIterator<Item = U>) -> Self {
        Self {
            urls: urls.into_iter().map(Into::into).collect(),
            name: "weir".to_owned(),
            replicas: 3,
            monitors: Vec::new(),
            write_timeout: Duration::from_secs(30),
            start_timeout: Duration::from_secs(10),
            queue_limit: 64 << 20,
        }
    }
}

/// What is unsafe about a cluster that can be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Warning {
    /// A server answers before its disk has what it acknowledges.
    #[error(
        "the NATS server {server} writes to its disk only every {interval}: what it has acknowledged in that time is lost if \
         several servers lose power together. Add `sync_interval: always` to its `jetstream` block"
    )]
    NotSynced {
        /// The name of the server.
        server: String,
        /// Its interval, as it states it.
        interval: String,
    },
    /// The servers do not say it to clients, and no monitoring address was given, or it does not answer.
    #[error(
        "cannot see whether the NATS servers write to their disks before they acknowledge ({detail}). Make sure that their \
         `jetstream` blocks have `sync_interval: always`: the default of two minutes can lose acknowledged events"
    )]
    SyncUnknown {
        /// Why it cannot be seen.
        detail: String,
    },
    /// There is one copy.
    #[error("the log is kept on one server: if its disk is lost, so are all sessions")]
    OneReplica,
}

/// A connection to a cluster that was checked.
pub(crate) struct Connected {
    pub(crate) client: Client,
    pub(crate) log: Stream,
    pub(crate) parts: Stream,
    pub(crate) leases: Stream,
    pub(crate) epoch: String,
    pub(crate) warnings: Vec<Warning>,
    /// Counts how often the connection was established.
    pub(crate) connections: watch::Receiver<u64>,
}

pub(crate) async fn connect(options: &JetStreamOptions, names: &Names) -> Result<Connected, ClusterError> {
    if !(1..=5).contains(&options.replicas) {
        return Err(ClusterError::Invalid(format!(
            "{} replicas are not possible: use 3, or 1 to 5",
            options.replicas
        )));
    }
    let (counter, connections) = watch::channel(0);
    let client = dial(options, counter).await?;
    let info = client.server_info();
    let url = format!("{}:{}", info.host, info.port);
    if !is_new_enough(&info.version) {
        return Err(ClusterError::TooOld { url, found: info.version, needed: OLDEST_TEXT });
    }
    if info.max_payload < NEEDED_PAYLOAD {
        return Err(ClusterError::SmallMessages { url, found: info.max_payload, needed: NEEDED_PAYLOAD });
    }
    if !info.jetstream {
        return Err(ClusterError::NoJetStream { url });
    }
    let context = jetstream::new(client.clone());
    let epoch = uuid::Uuid::new_v4().simple().to_string();
    let mut log = config(names.log_stream(), names.all_logs(), options.replicas);
    log.metadata = HashMap::from([(EPOCH.to_owned(), epoch)]);
    let mut parts = config(names.part_stream(), names.all_parts(), options.replicas);
    parts.max_messages_per_subject = 1;
    let mut leases = config(names.lease_stream(), names.all_leases(), options.replicas);
    leases.max_messages_per_subject = 1;
    leases.allow_message_ttl = true;
    leases.deny_delete = true;
    let log = stream(&context, log, options).await?;
    let parts = stream(&context, parts, options).await?;
    let leases = stream(&context, leases, options).await?;
    let found = log.cached_info().config.metadata.get(EPOCH).cloned();
    let epoch = found.ok_or_else(|| ClusterError::OtherStream {
        stream: names.log_stream(),
        detail: format!("its metadata has no {EPOCH}"),
    })?;
    let mut warnings = sync_warnings(&options.monitors).await;
    if options.replicas == 1 {
        warnings.push(Warning::OneReplica);
    }
    warnings.iter().for_each(|warning| tracing::warn!("{warning}"));
    Ok(Connected { client, log, parts, leases, epoch, warnings, connections })
}

async fn dial(options: &JetStreamOptions, connections: watch::Sender<u64>) -> Result<Client, ClusterError> {
    let urls = options.urls.join(",");
    let no_server = |detail: String| ClusterError::NoServer { urls: urls.clone(), detail };
    let started = Instant::now();
    loop {
        let counter = connections.clone();
        let settings = ConnectOptions::new()
            .name("weir")
            .connection_timeout(ANSWER_WAIT)
            // A server that is stopped keeps its connections open and answers nothing.
            .ping_interval(Duration::from_secs(2))
            .request_timeout(Some(ANSWER_WAIT))
            .event_callback(move |event| {
                match &event {
                    Event::Connected => counter.send_modify(|count| *count += 1),
                    other => tracing::info!("NATS: {other}"),
                }
                async {}
            });
        match settings.connect(options.urls.as_slice()).await {
            Ok(client) if client.connection_state() == State::Connected => return Ok(client),
            Ok(_) if started.elapsed() > options.start_timeout => {
                return Err(no_server("no answer".to_owned()));
            }
            Err(error) if started.elapsed() > options.start_timeout => {
                return Err(no_server(error.to_string()));
            }
            Ok(_) | Err(_) => tokio::time::sleep(PAUSE).await,
        }
    }
}

fn is_new_enough(version: &str) -> bool {
    let mut numbers = version.split(['.', '-']).map(|part| part.parse().unwrap_or(0));
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0)) >= OLDEST
}

/// A stream that keeps what it has acknowledged, and refuses what it has no space for.
fn config(name: String, subject: String, replicas: usize) -> Config {
    Config {
        name,
        subjects: vec![subject],
        storage: StorageType::File,
        num_replicas: replicas,
        discard: DiscardPolicy::New,
        allow_rollup: true,
        allow_direct: true,
        max_message_size: MAX_MESSAGE,
        ..Config::default()
    }
}

async fn stream(
    context: &Context,
    wanted: Config,
    options: &JetStreamOptions,
) -> Result<Stream, ClusterError> {
    let started = Instant::now();
    let stream = loop {
        let error = match context.get_or_create_stream(wanted.clone()).await {
            Ok(stream) => break stream,
            Err(error) => error.to_string(),
        };
        // Right after the start of a cluster there is no leader for a while, and not all servers are known.
        if started.elapsed() > options.start_timeout {
            return Err(refusal(error, wanted.num_replicas));
        }
        tokio::time::sleep(PAUSE).await;
    };
    let found = &stream.cached_info().config;
    let differs = |detail: &str| {
        Err(ClusterError::OtherStream { stream: wanted.name.clone(), detail: detail.to_owned() })
    };
    if found.num_replicas != wanted.num_replicas {
        return Err(ClusterError::OtherReplicas {
            stream: wanted.name,
            found: found.num_replicas,
            wanted: wanted.num_replicas,
        });
    }
    if found.subjects != wanted.subjects {
        return differs("it has other subjects");
    }
    if found.storage != StorageType::File || found.discard != DiscardPolicy::New {
        return differs("it may drop what it has acknowledged");
    }
    if !found.max_age.is_zero() || found.max_messages > 0 {
        return differs("it drops old messages");
    }
    Ok(stream)
}

/// Why a stream could not be made, from what the server says.
fn refusal(detail: String, wanted: usize) -> ClusterError {
    let is_about_copies = ["replicas", "peers", "non-clustered"].iter().any(|word| detail.contains(word));
    if is_about_copies {
        ClusterError::Replicas { wanted, detail }
    } else {
        ClusterError::Unavailable { detail }
    }
}

/// What the monitoring of the servers says about their disks.
async fn sync_warnings(monitors: &[SocketAddr]) -> Vec<Warning> {
    if monitors.is_empty() {
        return vec![Warning::SyncUnknown { detail: "no monitoring address was given".to_owned() }];
    }
    let mut warnings = Vec::new();
    for monitor in monitors {
        let warning = match tokio::time::timeout(ANSWER_WAIT, varz(*monitor)).await {
            Ok(Ok(varz)) => sync_warning(&varz),
            Ok(Err(error)) => Some(Warning::SyncUnknown { detail: format!("{monitor}: {error}") }),
            Err(_) => Some(Warning::SyncUnknown { detail: format!("{monitor} does not answer") }),
        };
        warnings.extend(warning);
    }
    warnings
}

async fn varz(monitor: SocketAddr) -> std::io::Result<serde_json::Value> {
    let mut stream = tokio::net::TcpStream::connect(monitor).await?;
    stream.write_all(format!("GET /varz HTTP/1.0\r\nHost: {monitor}\r\n\r\n").as_bytes()).await?;
    let mut answer = String::new();
    stream.take(1 << 20).read_to_string(&mut answer).await?;
    let body = answer.split_once("\r\n\r\n").map(|(_, body)| body).unwrap_or_default();
    serde_json::from_str(body).map_err(std::io::Error::from)
}

fn sync_warning(varz: &serde_json::Value) -> Option<Warning> {
    let config = varz.pointer("/jetstream/config")?;
    if config.get("sync_always").and_then(serde_json::Value::as_bool) == Some(true) {
        return None;
    }
    let server = varz.get("server_name").and_then(serde_json::Value::as_str).unwrap_or("?").to_owned();
    let nanoseconds = config.get("sync_interval").and_then(serde_json::Value::as_u64);
    let interval =
        nanoseconds.map_or_else(|| "two minutes".to_owned(), |n| format!("{:?}", Duration::from_nanos(n)));
    Some(Warning::NotSynced { server, interval })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn versions_are_compared_as_numbers() {
        for (version, is_enough) in [
            ("2.12.0", true),
            ("2.15.1-RC.2", true),
            ("3.0.0", true),
            ("2.9.10", false),
            ("2.11.99", false),
            ("", false),
        ] {
            assert_eq!(is_new_enough(version), is_enough, "{version}");
        }
    }

    #[test]
    fn a_server_that_acknowledges_too_early_is_named() {
        let varz = |config| json!({"server_name": "n1", "jetstream": {"config": config}});
        assert_eq!(sync_warning(&varz(json!({"sync_always": true, "sync_interval": 1}))), None);
        let warning = sync_warning(&varz(json!({"sync_interval": 120_000_000_000_u64})));
        let text = warning.map(|warning| warning.to_string()).unwrap_or_default();
        assert!(
            text.contains("n1") && text.contains("120s") && text.contains("sync_interval: always"),
            "{text}"
        );
    }

    #[test]
    fn a_refusal_says_what_to_do() {
        for detail in ["replicas > 1 not supported in non-clustered mode", "no suitable peers for placement"]
        {
            let text = refusal(detail.to_owned(), 3).to_string();
            assert!(text.contains("--replicas 1") && text.contains(detail), "{text}");
        }
        assert!(matches!(refusal("timed out".to_owned(), 3), ClusterError::Unavailable { .. }));
    }
}
