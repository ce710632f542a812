//! A folder for one session, and checks that nothing is left in it.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tempfile::TempDir;
use weir_process::{Environment, Lock, LogOptions, StopOptions, Transport};
use weir_session::SessionOptions;

use crate::SIMULATED;
use crate::plan::MODEL;
use crate::recorder::Recorder;

/// How long dropped processes may take to end.
const END: Duration = Duration::from_secs(30);
/// How often to check.
const POLL: Duration = Duration::from_millis(10);

/// A folder with a home, a workspace, logs and state.
pub(crate) struct Place {
    folder: TempDir,
}

impl Place {
    pub(crate) fn new() -> io::Result<Self> {
        let folder = tempfile::Builder::new().prefix("weir-soak-").tempdir()?;
        for name in ["home", "work", "tmp"] {
            std::fs::create_dir(folder.path().join(name))?;
        }
        Ok(Self { folder })
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Keeps the folder, for finding out what went wrong.
    pub(crate) fn keep(self) -> PathBuf {
        self.folder.keep()
    }

    /// Options for a session of the simulated CLI in this place.
    pub(crate) fn options(&self, program: &Path, version: &str, habit: Option<&str>) -> SessionOptions {
        let mut environment = Environment::only(["PATH"])
            .set("HOME", self.path("home"))
            .set("TMPDIR", self.path("tmp"))
            .set("SIMULATED_CLAUDE_VERSION", version);
        if let Some(habit) = habit {
            environment = environment.set("SIMULATED_CLAUDE_MISBEHAVE", habit);
        }
        let mut options = SessionOptions::new()
            .program(program)
            .cwd(self.path("work"))
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
            descendants: Duration::from_millis(200),
            kill: Duration::from_secs(20),
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

    /// The living processes of this place, found by their home.
    pub(crate) fn living(&self) -> Vec<u32> {
        let home = format!("HOME={}", self.path("home").display());
        let mut living = Vec::new();
        for entry in std::fs::read_dir("/proc").into_iter().flatten().flatten() {
            let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
            let environment = std::fs::read(entry.path().join("environ")).unwrap_or_default();
            if environment.split(|byte| *byte == 0).any(|variable| variable == home.as_bytes()) {
                living.push(pid);
            }
        }
        living
    }

    /// Checks that no lock is held and no process is on record.
    pub(crate) fn check_free(&self) -> Result<(), String> {
        let records = weir_process::leftovers(&self.path("state")).map_err(|error| error.to_string())?;
        if !records.is_empty() {
            return Err(format!("records are left: {records:?}"));
        }
        for lock in files(&self.path("state").join("locks")) {
            if let Some(owner) = Lock::owner(&lock) {
                return Err(format!("{} is held by {owner:?}", lock.display()));
            }
        }
        Ok(())
    }

    /// The lines in the raw logs, in order.
    pub(crate) fn logged(&self) -> io::Result<Vec<Vec<u8>>> {
        let mut logs = files(&self.path("logs"));
        let is_output = |path: &PathBuf| {
            let name = path.to_string_lossy();
            name.ends_with(".ndjson") && !name.ends_with(".in.ndjson")
        };
        logs.retain(is_output);
        logs.sort();
        let mut lines = Vec::new();
        for log in logs {
            let bytes = std::fs::read(&log)?;
            let whole = bytes.strip_suffix(b"\n").unwrap_or(&bytes);
            if !bytes.is_empty() {
                lines.extend(whole.split(|byte| *byte == b'\n').map(<[u8]>::to_vec));
            }
        }
        Ok(lines)
    }
}

fn files(folder: &Path) -> Vec<PathBuf> {
    std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect()
}
