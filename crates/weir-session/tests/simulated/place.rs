//! An environment for a simulated CLI, and checks of what is left of it.

use std::ops::Deref;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::Value;
use weir_process::{LogOptions, ProcessId};
use weir_session::{Observer, Session, SessionOptions};
use weir_testkit::{check_no_lock_or_record, quick_stop, raw_log_lines, simulated_claude};
use weir_wire::Line;

pub(crate) use weir_testkit::{soon, until};

/// A place with logs and state.
pub(crate) struct Place {
    place: weir_testkit::Place,
    seen: Seen,
}

impl Deref for Place {
    type Target = weir_testkit::Place;

    fn deref(&self) -> &Self::Target {
        &self.place
    }
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

impl Place {
    pub(crate) fn new() -> Self {
        // Orphans of a tool become our children instead of the machine's first process, which may not reap
        // anything in a container.
        weir_process::adopt_orphans().unwrap();
        Self { place: weir_testkit::Place::new().unwrap(), seen: Seen::default() }
    }

    /// Options for a session in this place.
    pub(crate) fn options(&self) -> SessionOptions {
        let mut options = SessionOptions::new()
            .program(simulated_claude(env!("CARGO_PKG_NAME")))
            .cwd(self.directory())
            .state_directory(self.path("state"))
            .environment(self.simulated_environment().set("SIMULATED_CLAUDE_SEED", "1"))
            .allowed_tools(["Bash"])
            .observer(self.seen.clone());
        options.log = Some(LogOptions::new(self.path("logs"), "test", "session"));
        options.limits.interrupt = Duration::from_secs(1);
        options.stop = quick_stop();
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
        let path = self.directory().join(file);
        let read = || std::fs::read_to_string(&path).ok().filter(|text| text.ends_with('\n'));
        until("the process id of a tool", || read().is_some()).await;
        let pid = read().unwrap().trim().parse().unwrap();
        ProcessId::of(pid).expect("the tool is alive")
    }

    /// Asserts that nothing is left: no process, no lock, no record, and that the raw log is complete.
    pub(crate) async fn assert_clean(&self) {
        assert_eq!(self.living(), Vec::<u32>::new(), "processes are left");
        assert_eq!(check_no_lock_or_record(&self.path("state")), Ok(()));
        self.assert_log_complete();
    }

    /// Asserts that the raw log has every byte of every line received, and nothing else.
    fn assert_log_complete(&self) {
        let logged = raw_log_lines(&self.path("logs")).unwrap();
        let seen = self.seen.0.lock().unwrap();
        assert_eq!(logged.len(), seen.len(), "lines in the log, and lines seen");
        for (logged, seen) in logged.iter().zip(seen.iter()) {
            let logged = logged.strip_suffix(b"\r").unwrap_or(logged);
            let seen = seen.strip_suffix(b"\r").unwrap_or(seen);
            assert!(logged == seen, "{}", String::from_utf8_lossy(logged));
        }
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
