//! Runs a program to completion and captures its output, for queries such as `--version`.

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::time::timeout;
use weir_wire::Frame;

use crate::environment::Environment;
use crate::exit::{Exit, StopOptions};
use crate::launch::{Launch, SpawnError};

/// Output beyond this size is discarded. Far larger than any expected output.
const MAX_OUTPUT: usize = 1 << 20;

/// What a program printed.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) text: String,
    pub(crate) stderr: String,
    pub(crate) exit: Exit,
}

/// Why a program gave no usable output.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BriefError {
    #[error(transparent)]
    Spawn(#[from] SpawnError),
    #[error("it did not end within {} seconds", .0.as_secs_f32())]
    TooSlow(Duration),
    #[error("its output could not be read: {0}")]
    Read(#[from] io::Error),
}

/// Runs a program with empty input. No process is left behind, whatever happens.
pub(crate) async fn ask(
    program: &Path,
    args: &[impl AsRef<OsStr>],
    environment: &Environment,
    patience: Duration,
) -> Result<Answer, BriefError> {
    let mut launch = Launch::new(PathBuf::from(program)).args(args.iter().map(|arg| arg.as_ref().to_owned()));
    launch.environment = environment.clone();
    let mut process = launch.spawn().await?;
    process.input.close();
    let answer = timeout(patience, async {
        let mut text = Vec::new();
        loop {
            let more = process.output.fill().await?;
            while let Some(Frame::Line(line) | Frame::Oversize { head: line, .. }) =
                process.output.next_frame()
            {
                if text.len() + line.len() < MAX_OUTPUT {
                    text.extend_from_slice(line);
                    text.push(b'\n');
                }
            }
            if !more {
                break;
            }
        }
        let exit = process.handle.wait().await;
        let text = String::from_utf8_lossy(&text).into_owned();
        io::Result::Ok(Answer { text, stderr: process.handle.stderr_tail(), exit })
    })
    .await;
    process.handle.stop(&StopOptions::now()).await;
    match answer {
        Ok(answer) => Ok(answer?),
        Err(_) => Err(BriefError::TooSlow(patience)),
    }
}
