//! Larger pipes, within limits.

use std::os::fd::OwnedFd;
#[cfg(target_os = "linux")]
use std::sync::atomic::{AtomicUsize, Ordering};

/// Size of a large output pipe. It halves the time of bulk reads.
#[cfg(target_os = "linux")]
const SIZE: usize = 1 << 20;

/// How many pipes may be large at the same time. The total pipe memory of a user is limited (64 MiB by
/// default), and a user over the limit gets only tiny pipes, so we leave half of it alone. Root has no such
/// limit.
#[cfg(target_os = "linux")]
const MAX_LARGE_PIPES: usize = 32;

#[cfg(target_os = "linux")]
static IN_USE: AtomicUsize = AtomicUsize::new(0);

/// One large pipe's share of the limit, given back on drop.
#[derive(Debug)]
pub(super) struct LargePipe;

impl LargePipe {
    /// Enlarges a pipe, if there is a share left and the system allows it.
    #[cfg(target_os = "linux")]
    pub(super) fn enlarge(pipe: &OwnedFd) -> Option<Self> {
        let others = IN_USE.fetch_add(1, Ordering::Relaxed);
        let share = Self;
        let is_allowed = others < MAX_LARGE_PIPES || rustix::process::geteuid().is_root();
        let is_large = is_allowed && rustix::pipe::fcntl_setpipe_size(pipe, SIZE).is_ok();
        is_large.then_some(share)
    }

    /// Pipes have a fixed size here.
    #[cfg(not(target_os = "linux"))]
    pub(super) fn enlarge(_pipe: &OwnedFd) -> Option<Self> {
        None
    }
}

#[cfg(target_os = "linux")]
impl Drop for LargePipe {
    fn drop(&mut self) {
        IN_USE.fetch_sub(1, Ordering::Relaxed);
    }
}
