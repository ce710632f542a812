//! Why a cluster cannot be used. What a single call of the log can fail with is [`weir_store::StoreError`].

/// Why a cluster cannot be used. Each says what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ClusterError {
    /// An option is invalid.
    #[error("{0}")]
    Invalid(String),
    /// No server answers.
    #[error("cannot connect to NATS at {urls}: {detail}")]
    NoServer {
        /// The addresses.
        urls: String,
        /// What went wrong.
        detail: String,
    },
    /// The server is too old.
    #[error(
        "the NATS server at {url} has version {found}, and Weir needs {needed} or newer: before, appends of two writers could \
         both be accepted in a cluster"
    )]
    TooOld {
        /// The server.
        url: String,
        /// Its version.
        found: String,
        /// The oldest version that is safe.
        needed: &'static str,
    },
    /// The server has no JetStream.
    #[error(
        "the NATS server at {url} has no JetStream: add `jetstream {{ sync_interval: always }}` to its configuration"
    )]
    NoJetStream {
        /// The server.
        url: String,
    },
    /// The server takes only small messages.
    #[error(
        "the NATS server at {url} takes messages of at most {found} bytes (`max_payload`), and Weir needs {needed}: the default \
         of one megabyte will do"
    )]
    SmallMessages {
        /// The server.
        url: String,
        /// The size of its largest message.
        found: usize,
        /// The size that Weir needs.
        needed: usize,
    },
    /// The cluster cannot keep as many copies as wanted.
    #[error(
        "NATS cannot keep {wanted} copies of the log ({detail}): start at least {wanted} servers in one cluster, or use \
         `--replicas 1` to try it without protection against the loss of a server"
    )]
    Replicas {
        /// How many copies are wanted.
        wanted: usize,
        /// What the server says.
        detail: String,
    },
    /// The log exists with another number of copies.
    #[error(
        "stream {stream} keeps {found} copies, and {wanted} are wanted: change it with `nats stream edit {stream} --replicas \
         {wanted}`, or use `--replicas {found}`"
    )]
    OtherReplicas {
        /// The stream.
        stream: String,
        /// How many copies it has.
        found: usize,
        /// How many are wanted.
        wanted: usize,
    },
    /// The log exists, and does not keep what Weir needs.
    #[error("stream {stream} exists and does not suit Weir ({detail}); use another name for the cluster")]
    OtherStream {
        /// The stream.
        stream: String,
        /// What is different.
        detail: String,
    },
    /// The servers refuse, or do not answer in time.
    #[error("NATS cannot provide the log ({detail})")]
    Unavailable {
        /// What went wrong.
        detail: String,
    },
}
