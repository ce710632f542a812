//! Pipes and job objects on Windows.
//!
//! This is compiled but was never run by the project, and kept small for that reason. A job object ends
//! everything that the CLI has started, even when Weir is killed, because the system then closes the last
//! handle of the job. Windows has no SIGTERM, so the CLI is ended at once after the grace period. There is no
//! pty transport.

use std::io;
use std::os::windows::io::{AsRawHandle as _, FromRawHandle as _, OwnedHandle};
use std::pin::Pin;
use std::sync::{Mutex, PoisonError};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncReadExt as _, ReadBuf};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
use windows_sys::Win32::System::JobObjects::{
    AssignProcessToJobObject, CreateJobObjectW, JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE,
    JOBOBJECT_EXTENDED_LIMIT_INFORMATION, JobObjectExtendedLimitInformation, SetInformationJobObject,
    TerminateJobObject,
};

use crate::launch::{Streams, StreamsError, Transport};
use crate::stream::{Sink, Source};
use crate::tree::Signal;
use crate::user::OsUser;

/// Our end of standard input.
#[derive(Debug)]
pub(crate) struct WritePipe(ChildStdin);

impl WritePipe {
    pub(crate) fn poll_write(&mut self, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        tokio::io::AsyncWrite::poll_write(Pin::new(&mut self.0), context, bytes)
    }

    /// Called when everything is written; there is nothing to release here.
    pub(crate) fn release(&mut self) {}
}

/// Our end of standard output.
#[derive(Debug)]
pub(crate) struct ReadPipe(ChildStdout);

impl ReadPipe {
    /// Pipes cannot be read without waiting here.
    pub(crate) fn read_now(&self, _buffer: &mut [u8]) -> io::Result<usize> {
        Err(io::ErrorKind::WouldBlock.into())
    }
}

impl AsyncRead for ReadPipe {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(context, buffer)
    }
}

/// Our end of standard error, and the last chunk read from it.
#[derive(Debug)]
pub(crate) struct ErrorPipe {
    reader: tokio::sync::Mutex<ChildStderr>,
    chunk: Mutex<Chunk>,
}

#[derive(Debug)]
enum Chunk {
    None,
    Bytes(Vec<u8>),
    End,
}

/// Reads a chunk. `false` if no more can arrive.
pub(crate) async fn error_pipe_readable(pipe: &ErrorPipe) -> bool {
    let mut bytes = vec![0; 8 << 10];
    let chunk = match pipe.reader.lock().await.read(&mut bytes).await {
        Ok(0) | Err(_) => Chunk::End,
        Ok(count) => {
            bytes.truncate(count);
            Chunk::Bytes(bytes)
        }
    };
    *pipe.chunk.lock().unwrap_or_else(PoisonError::into_inner) = chunk;
    true
}

/// Takes the chunk that was read.
pub(crate) fn read_ready_error_pipe(pipe: &ErrorPipe, buffer: &mut [u8]) -> io::Result<usize> {
    let mut chunk = pipe.chunk.lock().unwrap_or_else(PoisonError::into_inner);
    match std::mem::replace(&mut *chunk, Chunk::None) {
        Chunk::None => Err(io::ErrorKind::WouldBlock.into()),
        Chunk::Bytes(bytes) => {
            for (target, byte) in buffer.iter_mut().zip(&bytes) {
                *target = *byte;
            }
            Ok(bytes.len().min(buffer.len()))
        }
        Chunk::End => Ok(0),
    }
}

/// Same as [`read_ready_error_pipe`]: what the task has not read cannot be read without waiting.
pub(crate) fn read_error_pipe(pipe: &ErrorPipe, buffer: &mut [u8]) -> io::Result<usize> {
    read_ready_error_pipe(pipe, buffer)
}

/// Hides the console window.
pub(crate) fn set_apart(command: &mut Command) {
    const CREATE_NO_WINDOW: u32 = 0x0800_0000;
    command.creation_flags(CREATE_NO_WINDOW);
}

/// There is no other user here: [`OsUser::named`] has refused.
pub(crate) fn run_as(_command: &mut Command, _user: &OsUser) {}

/// Windows has no signals.
pub(crate) fn signal(_pid: u32, _signal: Signal) -> bool {
    false
}

/// Streams that are created together with the child.
pub(crate) struct Connected;

impl Connected {
    pub(crate) fn new(transport: Transport, command: &mut Command) -> Result<Self, StreamsError> {
        if transport == Transport::Pty {
            return Err(StreamsError::NoPty);
        }
        let piped = std::process::Stdio::piped;
        command.stdin(piped()).stdout(piped()).stderr(piped());
        Ok(Self)
    }

    pub(crate) fn streams(self, child: &mut Child) -> io::Result<Streams> {
        let missing = || io::Error::other("a standard stream of the child is missing");
        let stderr = child.stderr.take().ok_or_else(missing)?;
        Ok(Streams {
            output: Source::Pipe(ReadPipe(child.stdout.take().ok_or_else(missing)?)),
            input: Sink::Pipe(WritePipe(child.stdin.take().ok_or_else(missing)?)),
            stderr: Some(ErrorPipe {
                reader: tokio::sync::Mutex::new(stderr),
                chunk: Mutex::new(Chunk::None),
            }),
        })
    }
}

/// A job object that holds the CLI and everything it starts.
#[derive(Debug)]
pub(crate) struct Group(Option<OwnedHandle>);

impl Group {
    /// Puts a child into its own job. Anything it started just before is not in it.
    pub(crate) fn of(child: &Child) -> Self {
        Self(create_job(child))
    }

    /// Ends everything in the job.
    #[expect(unsafe_code, reason = "a call to the system")]
    pub(crate) fn kill(&self) {
        if let Some(job) = &self.0 {
            // SAFETY: the handle is open for as long as `self` lives.
            unsafe { TerminateJobObject(job.as_raw_handle(), 1) };
        }
    }
}

#[expect(unsafe_code, reason = "calls to the system")]
fn create_job(child: &Child) -> Option<OwnedHandle> {
    let process = child.raw_handle()?;
    // SAFETY: both pointers may be null; the result is checked before it is taken for a handle.
    let raw = unsafe { CreateJobObjectW(std::ptr::null(), std::ptr::null()) };
    if raw.is_null() {
        return None;
    }
    // SAFETY: the handle was just created and has no other owner.
    let job = unsafe { OwnedHandle::from_raw_handle(raw) };
    let mut limits = JOBOBJECT_EXTENDED_LIMIT_INFORMATION::default();
    limits.BasicLimitInformation.LimitFlags = JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE;
    let size = u32::try_from(size_of::<JOBOBJECT_EXTENDED_LIMIT_INFORMATION>()).ok()?;
    // SAFETY: the pointer is to a structure of the given kind and size; both handles are open.
    let is_done = unsafe {
        let limits = std::ptr::from_ref(&limits).cast();
        SetInformationJobObject(job.as_raw_handle(), JobObjectExtendedLimitInformation, limits, size) != 0
            && AssignProcessToJobObject(job.as_raw_handle(), process) != 0
    };
    is_done.then_some(job)
}
