//! What happens when the host itself is killed.
//!
//! Each test runs itself again as the host: that process starts a CLI with a tool, reports their pids, and
//! waits to be killed.

use std::path::{Path, PathBuf};
use std::time::Duration;

use weir_process::{Launch, Lock, LogOptions, Process, ProcessId, StopOptions, adopt_orphans};

use crate::support::{RUNAWAY, announced, ended, line, script, soon, start_runaway};

const FOLDER: &str = "WEIR_TEST_HOST_FOLDER";

/// A CLI that does not end when its input closes, and a tool that ignores everything but SIGKILL.
const STUBBORN: &str = "trap '' HUP TERM; echo $$; \
    setsid sh -c 'trap \"\" HUP TERM INT; echo $$; while :; do sleep 0.02; done' & \
    while :; do sleep 0.02; done";

/// The folder, if this process plays the host.
fn role() -> Option<PathBuf> {
    std::env::var_os(FOLDER).map(PathBuf::from)
}

/// Starts this test again, as the host.
async fn host(test: &str, folder: &Path) -> Process {
    let mut launch = Launch::new(std::env::current_exe().unwrap());
    launch = launch.args(["--exact", test, "--nocapture", "--test-threads=1"]);
    launch.environment = launch.environment.set(FOLDER, folder);
    launch.spawn().await.unwrap()
}

/// Reports a process to the test. The test runner writes to the same stream.
fn tell(what: &str, id: ProcessId) {
    println!("\n{what}={}", id.pid);
}

/// A process that the host reported.
async fn told(host: &mut Process, what: &str) -> ProcessId {
    loop {
        if let Some(pid) = line(&mut host.output).await.strip_prefix(&format!("{what}=")) {
            return ProcessId::of(pid.parse().unwrap()).expect("the reported process is alive");
        }
    }
}

async fn start_stubborn(folder: &Path) -> Process {
    let mut launch = script(STUBBORN);
    launch.state_directory = Some(folder.to_owned());
    launch.purpose = "a test".to_owned();
    launch.log = Some(LogOptions::new(folder.join("logs"), "run", "host"));
    let mut process = launch.spawn().await.unwrap();
    tell("cli", announced(&mut process.output).await);
    tell("tool", announced(&mut process.output).await);
    process
}

#[tokio::test]
async fn everything_ends_when_the_host_is_killed() {
    if let Some(folder) = role() {
        let _lock = Lock::acquire(&folder.join("lock"), "the host").unwrap();
        let _process = start_stubborn(&folder).await;
        tell("watcher", ProcessId::of(weir_process::watcher_pid().unwrap()).unwrap());
        return std::future::pending().await;
    }
    let folder = tempfile::tempdir().unwrap();
    let mut host = host("hosts::everything_ends_when_the_host_is_killed", folder.path()).await;
    let cli = told(&mut host, "cli").await;
    let tool = told(&mut host, "tool").await;
    let watcher = told(&mut host, "watcher").await;
    assert!(Lock::acquire(&folder.path().join("lock"), "us").is_err());

    assert!(host.handle.kill());
    soon(host.handle.wait()).await;
    ended(cli).await;
    ended(tool).await;
    ended(watcher).await;
    // The system has released the lock, and the next start finds nothing left.
    Lock::acquire(&folder.path().join("lock"), "us").unwrap();
    assert!(weir_process::leftovers(folder.path()).unwrap().is_empty());
    let records = std::fs::read_dir(folder.path().join("processes")).unwrap().count();
    assert_eq!(records, 0);
}

