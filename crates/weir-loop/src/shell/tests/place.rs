//! A repository in its own folder, a run in it, and the result of both.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tempfile::TempDir;
use weir_process::Secrets;
use weir_testkit::{begin_repository, memory_folder};

use super::player::{Player, Script};
use crate::config::{Config, parse};
use crate::instant;
use crate::machine::Wanted;
use crate::shell::{Folders, Handles, LoopOptions, Messengers, OpenOptions, PersonCommand, Runner, open};
use crate::state::{RunEnd, RunState, load};

/// A repository with a task list.
pub(super) struct Place {
    folder: TempDir,
    original: PathBuf,
    pub(super) config: Config,
    script: Script,
    pub(super) wanted: Wanted,
}

/// What a run changes: the workspace, and the places of gates.
const KEPT: [&str; 2] = ["work", "checks"];

/// An instant of a run: after how many changes, what the last one was, and a copy of everything, if it could
/// be made.
pub(super) struct Instant {
    pub(super) after: usize,
    pub(super) last: String,
    pub(super) copy: Option<PathBuf>,
}

/// What must be the same, no matter when the run was killed.
#[derive(Debug, PartialEq)]
pub(super) struct Outcome {
    pub(super) end: Option<RunEnd>,
    pub(super) tree: String,
    /// In the order of the branch.
    pub(super) commits: Vec<String>,
    /// Id, state, attempts that count, their cost, why it was given up, and whether its work is kept.
    pub(super) tasks: Vec<(String, String, u32, f64, Option<String>, bool)>,
    pub(super) cost: f64,
    pub(super) iterations: u32,
    /// The trees of the kept branches, by task id.
    kept: BTreeMap<String, String>,
    stashed: Vec<String>,
    worktrees: usize,
    status: String,
    learned: Vec<String>,
    list: (String, u32),
    report: bool,
    /// The notifications that were sent, without duplicates.
    pub(super) news: Vec<String>,
}

impl Place {
    pub(super) fn new(list: &str, config: &str, script: Script) -> Self {
        let folder = memory_folder().unwrap();
        let original = folder.path().join("original");
        let place =
            Self { original, folder, config: parse(config).unwrap(), script, wanted: Wanted::default() };
        std::fs::create_dir(place.workspace()).unwrap();
        for (name, text) in [("TASKS.md", list), ("README", "a repository\n"), ("weir.toml", config)] {
            std::fs::write(place.workspace().join(name), text).unwrap();
        }
        begin_repository(&place.workspace());
        copy(&place.workspace(), &place.original);
        place
    }

    /// Resets the repository to its original content.
    pub(super) fn reset(&self) {
        std::fs::remove_dir_all(self.workspace()).unwrap();
        let _ = std::fs::remove_dir_all(self.folders().checks);
        copy(&self.original, &self.workspace());
    }

    pub(super) fn workspace(&self) -> PathBuf {
        self.folder.path().join("work")
    }

    pub(super) fn folders(&self) -> Folders {
        Folders::new(self.workspace(), &self.config.folder).with_checks(self.folder.path().join("checks"))
    }

    /// Runs a future on this thread, where the instants are counted.
    fn block_on<T>(future: impl Future<Output = T>) -> T {
        tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
    }

    /// What git says about the person's tree.
    pub(super) fn status(&self) -> String {
        self.git(&["status", "--porcelain"]).trim().to_owned()
    }

    pub(super) fn git(&self, args: &[&str]) -> String {
        weir_testkit::git(&self.workspace(), args).trim_end().to_owned()
    }

    async fn run(&self) -> RunState {
        self.run_with(|_| {}).await
    }

