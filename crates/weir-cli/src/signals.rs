//! Ctrl-C, and whatever else asks us to end.

#[cfg(unix)]
use tokio::signal::unix::{Signal, SignalKind, signal};

/// What is asked of us.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Asked {
    /// Ctrl-C: stop what you are doing.
    Interrupt,
    /// SIGTERM or SIGHUP: end.
    End,
}

/// Signals that ask us to end, one at a time.
pub(crate) struct Signals {
    #[cfg(unix)]
    streams: Vec<(Asked, Signal)>,
}

impl Signals {
    /// Listens from now on; a signal no longer ends the program by itself.
    pub(crate) fn new() -> Self {
        #[cfg(unix)]
        {
            let kinds = [
                (Asked::Interrupt, SignalKind::interrupt()),
                (Asked::End, SignalKind::terminate()),
                (Asked::End, SignalKind::hangup()),
            ];
            // A signal that cannot be listened for keeps what it does by itself.
            let listen = |(asked, kind)| signal(kind).ok().map(|stream| (asked, stream));
            Self { streams: kinds.into_iter().filter_map(listen).collect() }
        }
        #[cfg(not(unix))]
        Self {}
    }

    /// The next one. Cancel safe.
    #[cfg(unix)]
    pub(crate) async fn next(&mut self) -> Asked {
        std::future::poll_fn(|context| {
            for (asked, stream) in &mut self.streams {
                if stream.poll_recv(context).is_ready() {
                    return std::task::Poll::Ready(*asked);
                }
            }
            std::task::Poll::Pending
        })
        .await
    }

    #[cfg(not(unix))]
    pub(crate) async fn next(&mut self) -> Asked {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
        Asked::Interrupt
    }
}
