//! What makes a session end early: the loop is stopped, or the session has used up its time.

use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;
use weir_base::time::duration_text;

use super::{AgentEnd, Hurry};

/// How long an interrupted turn may take to end.
const PATIENCE: Duration = Duration::from_secs(10);

/// Why a session has to end early.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StopReason {
    /// The loop was asked to stop it.
    Requested,
    /// It takes too long.
    TooLong,
}

impl StopReason {
    /// How long the turn may take to end. A session that has used up its time gets only a moment.
    pub(super) const fn patience(self) -> Duration {
        match self {
            Self::Requested => PATIENCE,
            Self::TooLong => Duration::from_millis(500),
        }
    }
}

/// What can make a session end early.
pub(super) struct StopSignal {
    pub(super) hurry: watch::Receiver<Hurry>,
    time: WorkingTime,
}

impl StopSignal {
    /// `waiting` is the number of requests that wait for a person: that time does not count.
    pub(super) fn new(
        hurry: watch::Receiver<Hurry>,
        waiting: watch::Receiver<usize>,
        limit: Duration,
    ) -> Self {
        Self { hurry, time: WorkingTime { left: limit, since: Instant::now(), is_paused: false, waiting } }
    }

    /// Waits until the session has to end. Cancel safe.
    pub(super) async fn reason(&mut self) -> StopReason {
        tokio::select! {
            () = hurry_reached(&mut self.hurry, Hurry::Interrupt) => StopReason::Requested,
            () = self.time.used_up() => StopReason::TooLong,
        }
    }
}

/// The working time that is left.
struct WorkingTime {
    left: Duration,
    /// When it was last counted.
    since: Instant,
    /// Whether a person was waited for since then.
    is_paused: bool,
    waiting: watch::Receiver<usize>,
}

impl WorkingTime {
    /// Counts the time until now.
    fn count(&mut self) {
        let now = Instant::now();
        if !self.is_paused {
            self.left = self.left.saturating_sub(now - self.since);
        }
        self.since = now;
        self.is_paused = *self.waiting.borrow_and_update() > 0;
    }

    /// Waits until no time is left. Cancel safe.
    async fn used_up(&mut self) {
        loop {
            self.count();
            if self.is_paused {
                changed(&mut self.waiting).await;
                continue;
            }
            if self.left.is_zero() {
                return;
            }
            tokio::select! {
                () = tokio::time::sleep(self.left) => {}
                () = changed(&mut self.waiting) => {}
            }
        }
    }
}

/// Waits for a change; for ever if there will be none.
async fn changed<T>(receiver: &mut watch::Receiver<T>) {
    if receiver.changed().await.is_err() {
        std::future::pending::<()>().await;
    }
}

/// Waits until the hurry is at least this.
pub(super) async fn hurry_reached(hurry: &mut watch::Receiver<Hurry>, least: Hurry) {
    if hurry.wait_for(|hurry| *hurry >= least).await.is_err() {
        // The sender is gone, so the hurry cannot change any more.
        std::future::pending::<()>().await;
    }
}

/// Waits until a session that took too long has also used up its time to end. Never returns for other reasons.
pub(super) async fn overdue(why: Option<StopReason>) {
    match why {
        Some(StopReason::TooLong) => tokio::time::sleep(StopReason::TooLong.patience()).await,
        _ => std::future::pending().await,
    }
}

/// The end of a session that took too long.
pub(super) fn too_long(timeout: Duration) -> AgentEnd {
    let words = duration_text(u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX));
    AgentEnd::TimedOut {
        why: format!(
            "the session took longer than the remaining {words} (task_limits.wall_time, limits.wall_time)"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn waiting_for_a_person_does_not_use_up_the_time() {
        let (_hurry, receiver) = watch::channel(Hurry::None);
        let waiting = watch::Sender::new(0);
        let mut signal = StopSignal::new(receiver, waiting.subscribe(), Duration::from_secs(10));
        let began = Instant::now();
        assert!(tokio::time::timeout(Duration::from_secs(4), signal.reason()).await.is_err());
        waiting.send_modify(|count| *count += 1);
        assert!(tokio::time::timeout(Duration::from_secs(100), signal.reason()).await.is_err());
        waiting.send_modify(|count| *count -= 1);
        assert_eq!(signal.reason().await, StopReason::TooLong);
        assert_eq!(began.elapsed().as_secs(), 110);
    }

    #[tokio::test(start_paused = true)]
    async fn a_stop_is_noticed_at_once() {
        let (hurry, receiver) = watch::channel(Hurry::None);
        let mut signal = StopSignal::new(receiver, watch::Sender::new(0).subscribe(), Duration::from_secs(9));
        hurry.send_replace(Hurry::Interrupt);
        assert_eq!(signal.reason().await, StopReason::Requested);
    }
}
