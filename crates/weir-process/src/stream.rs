//! The two directions of a process's standard streams, for every transport.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, DuplexStream, ReadBuf};

#[cfg(unix)]
use crate::unix as platform;
#[cfg(windows)]
use crate::windows as platform;

/// Source of the CLI's output.
#[derive(Debug)]
pub(crate) enum Source {
    Pipe(platform::ReadPipe),
    #[cfg(unix)]
    Terminal(crate::unix::Terminal),
    Memory(DuplexStream),
}

impl Source {
    pub(crate) fn poll_read(
        &mut self,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self {
            Self::Pipe(pipe) => Pin::new(pipe).poll_read(context, buffer),
            #[cfg(unix)]
            Self::Terminal(terminal) => terminal.poll_read(context, buffer),
            Self::Memory(stream) => Pin::new(stream).poll_read(context, buffer),
        }
    }
}

impl Source {
    /// Reads what is available now, without waiting.
    pub(crate) fn read_now(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Pipe(pipe) => pipe.read_now(buffer),
            #[cfg(unix)]
            Self::Terminal(terminal) => terminal.read_now(buffer),
            // A CLI played by a test has no log to complete.
            Self::Memory(_) => Ok(0),
        }
    }
}

/// Destination of the CLI's input.
#[derive(Debug)]
pub(crate) enum Sink {
    Pipe(platform::WritePipe),
    Memory(DuplexStream),
}

impl Sink {
    pub(crate) fn poll_write(&mut self, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match self {
            Self::Pipe(pipe) => pipe.poll_write(context, bytes),
            Self::Memory(stream) => Pin::new(stream).poll_write(context, bytes),
        }
    }

    /// Called when everything queued is written.
    pub(crate) fn release(&mut self) {
        if let Self::Pipe(pipe) = self {
            pipe.release();
        }
    }
}
