//! Nothing in a folder runs before a person has trusted it.

use std::path::Path;
use std::sync::Arc;

use serde_json::json;
use weir_session::{FolderTrust, Session, SessionOptions};
use weir_testkit::api::ScriptedApi;
use weir_testkit::scenario::{Cli, Process};
use weir_testkit::{Place, git};
use weir_trust::{TrustFile, scan};

use crate::host::Host;
use crate::options::options;
use crate::recorder::Recorder;

/// What the folder's own instructions tell the model.
const MEMORY: &str = "the-mill-turns-left";

/// Fills a folder with everything that runs by itself. Each item leaves a file in `ran`.
fn booby_trap(folder: &Path, ran: &Path) {
    let touch = |name: &str| format!("touch {}", ran.join(name).display());
    let hooks = |name: &str| {
        json!({"hooks": {
            "SessionStart": [{"hooks": [{"type": "command", "command": touch(&format!("{name}-start"))}]}],
            "UserPromptSubmit": [{"hooks": [{"type": "command", "command": touch(&format!("{name}-prompt"))}]}],
        }})
    };
    let server = json!({"mcpServers": {"trap": {"command": "sh", "args": ["-c", touch("mcp")]}}});
    for (file, text) in [
        (".claude/settings.json", hooks("project").to_string()),
        (".claude/settings.local.json", hooks("local").to_string()),
        (".mcp.json", server.to_string()),
        ("CLAUDE.md", MEMORY.to_owned()),
    ] {
        let file = folder.join(file);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, text).unwrap();
    }
}

fn ran(folder: &Path) -> Vec<String> {
    let files = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().file_name());
    let mut files: Vec<String> = files.map(|name| name.to_string_lossy().into_owned()).collect();
    files.sort();
    files
}

struct Trap {
    place: Place,
    api: ScriptedApi,
    cli: Cli,
    ran: std::path::PathBuf,
}

impl Trap {
    fn new(cli: Cli) -> Self {
        let (place, api) = (Place::new().unwrap(), ScriptedApi::start().unwrap());
        let ran = place.root().join("ran");
        std::fs::create_dir(&ran).unwrap();
        booby_trap(&place.directory(), &ran);
        Self { place, api, cli, ran }
    }

    fn options(&self) -> SessionOptions {
        let process = Process::default();
        let host = Host::new(&process);
        options((&self.cli, &self.place, &self.api), &process, "", &host, &Recorder::default())
    }

