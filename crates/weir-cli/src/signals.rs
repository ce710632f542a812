//! Ctrl-C and other termination signals.

#[cfg(unix)]
use tokio::signal::unix::{Signal, SignalKind, signal};

/// What a signal requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Asked {
    /// Ctrl-C: interrupt the current work.
    Interrupt,
    /// SIGTERM or SIGHUP: exit.
    End,
}

/// Whether this program was started with SIGHUP ignored. Known where there is a `/proc`.
#[cfg(unix)]
fn is_hangup_ignored() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    ignored.is_some_and(|mask| mask & 1 == 1)
}

/// A stream of termination signals.
pub(crate) struct Signals {
    #[cfg(unix)]
    streams: Vec<(Asked, Signal)>,
}

impl Signals {
    /// Starts listening; from now on these signals no longer end the program by themselves.
    pub(crate) fn new() -> Self {
        #[cfg(unix)]
        {
            let kinds = [
                (Asked::Interrupt, SignalKind::interrupt()),
                (Asked::End, SignalKind::terminate()),
                (Asked::End, SignalKind::hangup()),
            ];
            // Under `nohup` a program keeps running when its terminal is gone.
            let is_wanted =
                |(_, kind): &(Asked, SignalKind)| *kind != SignalKind::hangup() || !is_hangup_ignored();
            // A signal that cannot be listened for keeps its default action.
            let listen = |(asked, kind)| signal(kind).ok().map(|stream| (asked, stream));
            Self { streams: kinds.into_iter().filter(is_wanted).filter_map(listen).collect() }
        }
        #[cfg(not(unix))]
        Self {}
    }

    /// Waits for the next signal. Cancel safe.
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
