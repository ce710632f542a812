//! How people steer a loop from other processes: a socket in its folder, on which the system says who has connected.
//!
//! Whoever descends from the loop is a session, a gate, or a program that one of them has started, and is refused: only a
//! person steers a run. Their environment does not matter, and the loop adopts orphans, so that no program gets away from
//! its parents. What was accepted is in the saved state before the sender hears of it, so nothing waits to be delivered.

use serde::{Deserialize, Serialize};

use crate::tasks::TaskId;

#[cfg(not(unix))]
pub(super) use nothing::{Door, send};
#[cfg(unix)]
pub(super) use socket::{Door, send};

/// What a person wants of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "command", rename_all = "snake_case")]
pub enum PersonCommand {
    /// Answers a question.
    Answer {
        /// The question: its id, the start of its id, or its task. `None` for the only one.
        question: Option<String>,
        /// The answers, in the order of the questions; `yes` or `no` for a permission.
        answers: Vec<String>,
        /// Who answers.
        by: String,
    },
    /// Skips a task.
    Skip {
        /// The task.
        task: TaskId,
    },
    /// Retries a task.
    Retry {
        /// The task.
        task: TaskId,
    },
    /// Begins no more sessions until it is allowed again.
    Pause {
        /// Who wants that.
        by: String,
    },
    /// Begins sessions again.
    Unpause {
        /// Who wants that.
        by: String,
    },
}

/// What came of a command: accepted, or refused for this reason.
pub type Reply = Result<(), String>;

/// A command, and where to say what came of it.
pub(super) type Order = (PersonCommand, tokio::sync::oneshot::Sender<Reply>);

#[cfg(unix)]
mod socket {
    use std::io::{self, BufRead as _, BufReader, Write as _};
    use std::os::unix::fs::MetadataExt as _;
    use std::os::unix::net::UnixStream as Connection;
    use std::path::{Path, PathBuf};
    use std::time::Duration;

    use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::{UnixListener, UnixStream};
    use tokio::sync::{mpsc, oneshot};
    use tokio::task::{JoinHandle, JoinSet};
    use weir_process::ProcessId;

    use super::{Order, PersonCommand, Reply};

    /// Name of the socket in the folder of the state.
    const NAME: &str = "steering.sock";

    /// A longer command is refused.
    const MAX_BYTES: u64 = 256 << 10;

    /// How long a sender may take to say what it wants.
    const MAX_READ_TIME: Duration = Duration::from_secs(5);

    /// How long a loop may take to do what it is told: it may be waiting for space on a disk.
    const MAX_REPLY_TIME: Duration = Duration::from_secs(30);

    /// More senders than this wait for each other.
    const MAX_SENDERS: usize = 16;

    /// The socket of a running loop. It is closed when this is dropped.
    #[derive(Debug)]
    pub(in crate::shell) struct Door {
        path: PathBuf,
        /// Device and number of the socket.
        file: Option<(u64, u64)>,
        task: JoinHandle<()>,
    }

    impl Door {
        /// Opens the socket in the folder of a state whose lock is held. Commands go to `orders`.
        pub(in crate::shell) fn open(state: &Path, orders: mpsc::UnboundedSender<Order>) -> io::Result<Self> {
            let path = state.join(NAME);
            match std::fs::remove_file(&path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
            let listener = Short::of(state)?.bind()?;
            let file = identity(&path);
            Ok(Self { path, file, task: tokio::spawn(listen(listener, orders)) })
        }

        /// Whether the socket is still the one that was opened. A session that is not in a sandbox could remove it.
        pub(in crate::shell) fn is_there(&self) -> bool {
            self.file.is_some() && identity(&self.path) == self.file
        }
    }

    impl Drop for Door {
        fn drop(&mut self) {
            self.task.abort();
            if self.is_there() {
                // A socket without a listener is replaced by the next start.
                let _ = std::fs::remove_file(&self.path);
            }
        }
    }

    fn identity(path: &Path) -> Option<(u64, u64)> {
        std::fs::symlink_metadata(path).ok().map(|found| (found.dev(), found.ino()))
    }

    /// A path to the socket that is short enough for the system, however deep the folder is.
    struct Short {
        path: PathBuf,
        /// Keeps the path valid.
        _folder: std::fs::File,
    }

    impl Short {
        fn of(state: &Path) -> io::Result<Self> {
            let folder = std::fs::File::open(state)?;
            #[cfg(target_os = "linux")]
            let path = {
                use std::os::fd::AsRawFd as _;
                PathBuf::from(format!("/proc/self/fd/{}", folder.as_raw_fd())).join(NAME)
            };
            #[cfg(not(target_os = "linux"))]
            let path = state.join(NAME);
            Ok(Self { path, _folder: folder })
        }

        fn bind(&self) -> io::Result<UnixListener> {
            UnixListener::bind(&self.path)
        }

        fn connect(&self) -> io::Result<Connection> {
            Connection::connect(&self.path)
        }
    }

