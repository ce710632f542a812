//! An environment for a simulated CLI, and checks of what is left of it.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;
use weir_process::{Environment, Lock, LogOptions, ProcessId, StopOptions};
use weir_session::{Observer, Session, SessionOptions};
use weir_wire::Line;

use crate::programs::simulated_claude;

/// Longer than any step takes, even on a busy machine.
const DEADLINE: Duration = Duration::from_secs(40);

/// A folder with a home, a workspace, logs and state.
pub(crate) struct Place {
    folder: TempDir,
    seen: Seen,
}

/// Every line that the session saw, verbatim.
#[derive(Default, Clone)]
struct Seen(Arc<Mutex<Vec<Vec<u8>>>>);

impl Observer for Seen {
    fn line(&mut self, line: &Line<'_>) {
        self.0.lock().unwrap().push(line.raw.to_vec());
    }
}

/// A prompt with a script for the simulated CLI.
pub(crate) fn script(steps: &Value) -> String {
    format!("@@{steps}")
}

/// Waits with a time limit.
pub(crate) async fn soon<F: Future>(future: F) -> F::Output {
    tokio::time::timeout(DEADLINE, future).await.expect("timed out")
}

/// Waits for a condition that can only be polled.
pub(crate) async fn until(what: &str, mut condition: impl FnMut() -> bool) {
    let started = Instant::now();
    while !condition() {
        assert!(started.elapsed() < DEADLINE, "timed out waiting for: {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

impl Place {
    pub(crate) fn new() -> Self {
        // Orphans of a tool become our children instead of the machine's first process, which may not reap
        // anything in a container.
        weir_process::adopt_orphans().unwrap();
        let folder = tempfile::tempdir().unwrap();
        for name in ["home", "work", "tmp"] {
            std::fs::create_dir(folder.path().join(name)).unwrap();
        }
        Self { folder, seen: Seen::default() }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Options for a session in this place.
    pub(crate) fn options(&self) -> SessionOptions {
        let environment = Environment::only(["PATH"])
            .set("HOME", self.path("home"))
            .set("TMPDIR", self.path("tmp"))
            .set("SIMULATED_CLAUDE_SEED", "1");
        let mut options = SessionOptions::new()
            .program(simulated_claude())
            .cwd(self.path("work"))
            .state_directory(self.path("state"))
            .environment(environment)
            .allowed_tools(["Bash"])
            .observer(self.seen.clone());
        options.log = Some(LogOptions::new(self.path("logs"), "test", "session"));
        options.limits.interrupt = Duration::from_secs(1);
        options.stop = StopOptions {
            grace: Duration::from_secs(1),
            terminate: Duration::from_secs(1),
            descendants: Duration::from_millis(200),
            kill: Duration::from_secs(20),
        };
        options
    }

    /// Like [`Place::options`], with a CLI that misbehaves from the start.
    pub(crate) fn misbehaving(&self, how: &str) -> SessionOptions {
        let mut options = self.options();
        options.environment = options.environment.set("SIMULATED_CLAUDE_MISBEHAVE", how);
        options
    }

    /// Waits for a file that a tool writes its process id to.
    pub(crate) async fn process(&self, file: &str) -> ProcessId {
        let path = self.path("work").join(file);
        let read = || std::fs::read_to_string(&path).ok().filter(|text| text.ends_with('\n'));
        until("the process id of a tool", || read().is_some()).await;
        let pid = read().unwrap().trim().parse().unwrap();
        ProcessId::of(pid).expect("the tool is alive")
    }

    /// Asserts that nothing is left: no process, no lock, no record, and that the raw log is complete.
    pub(crate) async fn assert_clean(&self) {
        assert_eq!(self.living(), Vec::<u32>::new(), "processes are left");
        let records = weir_process::leftovers(&self.path("state")).unwrap();
        assert!(records.is_empty(), "records are left: {records:?}");
        for lock in files(&self.path("state").join("locks")) {
            assert_eq!(Lock::owner(&lock), None, "{} is held", lock.display());
        }
        self.assert_log_complete();
    }

    /// Asserts that the raw log has every byte of every line received, and nothing else.
    fn assert_log_complete(&self) {
        let mut logged = Vec::new();
        let mut logs = files(&self.path("logs"));
        logs.retain(|path| path.to_string_lossy().ends_with(".ndjson"));
        logs.retain(|path| !path.to_string_lossy().ends_with(".in.ndjson"));
        logs.sort();
        for log in logs {
            let bytes = std::fs::read(&log).unwrap();
            let whole = bytes.strip_suffix(b"\n").unwrap_or(&bytes);
            if !bytes.is_empty() {
                logged.extend(whole.split(|byte| *byte == b'\n').map(<[u8]>::to_vec));
            }
        }
        let seen = self.seen.0.lock().unwrap();
        assert_eq!(logged.len(), seen.len(), "lines in the log, and lines seen");
        for (logged, seen) in logged.iter().zip(seen.iter()) {
            let logged = logged.strip_suffix(b"\r").unwrap_or(logged);
            let seen = seen.strip_suffix(b"\r").unwrap_or(seen);
            assert!(logged == seen, "{}", String::from_utf8_lossy(logged));
        }
    }

    /// The live processes of this place, found by their home.
    pub(crate) fn living(&self) -> Vec<u32> {
        let home = format!("HOME={}\0", self.path("home").display());
        let mut living = Vec::new();
        for entry in std::fs::read_dir("/proc").unwrap().flatten() {
            let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
            let environment = std::fs::read(entry.path().join("environ")).unwrap_or_default();
            if environment.windows(home.len()).any(|part| part == home.as_bytes()) {
                living.push(pid);
            }
        }
        living
    }
}

/// The process of a session.
pub(crate) async fn cli(session: &Session) -> ProcessId {
    let pid = session.facts().await.unwrap().pid.expect("a process is running");
    ProcessId::of(pid).expect("it is alive")
}

/// Waits until a turn is running.
pub(crate) async fn running(session: &Session) {
    let mut updates = session.follow().await.unwrap();
    while session.view().await.unwrap().status != weir_transcript::Status::Running {
        soon(updates.next()).await.expect("the session is alive");
    }
}

/// Whether the process is gone and not a zombie either.
pub(crate) fn is_reaped(id: ProcessId) -> bool {
    ProcessId::of(id.pid) != Some(id)
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    entries.flatten().map(|entry| entry.path()).collect()
}
