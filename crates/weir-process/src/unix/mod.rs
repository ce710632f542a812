//! Pipes, terminals and signals on Unix.

mod child;
mod large;
mod pipes;
mod terminal;

#[cfg(target_os = "linux")]
pub(crate) use child::native;
pub(crate) use child::{Connected, Group, run_as, set_apart, signal};
pub(crate) use pipes::{
    ErrorPipe, ReadPipe, WritePipe, error_pipe_readable, read_error_pipe, read_ready_error_pipe,
};
pub(crate) use terminal::Terminal;