    async fn run_with(&self, begun: impl FnOnce(Handles)) -> RunState {
        let folders = self.folders();
        let opened = open(&folders, &self.config, OpenOptions::default()).await;
        let opened = opened.unwrap_or_else(|error| panic!("{error}"));
        let options = LoopOptions {
            config: self.config.clone(),
            config_file: Some(PathBuf::from("weir.toml")),
            folders: folders.clone(),
            agent: Arc::new(Player { script: self.script, logs: folders.logs() }),
            sandbox: None,
            secrets: Secrets::new(),
            wanted: self.wanted.clone(),
            skip_permissions: false,
            messengers: Messengers::default(),
            follower: None,
        };
        let runner = Runner::new(options, opened.state, Box::new(|_, _| {}));
        begun(runner.handles());
        let (_, state) = runner.run().await.unwrap_or_else(|error| panic!("{error}"));
        state
    }

    /// Runs to the end.
    pub(super) fn finish(&self) -> RunState {
        Self::block_on(self.run())
    }

    /// Runs to the end, and keeps a copy of everything at each instant, or at some. Returns the outcome and the copies.
    pub(super) fn finish_keeping(&self, stride: usize) -> (Outcome, Vec<Instant>) {
        let instants = Rc::new(RefCell::new(Vec::new()));
        let (kept, folder) = (Rc::clone(&instants), self.folder.path().to_owned());
        instant::watch(move |after, last| {
            if (after - 1) % stride != 0 {
                return;
            }
            // A git that is at work for another task must not change what is being copied. If it waits for this thread, there is
            // no copy, and the run is killed at this instant instead.
            let copied = is_still().then(|| folder.join("instants").join(after.to_string()));
            for name in KEPT.iter().filter(|name| folder.join(name).exists()) {
                if let Some(copied) = &copied {
                    copy(&folder.join(name), &copied.join(name));
                }
            }
            kept.borrow_mut().push(Instant { after, last: last.to_owned(), copy: copied });
        });
        self.finish();
        instant::revive();
        (self.outcome(), instants.take())
    }

    /// Puts everything back as it was at an instant. The copy is used up.
    pub(super) fn put(&self, instant: &Instant) {
        let Some(copy) = &instant.copy else {
            self.reset();
            self.run_until_killed(instant.after);
            return;
        };
        for name in KEPT {
            let (from, to) = (copy.join(name), self.folder.path().join(name));
            let _ = std::fs::remove_dir_all(&to);
            if from.exists() {
                std::fs::rename(from, to).unwrap();
            }
        }
    }

    /// Runs until it is killed after this many changes. Returns the last change; `None` if the run ended before.
    pub(super) fn run_until_killed(&self, after: usize) -> Option<String> {
        instant::kill_after(after);
        let ran = catch_unwind(AssertUnwindSafe(|| self.finish()));
        let last = instant::revive();
        match (ran, last) {
            (Ok(_), None) => None,
            (_, Some(last)) => Some(last),
            (Err(panic), None) => std::panic::resume_unwind(panic),
        }
    }

    /// The same, and gives the run a command when it begins. Returns whether the command was accepted before the kill, too.
    pub(super) fn tell_until_killed(&self, after: usize, command: PersonCommand) -> (Option<String>, bool) {
        let accepted = Arc::new(AtomicBool::new(false));
        let is_accepted = Arc::clone(&accepted);
        instant::kill_after(after);
        let tell = |handles: Handles| {
            tokio::spawn(async move {
                let reply = handles.order(command).await;
                is_accepted.store(reply.is_ok(), Ordering::Relaxed);
            });
        };
        let ran = catch_unwind(AssertUnwindSafe(|| Self::block_on(self.run_with(tell))));
        let last = instant::revive();
        match (ran, &last) {
            (Err(panic), None) => std::panic::resume_unwind(panic),
            _ => (last, accepted.load(Ordering::Relaxed)),
        }
    }

    /// Whether the run has ended and its report is written.
    pub(super) fn is_over(&self) -> bool {
        let run = load(&self.folders().state()).unwrap();
        run.is_some_and(|run| run.end().is_some() && !run.is_unreported)
    }

