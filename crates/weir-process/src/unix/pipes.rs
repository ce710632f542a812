//! Pipes.

use std::future::poll_fn;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::pin::Pin;
use std::task::{Context, Poll};

use rustix::io::Errno;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::unix::pipe;

use super::large::LargePipe;

/// Our end of standard input.
///
/// Tokio watches it only while it is full, which is rare: an idle session pays nothing for it.
#[derive(Debug)]
pub(crate) struct WritePipe(Option<Writer>);

#[derive(Debug)]
enum Writer {
    Unwatched(OwnedFd),
    Watched(pipe::Sender),
}

impl WritePipe {
    pub(crate) fn poll_write(&mut self, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        if let Some(Writer::Unwatched(file)) = &self.0 {
            match rustix::io::write(file, bytes) {
                Err(Errno::AGAIN) => {}
                other => return Poll::Ready(Ok(other?)),
            }
        }
        if let Some(Writer::Unwatched(file)) = self.0.take_if(|writer| matches!(writer, Writer::Unwatched(_)))
        {
            self.0 = Some(Writer::Watched(pipe::Sender::from_owned_fd(file)?));
        }
        match &mut self.0 {
            Some(Writer::Watched(sender)) => Pin::new(sender).poll_write(context, bytes),
            // A pipe that could not be watched is closed.
            _ => Poll::Ready(Err(io::ErrorKind::BrokenPipe.into())),
        }
    }

    /// Stops watching once everything is written.
    pub(crate) fn release(&mut self) {
        if let Some(Writer::Watched(sender)) = self.0.take_if(|writer| matches!(writer, Writer::Watched(_))) {
            self.0 = sender.into_nonblocking_fd().ok().map(Writer::Unwatched);
        }
    }
}

/// Our end of standard error.
pub(crate) type ErrorPipe = pipe::Receiver;

/// Our end of standard output.
#[derive(Debug)]
pub(crate) struct ReadPipe {
    receiver: pipe::Receiver,
    _share: Option<LargePipe>,
}

impl ReadPipe {
    /// Reads what is available now, whether or not tokio has noticed it.
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
    rustix::io::ioctl_fionbio(&ours, true)?;
    Ok((WritePipe(Some(Writer::Unwatched(ours))), theirs))
}

/// Waits until there is something to read. `false` if that can no longer be determined.
pub(crate) async fn error_pipe_readable(pipe: &ErrorPipe) -> bool {
    poll_fn(|context| pipe.poll_read_ready(context)).await.is_ok()
}

/// Reads after a readiness notification; tokio learns from it when the pipe is empty.
pub(crate) fn read_ready_error_pipe(pipe: &ErrorPipe, buffer: &mut [u8]) -> io::Result<usize> {
    pipe.try_io(|| Ok(rustix::io::read(pipe.as_fd(), buffer)?))
}

/// Reads what is available now, whether or not tokio has noticed it.
pub(crate) fn read_error_pipe(pipe: &ErrorPipe, buffer: &mut [u8]) -> io::Result<usize> {
    Ok(rustix::io::read(pipe.as_fd(), buffer)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_watched(pipe: &WritePipe) -> bool {
        matches!(pipe.0, Some(Writer::Watched(_)))
    }

    #[tokio::test]
    async fn a_pipe_is_watched_only_while_it_is_full() {
        let (mut writer, reader) = input_pipe().unwrap();
        let chunk = [b'x'; 4096];
        let mut written = 0;
        // Nothing reads, so the pipe fills up eventually.
        loop {
            let polled = poll_fn(|context| Poll::Ready(writer.poll_write(context, &chunk))).await;
            match polled {
                Poll::Ready(count) => written += count.unwrap(),
                Poll::Pending => break,
            }
        }
        assert!(written >= chunk.len() && is_watched(&writer));
        let read = tokio::task::spawn_blocking(move || {
            let mut buffer = vec![0; 2 * written];
            let first = rustix::io::read(&reader, &mut buffer[..written]).unwrap();
            (first, reader)
        });
        // Wakes up by itself once there is room.
        let more = poll_fn(|context| writer.poll_write(context, &chunk)).await.unwrap();
        assert!(more > 0);
        writer.release();
        assert!(!is_watched(&writer));
        let (first, reader) = read.await.unwrap();
        assert!(poll_fn(|context| writer.poll_write(context, b"end")).await.unwrap() == 3);
        drop(writer);
        let rest = tokio::task::spawn_blocking(move || {
            let mut bytes = Vec::new();
            io::Read::read_to_end(&mut std::fs::File::from(reader), &mut bytes).unwrap();
            bytes
        });
        let rest = rest.await.unwrap();
        assert_eq!(first + rest.len(), written + more + 3);
        assert!(rest.ends_with(b"end"));
    }
}
