//! A repository in its own folder, a run in it, and the result of both.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tempfile::TempDir;
use weir_process::Secrets;
use weir_testkit::{begin_repository, memory_folder};

use super::player::{Player, Script};
use crate::config::{Config, parse};
use crate::instant;
use crate::machine::Wanted;
use crate::shell::{Folders, LoopOptions, Messengers, OpenOptions, Runner, open};
use crate::state::{RunEnd, RunState, load};

/// A repository with a task list.
pub(super) struct Place {
    folder: TempDir,
    original: PathBuf,
    pub(super) config: Config,
    script: Script,
    pub(super) wanted: Wanted,
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
    mails: usize,
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
        };
        let runner = Runner::new(options, opened.state, Box::new(|_, _| {}));
        let (_, state) = runner.run().await.unwrap_or_else(|error| panic!("{error}"));
        state
    }

    /// Runs to the end.
    pub(super) fn finish(&self) -> RunState {
        Self::block_on(self.run())
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
        let mails = std::fs::read_dir(self.folders().mailbox()).unwrap().count();
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
            mails,
            news: self.news(),
        }
    }
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap().map(Result::unwrap) {
        let to = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &to);
        } else {
            std::fs::copy(entry.path(), to).unwrap();
        }
    }
}

fn mode(path: &Path) -> u32 {
    std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(path).unwrap().permissions())
}
