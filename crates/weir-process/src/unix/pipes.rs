//! Pipes.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, ReadBuf};
use tokio::net::unix::pipe;

use super::large::LargePipe;

/// The end of standard input that we write to.
pub(crate) type WritePipe = pipe::Sender;

/// The end of standard error that we read from.
pub(crate) type ErrorPipe = pipe::Receiver;

/// The end of standard output that we read from.
#[derive(Debug)]
pub(crate) struct ReadPipe {
    receiver: pipe::Receiver,
    _share: Option<LargePipe>,
}

impl ReadPipe {
    /// Reads what is there now, whether tokio has noticed it or not.
    pub(crate) fn read_now(&self, buffer: &mut [u8]) -> io::Result<usize> {
        Ok(rustix::io::read(self.receiver.as_fd(), buffer)?)
    }
}

impl AsyncRead for ReadPipe {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.receiver).poll_read(context, buffer)
    }
}

/// A reading end and a writing end, both closed on `exec`.
fn pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    let (reader, writer) = io::pipe()?;
    Ok((reader.into(), writer.into()))
}

/// A pipe for the CLI's output: our end and its end.
pub(super) fn output_pipe() -> io::Result<(ReadPipe, OwnedFd)> {
    let (ours, theirs) = pipe()?;
    let share = LargePipe::enlarge(&ours);
    Ok((ReadPipe { receiver: pipe::Receiver::from_owned_fd(ours)?, _share: share }, theirs))
}

/// A pipe for the CLI's diagnostics: our end and its end.
pub(super) fn error_pipe() -> io::Result<(ErrorPipe, OwnedFd)> {
    let (ours, theirs) = pipe()?;
    Ok((pipe::Receiver::from_owned_fd(ours)?, theirs))
}

/// A pipe for the CLI's input: our end and its end.
pub(super) fn input_pipe() -> io::Result<(WritePipe, OwnedFd)> {
    let (theirs, ours) = pipe()?;
    Ok((pipe::Sender::from_owned_fd(ours)?, theirs))
}

/// Waits until there is something to read. `false` if that cannot be found out any more.
pub(crate) async fn error_pipe_readable(pipe: &ErrorPipe) -> bool {
    pipe.readable().await.is_ok()
}

/// Reads for a task that was told that there is something; tokio learns from it when there is nothing any more.
pub(crate) fn read_ready_error_pipe(pipe: &ErrorPipe, buffer: &mut [u8]) -> io::Result<usize> {
    pipe.try_io(|| Ok(rustix::io::read(pipe.as_fd(), buffer)?))
}

/// Reads what is there now, whether tokio has noticed it or not.
pub(crate) fn read_error_pipe(pipe: &ErrorPipe, buffer: &mut [u8]) -> io::Result<usize> {
    Ok(rustix::io::read(pipe.as_fd(), buffer)?)
}
