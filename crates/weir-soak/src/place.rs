//! A place for one session, and checks that nothing is left in it.

use std::io;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::time::Duration;

use weir_process::{LogOptions, StopOptions, Transport};
use weir_session::SessionOptions;
use weir_testkit::{check_no_lock_or_record, quick_stop, raw_log_lines};

use crate::SIMULATED;
use crate::plan::MODEL;
use crate::recorder::Recorder;

/// How long dropped processes may take to end.
const END: Duration = Duration::from_secs(30);
/// How often to check.
const POLL: Duration = Duration::from_millis(10);

/// A place with logs and state.
pub(crate) struct Place(weir_testkit::Place);

impl Deref for Place {
    type Target = weir_testkit::Place;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl Place {
    pub(crate) fn new() -> io::Result<Self> {
        weir_testkit::Place::new().map(Self)
    }

    /// Keeps the folder, for finding out what went wrong.
    pub(crate) fn keep(self) -> PathBuf {
        self.0.keep()
    }

    /// Options for a session of the simulated CLI in this place.
    pub(crate) fn options(&self, program: &Path, version: &str, habit: Option<&str>) -> SessionOptions {
        let mut environment = self.simulated_environment().set("SIMULATED_CLAUDE_VERSION", version);
        if let Some(habit) = habit {
            environment = environment.set("SIMULATED_CLAUDE_MISBEHAVE", habit);
        }
        let mut options = SessionOptions::new()
            .program(program)
            .cwd(self.directory())
            .model(MODEL)
            .state_directory(self.path("state"))
            .environment(environment)
            .allowed_tools(["Bash"]);
        options.leading_args = vec![SIMULATED.into()];
        options.limits.starting = Some(Duration::from_secs(30));
        options.limits.model = Some(Duration::from_secs(2));
        options.limits.tool = Some(Duration::from_secs(5));
        options.limits.turn = Some(Duration::from_secs(10));
        options.limits.control = Duration::from_secs(2);
        options.limits.interrupt = Duration::from_secs(1);
        options.stop = StopOptions {
            grace: Duration::from_millis(500),
            terminate: Duration::from_millis(500),
            ..quick_stop()
        };
        options
    }

    /// The same with a log, a recorder, and the settings of a plan.
    pub(crate) fn watched(
        &self,
        mut options: SessionOptions,
        recorder: &Recorder,
        terminal: bool,
    ) -> SessionOptions {
        options.log = Some(LogOptions::new(self.path("logs"), "soak", "session"));
        if terminal {
            options.transport = Transport::Pty;
        }
        options.observer(recorder.clone())
    }

    /// Waits until no process of this place is left; names those that do not end.
    pub(crate) async fn wait_until_deserted(&self) -> Result<(), String> {
        let deadline = tokio::time::Instant::now() + END;
        loop {
            let living = self.living();
            if living.is_empty() {
                return Ok(());
            }
            if tokio::time::Instant::now() > deadline {
                return Err(format!("processes are left: {living:?}"));
            }
            tokio::time::sleep(POLL).await;
        }
    }

    /// Checks that no lock is held and no process is on record.
    pub(crate) fn check_free(&self) -> Result<(), String> {
        check_no_lock_or_record(&self.path("state"))
    }

    /// The lines in the raw logs, in order.
    pub(crate) fn logged(&self) -> io::Result<Vec<Vec<u8>>> {
        raw_log_lines(&self.path("logs"))
    }
}
