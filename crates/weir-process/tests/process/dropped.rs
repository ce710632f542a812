//! Dropping a process ends it, with everything it started, and reaps it.

use crate::support::{RUNAWAY, announced, ended, gone, script, start, start_runaway};

const TOOL_THAT_STAYS: &str =
    "echo $$; setsid sh -c 'trap \"\" HUP TERM; echo $$; while :; do sleep 0.02; done' & wait";

#[tokio::test]
async fn a_dropped_process_leaves_nothing() {
    let mut process = start(TOOL_THAT_STAYS).await;
    let id = announced(&mut process.output).await;
    let tool = announced(&mut process.output).await;
    drop(process);
    gone(id).await;
    ended(tool).await;
}

#[test]
fn a_process_dropped_after_its_runtime_leaves_nothing() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let (process, id, tool) = runtime.block_on(async {
        let mut process = start(TOOL_THAT_STAYS).await;
        let id = announced(&mut process.output).await;
        let tool = announced(&mut process.output).await;
        (process, id, tool)
    });
    drop(runtime);
    drop(process);
    let other = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    other.block_on(async {
        gone(id).await;
        ended(tool).await;
    });
}

#[tokio::test]
async fn a_panicking_task_leaves_nothing() {
    let mut process = start(TOOL_THAT_STAYS).await;
    let id = announced(&mut process.output).await;
    let tool = announced(&mut process.output).await;
    let task = tokio::spawn(async move {
        let _process = process;
        panic!("a panicking handler");
    });
    assert!(task.await.is_err());
    gone(id).await;
    ended(tool).await;
}

#[tokio::test]
async fn a_dropped_spawn_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("pid");
    let launch = script(&format!("echo $$ > {}.new; mv {0}.new {0}; exec sleep 1000", file.display()));
    {
        // Polled once, which may or may not have started the process, then dropped with whatever it returned.
        let mut spawn = Box::pin(launch.spawn());
        let _ = std::future::poll_fn(|context| {
            std::task::Poll::Ready(Future::poll(spawn.as_mut(), context).is_ready())
        })
        .await;
    }
    if let Ok(pid) = std::fs::read_to_string(&file)
        && let Some(id) = weir_process::ProcessId::of(pid.trim().parse().unwrap())
    {
        gone(id).await;
    }
}

#[tokio::test]
async fn a_record_is_removed_with_its_process() {
    let folder = tempfile::tempdir().unwrap();
    let records = || std::fs::read_dir(folder.path().join("processes")).unwrap().count();
    let mut launch = script("cat");
    launch.state_directory = Some(folder.path().to_owned());
    let process = launch.clone().spawn().await.unwrap();
    assert_eq!(records(), 1);
    drop(process);
    assert_eq!(records(), 0);
    launch.program = "/nowhere/claude".into();
    assert!(launch.spawn().await.is_err());
    assert_eq!(records(), 0);
}

#[tokio::test]
async fn a_dropped_process_leaves_no_orphan_without_an_environment() {
    let (process, tool) = start_runaway(script(RUNAWAY)).await;
    let id = process.handle.id().unwrap();
    drop(process);
    gone(id).await;
    ended(tool).await;
}