    async fn listen(listener: UnixListener, orders: mpsc::UnboundedSender<Order>) {
        let mut senders = JoinSet::new();
        loop {
            tokio::select! {
                accepted = listener.accept(), if senders.len() < MAX_SENDERS => match accepted {
                    Ok((stream, _)) => {
                        senders.spawn(serve(stream, orders.clone()));
                    }
                    // Too many open files, most likely: when a sender has ended, there is room again.
                    Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
                },
                Some(_) = senders.join_next() => {}
            }
        }
    }

    async fn serve(mut stream: UnixStream, orders: mpsc::UnboundedSender<Order>) {
        let reply = match tokio::time::timeout(MAX_READ_TIME, read(&mut stream)).await {
            Ok(Ok(command)) => give(command, &orders).await,
            Ok(Err(why)) => Err(why),
            Err(_) => Err("nothing was said".to_owned()),
        };
        let mut text = serde_json::to_vec(&reply).unwrap_or_default();
        text.push(b'\n');
        // A sender that has gone away finds out by the state.
        let _ = stream.write_all(&text).await;
    }

    async fn read(stream: &mut UnixStream) -> Result<PersonCommand, String> {
        refuse_insiders(stream)?;
        let mut line = Vec::new();
        let mut reader = tokio::io::BufReader::new((&mut *stream).take(MAX_BYTES));
        reader.read_until(b'\n', &mut line).await.map_err(|error| error.to_string())?;
        let command = serde_json::from_slice(&line).map_err(|error| format!("not a command: {error}"))?;
        // Again: it must not have ended meanwhile, and another one have its number.
        refuse_insiders(stream)?;
        Ok(command)
    }

    /// Refuses programs that descend from this one.
    fn refuse_insiders(stream: &UnixStream) -> Result<(), String> {
        let inside = || "this is inside a run of the loop: only a person can steer it".to_owned();
        let who = stream.peer_cred().map_err(|error| format!("it is not known who you are: {error}"))?;
        let pid = who.pid().and_then(|pid| u32::try_from(pid).ok());
        let sender = pid.and_then(ProcessId::of).ok_or_else(inside)?;
        match sender.descends_from(ProcessId::current()) {
            Some(false) => Ok(()),
            // A program that has the loop within itself may steer it as it likes.
            Some(true) if sender == ProcessId::current() => Ok(()),
            Some(true) => Err(inside()),
            // It has ended, or a process above it has just ended. Elsewhere the system does not say.
            None if cfg!(target_os = "linux") => Err(inside()),
            None => Ok(()),
        }
    }

    async fn give(command: PersonCommand, orders: &mpsc::UnboundedSender<Order>) -> Reply {
        let (reply, answered) = oneshot::channel();
        let over = || "the run is ending".to_owned();
        orders.send((command, reply)).map_err(|_| over())?;
        answered.await.unwrap_or_else(|_| Err(over()))
    }

    /// Sends a command to the loop with this process, which has the lock of this state. `None` if there is nobody who
    /// answers.
    pub(in crate::shell) fn send(state: &Path, holder: ProcessId, command: &PersonCommand) -> Option<Reply> {
        let mut stream = Short::of(state).ok()?.connect().ok()?;
        if !is_at_the_other_end(&stream, holder) {
            return None;
        }
        let mut text = serde_json::to_vec(command).ok()?;
        text.push(b'\n');
        stream.set_read_timeout(Some(MAX_REPLY_TIME)).ok()?;
        stream.write_all(&text).ok()?;
        let mut line = String::new();
        BufReader::new(stream).read_line(&mut line).ok()?;
        serde_json::from_str(&line).ok()
    }

    /// Whether it is the loop that listens, and not a session that has put a socket of its own in this place.
    #[cfg(target_os = "linux")]
    fn is_at_the_other_end(stream: &Connection, holder: ProcessId) -> bool {
        let who = rustix::net::sockopt::socket_peercred(stream);
        let pid = who.ok().and_then(|who| u32::try_from(who.pid.as_raw_nonzero().get()).ok());
        pid.and_then(ProcessId::of) == Some(holder)
    }

    #[cfg(not(target_os = "linux"))]
    fn is_at_the_other_end(_: &Connection, _: ProcessId) -> bool {
        true
    }
}

/// On a system without such sockets, people steer a run on its page.
#[cfg(not(unix))]
mod nothing {
    use std::io;
    use std::path::Path;

    use tokio::sync::mpsc;
    use weir_process::ProcessId;

    use super::{Order, PersonCommand, Reply};

    #[derive(Debug)]
    pub(in crate::shell) struct Door;

    impl Door {
        pub(in crate::shell) fn open(_: &Path, _: mpsc::UnboundedSender<Order>) -> io::Result<Self> {
            Ok(Self)
        }

        pub(in crate::shell) fn is_there(&self) -> bool {
            true
        }
    }

    pub(in crate::shell) fn send(_: &Path, _: ProcessId, _: &PersonCommand) -> Option<Reply> {
        Some(Err("a running loop can only be steered on its page here (weir loop run --listen)".to_owned()))
    }
}
