//! Larger pipes, within limits.

use std::os::fd::OwnedFd;
#[cfg(target_os = "linux")]
use std::sync::atomic::{AtomicUsize, Ordering};

/// How large a pipe for output should be. It halves the time of bulk reads.
#[cfg(target_os = "linux")]
const SIZE: usize = 1 << 20;

/// How many pipes may be large at the same time. The memory of all pipes of a user is limited (64 MiB by default),
/// and who is over the limit gets tiny pipes everywhere, so we leave half of it alone. Root has no such limit.
#[cfg(target_os = "linux")]
const MOST: usize = 32;

#[cfg(target_os = "linux")]
static IN_USE: AtomicUsize = AtomicUsize::new(0);

/// The share of one large pipe, given back on drop.
#[derive(Debug)]
pub(super) struct LargePipe;

impl LargePipe {
    /// Makes a pipe larger, if there is a share left and the system allows it.
    #[cfg(target_os = "linux")]
    pub(super) fn enlarge(pipe: &OwnedFd) -> Option<Self> {
        let others = IN_USE.fetch_add(1, Ordering::Relaxed);
        let share = Self;
        let is_allowed = others < MOST || rustix::process::geteuid().is_root();
        let is_large = is_allowed && rustix::pipe::fcntl_setpipe_size(pipe, SIZE).is_ok();
        is_large.then_some(share)
    }

    /// Pipes have one size here.
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
