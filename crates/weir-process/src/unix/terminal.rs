//! Terminals in raw mode.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::task::{Context, Poll, ready};

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::pty::OpenptFlags;
use rustix::termios::{OptionalActions, Winsize};
use tokio::io::ReadBuf;
use tokio::net::unix::pipe;

/// Our side of a terminal.
///
/// Tokio treats it as a pipe, since both are files that become readable. Reading is done here, because a short
/// read means that a pipe is empty, but not that a terminal is.
#[derive(Debug)]
pub(crate) struct Terminal {
    receiver: pipe::Receiver,
}

/// A terminal in raw mode: our side, and the side for the CLI's output and diagnostics.
pub(super) fn terminal() -> io::Result<(Terminal, OwnedFd)> {
    #[cfg(target_os = "linux")]
    let ours = rustix::pty::openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
    #[cfg(not(target_os = "linux"))]
    let ours = rustix::pty::openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY)?;
    #[cfg(not(target_os = "linux"))]
    rustix::io::fcntl_setfd(&ours, rustix::io::FdFlags::CLOEXEC)?;
    rustix::pty::grantpt(&ours)?;
    rustix::pty::unlockpt(&ours)?;
    let name = rustix::pty::ptsname(&ours, Vec::new())?;
    let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
    let theirs = rustix::fs::open(name.as_c_str(), flags, Mode::empty())?;
    let mut attributes = rustix::termios::tcgetattr(&theirs)?;
    attributes.make_raw();
    rustix::termios::tcsetattr(&theirs, OptionalActions::Now, &attributes)?;
    // Wide, so that programs that check the width do not wrap lines.
    let size = Winsize { ws_row: 1000, ws_col: 32_000, ws_xpixel: 0, ws_ypixel: 0 };
    rustix::termios::tcsetwinsize(&theirs, size)?;
    rustix::io::ioctl_fionbio(&ours, true)?;
    Ok((Terminal { receiver: pipe::Receiver::from_owned_fd_unchecked(ours)? }, theirs))
}

impl Terminal {
    pub(crate) fn poll_read(
        &mut self,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        loop {
            ready!(self.receiver.poll_read_ready(context))?;
            let unfilled = buffer.initialize_unfilled();
            match self.receiver.try_io(|| Ok(rustix::io::read(self.receiver.as_fd(), unfilled)?)) {
                Ok(count) => {
                    buffer.advance(count);
                    return Poll::Ready(Ok(()));
                }
                // The other side is no longer open: end of stream.
                Err(error) if error.raw_os_error() == Some(Errno::IO.raw_os_error()) => {
                    return Poll::Ready(Ok(()));
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
    }

    /// Reads what is available now, whether or not tokio has noticed it.
    pub(crate) fn read_now(&self, buffer: &mut [u8]) -> io::Result<usize> {
        Ok(rustix::io::read(self.receiver.as_fd(), buffer)?)
    }
}
