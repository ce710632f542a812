//! A place for a test: temporary folders and a CLI.

use std::ffi::OsString;
use std::io::Write as _;
use std::ops::Deref;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Instant;

use serde_json::Value;
use weir_testkit::blocking::until;
use weir_testkit::{DEADLINE, Leftover, processes_where};

use super::Running;

/// The exit code and output of a run.
pub(crate) struct Done {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: String,
}

impl std::fmt::Debug for Done {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let stdout = String::from_utf8_lossy(&self.stdout);
        write!(f, "exit {:?}\n--- stdout\n{stdout}\n--- stderr\n{}\n---", self.code, self.stderr)
    }
}

impl Done {
    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.stdout).unwrap()
    }

    /// The standard output as one JSON value.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The standard output as one JSON value per line.
    pub(crate) fn json_lines(&self) -> Vec<Value> {
        self.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// Checks the exit code and returns the run.
    #[track_caller]
    pub(crate) fn expect(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{self:#?}");
        self
    }
}

/// A place with a workspace and a CLI. A process that is still running at the end fails the test.
pub(crate) struct Place {
    place: weir_testkit::Place,
    environment: Vec<(OsString, OsString)>,
    umask: Option<&'static str>,
    /// Whether a write beyond the file size limit fails instead of killing the process.
    survives_file_limit: bool,
}

impl Deref for Place {
    type Target = weir_testkit::Place;

    fn deref(&self) -> &Self::Target {
        &self.place
    }
}

impl Place {
    pub(crate) fn new() -> Self {
        let place = weir_testkit::Place::new().unwrap();
        std::fs::create_dir(place.path("workspace")).unwrap();
        // Under this name the program acts as the simulated CLI.
        let claude = place.path("simulated-claude");
        std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_weir"), &claude).unwrap();
        let environment = vec![
            ("HOME".into(), place.home().into_os_string()),
            ("PATH".into(), std::env::var_os("PATH").unwrap()),
            ("WEIR_CLAUDE".into(), claude.into_os_string()),
            ("SIMULATED_CLAUDE_PACE".into(), "0".into()),
            ("TERM".into(), "xterm-256color".into()),
        ];
        Self { place, environment, umask: None, survives_file_limit: false }
    }

    /// Sets a variable for processes started from now on.
    pub(crate) fn set(mut self, name: &str, value: impl Into<OsString>) -> Self {
        self.environment.retain(|(known, _)| known != name);
        self.environment.push((name.into(), value.into()));
        self
    }

    pub(crate) fn without(mut self, name: &str) -> Self {
        self.environment.retain(|(known, _)| known != name);
        self
    }

    /// Sets the umask of processes started from now on, such as `022`.
    pub(crate) fn umask(mut self, umask: &'static str) -> Self {
        self.umask = Some(umask);
        self
    }

    /// In processes started from now on, a write beyond the file size limit fails instead of killing the process.
    pub(crate) fn survives_file_limit(mut self) -> Self {
        self.survives_file_limit = true;
        self
    }

    pub(crate) fn environment(&self) -> &[(OsString, OsString)] {
        &self.environment
    }

    pub(crate) fn workspace(&self) -> PathBuf {
        self.path("workspace")
    }

    pub(crate) fn state(&self) -> PathBuf {
        self.path("home/.local/state/weir")
    }

    /// `weir` with these arguments, not yet started. Its standard input is empty.
    #[expect(
        clippy::disallowed_methods,
        reason = "the program itself is under test; every caller waits for it"
    )]
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let weir = env!("CARGO_BIN_EXE_weir");
        let umask = self.umask.map(|umask| format!("umask {umask}; "));
        let ignored = self.survives_file_limit.then(|| "trap '' XFSZ; ".to_owned());
        let before: String = umask.into_iter().chain(ignored).collect();
        let mut command = if before.is_empty() {
            Command::new(weir)
        } else {
            let mut shell = Command::new("/bin/sh");
            shell.args(["-c", &format!("{before}exec \"$@\""), "sh", weir]);
            shell
        };
        command.args(args).env_clear().envs(self.environment.iter().cloned());
        command.current_dir(self.workspace()).stdin(Stdio::null());
        command
    }

    pub(crate) fn weir(&self, args: &[&str]) -> Done {
        Running::start(self.command(args)).finish()
    }

    /// Runs `weir` with this standard input.
    pub(crate) fn weir_input(&self, args: &[&str], input: &str) -> Done {
        let mut command = self.command(args);
        command.stdin(Stdio::piped());
        let mut running = Running::start(command);
        // If the program stops reading early, its exit code shows it.
        let _ = running.input().write_all(input.as_bytes());
        running.close_input();
        running.finish()
    }

    /// The command of `nohup`: SIGHUP is ignored.
    #[expect(
        clippy::disallowed_methods,
        reason = "the program itself is under test; every caller waits for it"
    )]
    pub(crate) fn command_without_hangups(&self, args: &[&str]) -> Command {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", "trap '' HUP; exec \"$@\"", "sh", env!("CARGO_BIN_EXE_weir")]).args(args);
        command.env_clear().envs(self.environment.iter().cloned());
        command.current_dir(self.workspace()).stdin(Stdio::null());
        command
    }

    /// Waits until this file or folder exists.
    #[track_caller]
    pub(crate) fn wait_for_file(&self, name: &str) {
        until(name, || self.path(name).exists());
    }

    /// Waits until this is true.
    #[track_caller]
    pub(crate) fn wait_until(&self, what: &str, is_true: impl Fn() -> bool) {
        until(what, is_true);
    }

    /// Processes that were started here and are still running, also if they have another home.
    fn left(&self) -> Vec<Leftover> {
        let ours = self.root().as_os_str().as_encoded_bytes();
        processes_where(|environment| environment.windows(ours.len()).any(|window| window == ours))
    }

    /// Waits until all processes started here have ended.
    #[track_caller]
    pub(crate) fn wait_until_empty(&self) {
        let started = Instant::now();
        loop {
            let left = self.left();
            if left.is_empty() {
                return;
            }
            assert!(started.elapsed() < DEADLINE, "still running: {left:?}");
            super::breathe();
        }
    }

    /// Checks that no process, lock or process record is left.
    #[track_caller]
    pub(crate) fn assert_clean(&self) {
        self.wait_until_empty();
        for name in ["locks", "processes"] {
            let files = std::fs::read_dir(self.state().join(name));
            let files: Vec<_> = files.into_iter().flatten().map(|file| file.unwrap().path()).collect();
            assert!(files.is_empty(), "{files:?}");
        }
    }
}
