//! Waiting in tests, with a deadline: for a future, or by polling for what nothing announces.

use std::panic::Location;
use std::time::{Duration, Instant};

/// Longer than any step of a test takes, even on a busy machine. It passes only if something hangs.
pub const DEADLINE: Duration = Duration::from_secs(120);

/// The pause between two polls.
const POLL: Duration = Duration::from_millis(5);

/// Waits for something that must happen.
///
/// # Panics
/// After [`DEADLINE`], with the place of the call.
#[track_caller]
#[expect(clippy::panic, reason = "a test that cannot continue should stop")]
pub fn soon<F: Future>(future: F) -> impl Future<Output = F::Output> {
    let caller = Location::caller();
    async move {
        let output = tokio::time::timeout(DEADLINE, future).await;
        output.unwrap_or_else(|_| panic!("timed out at {caller}"))
    }
}

/// Waits until a condition holds.
///
/// # Panics
/// After [`DEADLINE`].
pub async fn until(what: &str, mut condition: impl FnMut() -> bool) {
    until_some(what, || condition().then_some(())).await;
}

/// Waits until there is a value.
///
/// # Panics
/// After [`DEADLINE`].
pub async fn until_some<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let started = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(started.elapsed() < DEADLINE, "timed out waiting for: {what}");
        tokio::time::sleep(POLL).await;
    }
}

/// The same for tests without a runtime.
pub mod blocking {
    use super::{DEADLINE, Instant, POLL};

    /// Waits until a condition holds.
    ///
    /// # Panics
    /// After [`DEADLINE`].
    #[track_caller]
    pub fn until(what: &str, mut condition: impl FnMut() -> bool) {
        until_some(what, || condition().then_some(()));
    }

    /// Waits until there is a value.
    ///
    /// # Panics
    /// After [`DEADLINE`].
    #[track_caller]
    pub fn until_some<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
        let started = Instant::now();
        loop {
            if let Some(found) = look() {
                return found;
            }
            assert!(started.elapsed() < DEADLINE, "timed out waiting for: {what}");
            std::thread::park_timeout(POLL);
        }
    }
}
