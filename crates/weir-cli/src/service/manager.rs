//! The system's service manager, as data: the path of its file and the commands to run.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context as _, bail};
use weir_process::{CommandOutput, PlainCommand};

use super::definition::Definition;

/// How long a command may take. Starting and stopping wait for the server.
const PATIENCE: Duration = Duration::from_secs(90);

/// How one system manages a user's services.
pub(super) struct Manager {
    /// The path of the service's unit file.
    pub(super) file: PathBuf,
    /// Renders the unit file.
    pub(super) render: fn(&Definition) -> String,
    /// Starts the service, or restarts it with a new unit file.
    pub(super) start: Vec<Step>,
    /// Stops it and keeps it from starting again.
    pub(super) stop: Vec<Step>,
    /// Commands to run after the file was removed.
    pub(super) forget: Vec<Step>,
    /// Succeeds while the service is running.
    pub(super) is_running: Step,
    /// The command that shows its log.
    pub(super) logs: &'static str,
    /// A note for the user.
    pub(super) note: Option<&'static str>,
}

/// One command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Step {
    program: &'static str,
    arguments: Vec<String>,
    may_fail: bool,
}

impl Step {
    /// A command that must succeed.
    pub(super) fn new(program: &'static str, arguments: &[&str]) -> Self {
        let arguments = arguments.iter().map(|&argument| argument.to_owned()).collect();
        Self { program, arguments, may_fail: false }
    }

    /// A command whose failure is ignored.
    pub(super) fn may_fail(mut self) -> Self {
        self.may_fail = true;
        self
    }

    fn words(&self) -> String {
        format!("{} {}", self.program, self.arguments.join(" "))
    }

    /// Runs it; a failure includes its error output.
    pub(super) async fn run(&self) -> anyhow::Result<()> {
        let output = self.output().await?;
        if output.is_success() || self.may_fail {
            return Ok(());
        }
        bail!("`{}` failed ({}): {}", self.words(), output.exit, output.stderr.text().trim());
    }

    /// Whether it succeeds.
    pub(super) async fn succeeds(&self) -> anyhow::Result<bool> {
        Ok(self.output().await?.is_success())
    }

    async fn output(&self) -> anyhow::Result<CommandOutput> {
        let mut command = PlainCommand::new(self.program).args(self.arguments.iter().cloned());
        command.leaves_nothing = true;
        command.timeout = Some(PATIENCE);
        command.run().await.with_context(|| {
            format!(
                "cannot run {}; `weir service install --print` shows the unit for another manager",
                self.program
            )
        })
    }
}