#[tokio::test]
async fn the_watcher_ends_by_itself_with_a_host_that_exits_normally() {
    if let Some(folder) = role() {
        let mut process = start_stubborn(&folder).await;
        tell("watcher", ProcessId::of(weir_process::watcher_pid().unwrap()).unwrap());
        let mut word = String::new();
        std::io::stdin().read_line(&mut word).unwrap();
        process.handle.stop(&StopOptions::now()).await;
        assert_eq!(std::fs::read_dir(folder.join("processes")).unwrap().count(), 0);
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let mut host =
        host("hosts::the_watcher_ends_by_itself_with_a_host_that_exits_normally", folder.path()).await;
    let cli = told(&mut host, "cli").await;
    let tool = told(&mut host, "tool").await;
    let watcher = told(&mut host, "watcher").await;
    host.input.queue(b"go");
    host.input.flush().await.unwrap();
    assert!(soon(host.handle.wait()).await.is_success());
    for id in [cli, tool, watcher] {
        ended(id).await;
    }
}

#[tokio::test]
async fn the_next_start_finds_and_ends_leftovers() {
    if let Some(folder) = role() {
        let _process = start_stubborn(&folder).await;
        tell("watcher", ProcessId::of(weir_process::watcher_pid().unwrap()).unwrap());
        return std::future::pending().await;
    }
    let folder = tempfile::tempdir().unwrap();
    let mut host = host("hosts::the_next_start_finds_and_ends_leftovers", folder.path()).await;
    let cli = told(&mut host, "cli").await;
    let tool = told(&mut host, "tool").await;
    let watcher = told(&mut host, "watcher").await;
    // While the host is alive, the processes it has started are its own business.
    assert!(weir_process::leftovers(folder.path()).unwrap().is_empty());

    // The worst case: host and watcher are killed at once.
    kill(watcher).await;
    assert!(host.handle.kill());
    let host_id = host.handle.id().unwrap();
    soon(host.handle.wait()).await;
    assert!(cli.is_alive() && tool.is_alive());

    let leftovers = weir_process::leftovers(folder.path()).unwrap();
    assert_eq!(leftovers.len(), 1);
    assert_eq!((leftovers[0].host, leftovers[0].purpose.as_str()), (host_id, "a test"));
    assert!(leftovers[0].processes.contains(&cli) && leftovers[0].processes.contains(&tool));
    let options = StopOptions { terminate: Duration::from_millis(50), ..StopOptions::default() };
    assert_eq!(soon(weir_process::end_leftovers(leftovers, &options)).await, []);
    assert!(!cli.is_alive() && !tool.is_alive());
    assert!(weir_process::leftovers(folder.path()).unwrap().is_empty());
}

/// A host with a tool that does everything it can to escape.
async fn play_runaway(folder: &Path) {
    let mut launch = script(RUNAWAY);
    launch.state_directory = Some(folder.to_owned());
    let (process, tool) = start_runaway(launch).await;
    tell("cli", process.handle.id().unwrap());
    tell("tool", tool);
    tell("watcher", ProcessId::of(weir_process::watcher_pid().unwrap()).unwrap());
    std::future::pending::<()>().await;
}

#[tokio::test]
async fn an_orphan_without_an_environment_ends_when_the_host_is_killed() {
    if let Some(folder) = role() {
        return play_runaway(&folder).await;
    }
    let folder = tempfile::tempdir().unwrap();
    let test = "hosts::an_orphan_without_an_environment_ends_when_the_host_is_killed";
    let mut host = host(test, folder.path()).await;
    let cli = told(&mut host, "cli").await;
    let tool = told(&mut host, "tool").await;
    let watcher = told(&mut host, "watcher").await;
    assert!(host.handle.kill());
    soon(host.handle.wait()).await;
    for id in [cli, tool, watcher] {
        ended(id).await;
    }
}

#[tokio::test]
async fn an_orphan_without_an_environment_is_found_by_the_next_start() {
    if let Some(folder) = role() {
        return play_runaway(&folder).await;
    }
    let folder = tempfile::tempdir().unwrap();
    let test = "hosts::an_orphan_without_an_environment_is_found_by_the_next_start";
    let mut host = host(test, folder.path()).await;
    let tool = told(&mut host, "tool").await;
    let watcher = told(&mut host, "watcher").await;
    kill(watcher).await;
    assert!(host.handle.kill());
    soon(host.handle.wait()).await;
    assert!(tool.is_alive());
    let leftovers = weir_process::leftovers(folder.path()).unwrap();
    assert!(leftovers.iter().any(|leftover| leftover.processes.contains(&tool)), "{leftovers:?}");
    let options = StopOptions { terminate: Duration::from_millis(50), ..StopOptions::default() };
    assert_eq!(soon(weir_process::end_leftovers(leftovers, &options)).await, []);
    assert!(!tool.is_alive());
}

/// Kills a process that is not our child.
async fn kill(id: ProcessId) {
    let mut process = script(&format!("kill -KILL {}", id.pid)).spawn().await.unwrap();
    assert!(soon(process.handle.wait()).await.is_success());
    ended(id).await;
}

#[tokio::test]
async fn a_host_that_adopts_orphans_reaps_them() {
    if role().is_some() {
        adopt_orphans().unwrap();
        for is_dropped in [false, true] {
            // The tool's parent ends, so the tool becomes a child of this process.
            let mut process =
                script("(setsid sh -c 'echo $$; exec sleep 1000' &); cat").spawn().await.unwrap();
            let tool = announced(&mut process.output).await;
            if is_dropped {
                drop(process);
            } else {
                process.handle.stop(&StopOptions::now()).await;
            }
            crate::support::gone(tool).await;
        }
        // We do not reap a child that another part of the program started.
        #[expect(clippy::disallowed_methods, reason = "the test needs a child that is not ours")]
        let mut foreign = tokio::process::Command::new("/bin/sh").args(["-c", "exit 9"]).spawn().unwrap();
        let id = ProcessId::of(foreign.id().unwrap()).unwrap();
        ended(id).await;
        let mut process = script("true").spawn().await.unwrap();
        process.handle.stop(&StopOptions::default()).await;
        drop(process);
        assert_eq!(foreign.wait().await.unwrap().code(), Some(9));
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let mut host = host("hosts::a_host_that_adopts_orphans_reaps_them", folder.path()).await;
    let output = crate::support::lines(&mut host.output).await.join("\n");
    assert!(soon(host.handle.wait()).await.is_success(), "{output}");
}