    /// The texts of all notifications, each once: a killed run may send them twice.
    fn news(&self) -> Vec<String> {
        let files = std::fs::read_dir(self.workspace().join(".ralph/news")).into_iter().flatten();
        let paths = files.map(|file| file.unwrap().path());
        let whole = paths.filter(|path| path.extension().is_some_and(|extension| extension == "json"));
        let news = whole.map(|path| {
            let news: serde_json::Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
            news["text"].as_str().unwrap().to_owned()
        });
        let news: std::collections::BTreeSet<String> = news.collect();
        news.into_iter().collect()
    }

    pub(super) fn outcome(&self) -> Outcome {
        let run = load(&self.folders().state()).unwrap().unwrap();
        let tasks = run.tasks.iter().map(|record| {
            let failure = record.failure.as_ref().map(|failure| failure.reason.clone());
            let (id, state) = (record.task.id.to_string(), format!("{:?}", record.state));
            (id, state, record.counted(), record.cost_usd(), failure, record.kept.is_some())
        });
        let list = self.workspace().join("TASKS.md");
        let budget = run.budget();
        let branches = self.git(&["for-each-ref", "--format=%(refname:short)", "refs/heads/weir"]);
        let kept = branches.lines().map(|branch| {
            let task = branch.rsplit('/').next().unwrap_or_default();
            // The number at the end is that of sessions, and a kill adds one.
            let task = task.trim_end_matches(|letter: char| letter.is_ascii_digit() || letter == '-');
            (task.to_owned(), self.git(&["rev-parse", &format!("{branch}^{{tree}}")]))
        });
        let stashed = self.git(&["stash", "list", "--format=%T"]);
        let learned =
            std::fs::read_to_string(self.workspace().join(&self.config.progress)).unwrap_or_default();
        Outcome {
            end: run.end().cloned(),
            tree: self.git(&["rev-parse", "HEAD^{tree}"]),
            commits: self.git(&["log", "--first-parent", "--format=%s"]).lines().map(str::to_owned).collect(),
            tasks: tasks.collect(),
            cost: budget.cost_usd,
            // What a killed session has spent counts as well.
            iterations: budget.iterations
                - run.tasks.iter().flat_map(|task| &task.attempts).filter(|attempt| attempt.cut_off).count()
                    as u32,
            kept: kept.collect(),
            stashed: stashed.lines().map(str::to_owned).collect(),
            worktrees: self.git(&["worktree", "list"]).lines().count(),
            status: self.git(&["status", "--porcelain"]),
            learned: learned.lines().filter(|line| line.starts_with("- ")).map(str::to_owned).collect(),
            list: (std::fs::read_to_string(&list).unwrap(), mode(&list)),
            report: self.folders().report("html").is_file() && !run.is_unreported,
            news: self.news(),
        }
    }
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap().map(Result::unwrap) {
        let (to, kind) = (to.join(entry.file_name()), entry.file_type().unwrap());
        if kind.is_dir() {
            copy(&entry.path(), &to);
        } else if kind.is_file() {
            // A socket is left out: it has no listener after a kill.
            std::fs::copy(entry.path(), to).unwrap();
        }
    }
}

/// How long to wait for processes to end.
const MAX_WAIT: Duration = Duration::from_millis(200);

/// Waits until no process is running that could change something. Returns whether none is.
fn is_still() -> bool {
    let deadline = std::time::Instant::now() + MAX_WAIT;
    while has_children() {
        if std::time::Instant::now() >= deadline {
            return false;
        }
        std::thread::park_timeout(Duration::from_millis(1));
    }
    true
}

/// Whether a process is running that this one has started, apart from the watcher, which stays.
fn has_children() -> bool {
    let watcher = weir_process::watcher_pid().map(|pid| pid.to_string());
    let threads = std::fs::read_dir("/proc/self/task").unwrap().filter_map(Result::ok);
    let children = threads.filter_map(|thread| std::fs::read_to_string(thread.path().join("children")).ok());
    let is_alive = |pid: &str| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X']))
    };
    children
        .flat_map(|pids| pids.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
        .any(|pid| Some(&pid) != watcher.as_ref() && is_alive(&pid))
}

fn mode(path: &Path) -> u32 {
    std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(path).unwrap().permissions())
}