    /// Sends a prompt with this trust. Returns what ran, and whether the model received the folder's
    /// instructions.
    async fn ask(&self, trust: FolderTrust) -> (Vec<String>, bool) {
        for file in ran(&self.ran) {
            std::fs::remove_file(self.ran.join(file)).unwrap();
        }
        let before = self.api.requests().len();
        let mut options = self.options();
        options.folder.trust = trust;
        let session = Session::new(options);
        session.ask("hello").await.unwrap();
        session.stop().await;
        let requests = self.api.requests();
        let is_told = requests.iter().skip(before).any(|request| request.body.to_string().contains(MEMORY));
        (ran(&self.ran), is_told)
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_folder_runs_nothing_until_a_person_trusts_it() {
    for cli in crate::real_clis().into_iter().map(Cli::from) {
        let trap = Trap::new(cli);
        let cli = &trap.cli;
        let folder = trap.place.directory().canonicalize().unwrap();
        let file = Arc::new(TrustFile::new(trap.place.root().join("trust.json")));
        let remembered = || FolderTrust::Remembered(Arc::clone(&file));

        assert_eq!(trap.ask(FolderTrust::LeaveOut).await, (vec![], false), "{cli}");
        assert_eq!(trap.ask(remembered()).await, (vec![], false), "{cli}: it is not trusted");

        file.trust(&folder, &scan(&folder, None).unwrap(), "ann", 0).unwrap();
        let (everything, is_told) = trap.ask(remembered()).await;
        assert!(is_told && everything.len() >= 4, "{cli}: trusted, but only {everything:?} ran");

        std::fs::write(folder.join(".claude/settings.json"), "{\"apiKeyHelper\": \"touch /nowhere\"}")
            .unwrap();
        assert_eq!(trap.ask(remembered()).await, (vec![], false), "{cli}: it has changed");
    }
}

/// Newer versions run scheduled prompts of the folder as turns of the session.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn prompts_scheduled_in_a_folder_run_only_after_a_person_has_trusted_it() {
    const PROMPT: &str = "the-mill-turns-by-itself";
    let Some(newest) = crate::real_clis().into_iter().max_by_key(|cli| cli.version) else { return };
    let trap = Trap::new(Cli::from(newest));
    let folder = trap.place.directory().canonicalize().unwrap();
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_millis();
    let created = u64::try_from(now).unwrap() - 120_000;
    let task = json!({"id": "0f789ee5", "cron": "* * * * *", "prompt": PROMPT, "createdAt": created, "recurring": true});
    std::fs::write(folder.join(".claude/scheduled_tasks.json"), json!({"tasks": [task]}).to_string())
        .unwrap();
    let is_told =
        |words: &str| trap.api.requests().iter().any(|request| request.body.to_string().contains(words));
    let file = Arc::new(TrustFile::new(trap.place.root().join("trust.json")));
    let session = || {
        let mut options = trap.options();
        options.folder.trust = FolderTrust::Remembered(Arc::clone(&file));
        Session::new(options)
    };

    let untrusted = session();
    for _ in 0..3 {
        untrusted.ask("hello").await.unwrap();
    }
    untrusted.stop().await;
    assert!(!is_told(PROMPT), "an untrusted folder started a turn");
    assert!(!is_told("CronCreate\\nCronDelete"), "the schedule is not switched off");

    let found = scan(&folder, None).unwrap();
    assert!(found.items.iter().any(|item| item.what.contains(PROMPT)), "{found:?}");
    file.trust(&folder, &found, "ann", 0).unwrap();
    let trusted = session();
    trusted.ask("hello").await.unwrap();
    weir_testkit::until("the scheduled prompt", || is_told(PROMPT)).await;
    assert!(is_told("CronCreate\\nCronDelete"), "the list of tools has another form");
    trusted.stop().await;
}

/// Creates a repository with a file that git has to compare again, and that names a program for that.
fn lure(folder: &Path, lure: Lure, run: &str) {
    std::fs::write(folder.join("file"), "one").unwrap();
    git(folder, &["init", "-q"]);
    git(folder, &["add", "file"]);
    let config = folder.join(".git/config");
    let add = |text: String| {
        let before = std::fs::read_to_string(&config).unwrap();
        std::fs::write(&config, before + &text).unwrap();
    };
    match lure {
        Lure::Monitor => add(format!("[core]\nfsmonitor = \"{run}; false\"\n")),
        Lure::Filter => {
            std::fs::write(folder.join(".gitattributes"), "* filter=a]b\n").unwrap();
            add(format!("[filter \"a]b\"] clean = \"{run}; cat\"\n"));
        }
        Lure::Hook => {
            use std::os::unix::fs::PermissionsExt as _;
            let hook = folder.join(".git/hooks/post-index-change");
            std::fs::create_dir_all(hook.parent().unwrap()).unwrap();
            std::fs::write(&hook, format!("#!/bin/sh\n{run}\n")).unwrap();
            std::fs::set_permissions(&hook, std::fs::Permissions::from_mode(0o755)).unwrap();
        }
    }
    // Different bytes of the same length, at another time: git has to read the file.
    std::fs::write(folder.join("file"), "two").unwrap();
    let file = std::fs::File::options().write(true).open(folder.join("file")).unwrap();
    file.set_modified(std::time::SystemTime::UNIX_EPOCH).unwrap();
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Lure {
    Monitor,
    Filter,
    Hook,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_repository_makes_git_run_nothing() {
    for cli in crate::real_clis().into_iter().map(Cli::from) {
        for way in [Lure::Monitor, Lure::Filter, Lure::Hook] {
            let trap = Trap::new(cli.clone());
            let (cli, folder) = (&trap.cli, trap.place.directory());
            std::fs::remove_dir_all(folder.join(".claude")).unwrap();
            std::fs::remove_file(folder.join(".mcp.json")).unwrap();
            lure(&folder, way, &format!("touch {}", trap.ran.join("git").display()));
            let mut options = trap.options();
            options.folder.trust = FolderTrust::LeaveOut;
            let session = Session::new(options);
            // The CLI runs this without asking, and older versions run it at startup.
            let status = json!({"tool": "Bash", "input": {"command": "git status", "description": "looks"}});
            let answer = session.ask(format!("@@{}", json!([status, {"text": "looked"}]))).await;
            session.stop().await;
            assert_eq!(ran(&trap.ran), Vec::<String>::new(), "{cli}: {way:?}");
            // If it cannot be switched off, the CLI is not started, and the error says why.
            match answer {
                Ok(_) => assert_ne!(way, Lure::Filter, "{cli}"),
                Err(error) => {
                    assert!(
                        way == Lure::Filter && error.to_string().contains("git configuration"),
                        "{cli}: {error}"
                    );
                }
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_long_system_prompt_reaches_the_model_but_is_not_an_argument() {
    for cli in crate::real_clis().into_iter().map(Cli::from) {
        let trap = Trap::new(cli);
        let cli = &trap.cli;
        let long = format!("{}the-last-words-of-the-prompt", "reeds and rushes ".repeat(12_000));
        for append in [false, true] {
            let mut options = trap.options();
            let prompt =
                if append { &mut options.spec.append_system_prompt } else { &mut options.spec.system_prompt };
            *prompt = Some(long.clone());
            let session = Session::new(options);
            session.start().await.unwrap();
            let pid = session.facts().await.unwrap().pid.unwrap();
            let arguments = std::fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap();
            assert!(!arguments.contains("reeds"), "{cli}");
            let before = trap.api.requests().len();
            session.ask("hello").await.unwrap();
            session.stop().await;
            let requests = trap.api.requests();
            let mut new = requests.iter().skip(before);
            assert!(
                new.any(|request| request.body.to_string().contains("the-last-words-of-the-prompt")),
                "{cli}"
            );
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_link_that_leads_out_of_the_roots_starts_nothing() {
    let cli = Cli::from(crate::real_clis().remove(0));
    let trap = Trap::new(cli);
    let root = trap.place.root().canonicalize().unwrap();
    let (inside, outside) = (root.join("inside"), root.join("outside"));
    std::fs::create_dir_all(inside.join("project")).unwrap();
    std::fs::create_dir_all(&outside).unwrap();
    let mut options = trap.options();
    options.cwd = Some(inside.join("link"));
    options.folder.roots = vec![inside.clone()];
    options.keep_process = false;
    std::os::unix::fs::symlink(inside.join("project"), inside.join("link")).unwrap();
    let session = Session::new(options);
    session.ask("hello").await.unwrap();
    std::fs::remove_file(inside.join("link")).unwrap();
    std::os::unix::fs::symlink(&outside, inside.join("link")).unwrap();
    let error = session.ask("hello").await.unwrap_err();
    assert!(error.to_string().contains("is not inside a folder"), "{error}");
    session.stop().await;
}
