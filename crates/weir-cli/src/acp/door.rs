//! A socket in the data folder: how editors on this machine reach the program that has the sessions.
//!
//! No token is needed: only processes of the same user are let in.

use std::io;
use std::path::{Path, PathBuf};

use tokio::sync::watch;
use weir_acp::AcpAgent;

/// Name of the socket in the data folder.
const SOCKET: &str = "acp.sock";

/// An open socket. Dropping it closes it, and the connections with it.
pub(crate) struct Door {
    path: PathBuf,
    visitors: watch::Receiver<usize>,
    task: tokio::task::JoinHandle<()>,
}

impl Door {
    /// The number of editors that are connected; changes when one comes or goes.
    pub(super) fn visitors(&self) -> watch::Receiver<usize> {
        self.visitors.clone()
    }
}

impl Drop for Door {
    fn drop(&mut self) {
        self.task.abort();
        // The next one removes it otherwise.
        let _ = std::fs::remove_file(&self.path);
    }
}

#[cfg(unix)]
mod unix {
    use std::os::unix::fs::PermissionsExt as _;

    use tokio::net::{UnixListener, UnixStream};
    use tokio::task::JoinSet;

    use super::*;

    impl Door {
        /// Opens the socket of a data folder, of which the caller has the lock.
        pub(crate) fn open(data: &Path, agent: AcpAgent) -> io::Result<Self> {
            let path = data.join(SOCKET);
            // Whoever had it is gone: the lock is ours.
            match std::fs::remove_file(&path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
            let listener = UnixListener::bind(&path)?;
            // The data folder is private already, and so is each connection.
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600))?;
            let (count, visitors) = watch::channel(0);
            let task = tokio::spawn(async move {
                let mut serving = JoinSet::new();
                loop {
                    tokio::select! {
                        visitor = listener.accept() => {
                            // A failed accept is about that one connection, or about a limit that passes.
                            let Ok((stream, _)) = visitor else { tokio::task::yield_now().await; continue };
                            if is_own(&stream) {
                                let (input, output) = stream.into_split();
                                serving.spawn(agent.clone().serve(input, output));
                            }
                        }
                        Some(_) = serving.join_next() => {}
                    }
                    count.send_replace(serving.len());
                }
            });
            Ok(Self { path, visitors, task })
        }
    }

    /// Whether the other end is a process of the same user.
    fn is_own(stream: &UnixStream) -> bool {
        let own = rustix::process::geteuid().as_raw();
        stream.peer_cred().is_ok_and(|other| other.uid() == own)
    }

    /// Goes through the socket of a data folder.
    pub(in crate::acp) async fn enter(data: &Path) -> io::Result<UnixStream> {
        let stream = UnixStream::connect(data.join(SOCKET)).await?;
        if is_own(&stream) {
            return Ok(stream);
        }
        Err(io::Error::new(io::ErrorKind::PermissionDenied, "the socket belongs to another user"))
    }
}

#[cfg(unix)]
pub(super) use unix::enter;
