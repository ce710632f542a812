//! Each step of the stop ladder.

use std::time::Duration;

use weir_process::{Exit, Launch, StopOptions, StopStep};

use crate::support::{announced, ended, gone, is_gone, line, soon, start};

fn patience(grace: u64, terminate: u64) -> StopOptions {
    StopOptions {
        grace: Duration::from_millis(grace),
        terminate: Duration::from_millis(terminate),
        ..StopOptions::default()
    }
}

#[tokio::test]
async fn a_process_that_ends_when_its_input_closes_needs_no_signal() {
    let mut process = start("cat; exit 7").await;
    process.input.close();
    let report = soon(process.handle.stop(&patience(30_000, 0))).await;
    assert_eq!((report.step, report.exit), (StopStep::Ended, Exit::with_code(7)));
    assert!(process.handle.is_clean());
}

#[tokio::test]
async fn a_process_that_stays_after_its_input_closes_is_terminated() {
    let mut process = start("trap 'exit 143' TERM; echo ready; while :; do sleep 0.02; done").await;
    assert_eq!(line(&mut process.output).await, "ready");
    process.input.close();
    let report = soon(process.handle.stop(&patience(20, 30_000))).await;
    assert_eq!((report.step, report.exit), (StopStep::Terminated, Exit::with_code(143)));
}

#[tokio::test]
async fn a_process_that_ignores_sigterm_is_killed() {
    let mut process = start("trap '' TERM; echo $$; while :; do sleep 0.02; done").await;
    let id = announced(&mut process.output).await;
    let report = soon(process.handle.stop(&patience(10, 50))).await;
    assert_eq!((report.step, report.exit), (StopStep::Killed, Exit::by_signal(9)));
    assert_eq!(report.survivors, []);
    assert!(is_gone(id));
}

#[tokio::test]
async fn without_a_grace_period_it_is_killed_at_once() {
    let mut process = start("trap 'echo terminated' TERM; echo $$; while :; do sleep 0.02; done").await;
    let id = announced(&mut process.output).await;
    let report = soon(process.handle.stop(&StopOptions::now())).await;
    assert_eq!(report.step, StopStep::Killed);
    assert!(is_gone(id));
    assert_eq!(crate::support::lines(&mut process.output).await, [""; 0]);
}

#[tokio::test]
async fn signals_reach_the_process_alone() {
    // A shell cannot trap a signal that was ignored when it started, as SIGINT is in the background of a
    // script.
    let script = "trap 'echo interrupted' INT; echo ready; while :; do sleep 0.02; done";
    let launch = Launch::new("/usr/bin/env").args(["--default-signal=INT", "/bin/sh", "-c", script]);
    let mut process = launch.spawn().await.unwrap();
    assert_eq!(line(&mut process.output).await, "ready");
    assert!(process.handle.interrupt_signal());
    assert_eq!(line(&mut process.output).await, "interrupted");
    assert!(process.handle.terminate());
    assert_eq!(soon(process.handle.wait()).await, Exit::by_signal(15));
    assert!(!process.handle.terminate());
    assert!(!process.handle.interrupt_signal());
    soon(process.handle.stop(&StopOptions::now())).await;
}

#[tokio::test]
async fn a_cancelled_stop_can_be_repeated() {
    let mut process = start("trap '' TERM; echo $$; while :; do sleep 0.02; done").await;
    let id = announced(&mut process.output).await;
    let options = patience(60_000, 60_000);
    let cancelled = tokio::time::timeout(Duration::from_millis(50), process.handle.stop(&options)).await;
    assert!(cancelled.is_err());
    assert!(id.is_alive());
    assert_eq!(soon(process.handle.stop(&StopOptions::now())).await.step, StopStep::Killed);
    assert!(is_gone(id));
}

#[tokio::test]
async fn dropping_a_stop_with_its_handle_ends_everything() {
    let mut process = start("trap '' TERM; setsid sleep 1000 & echo $!; echo $$; wait").await;
    let tool = announced(&mut process.output).await;
    let id = announced(&mut process.output).await;
    let stop = tokio::spawn(async move { process.handle.stop(&patience(60_000, 60_000)).await });
    tokio::task::yield_now().await;
    stop.abort();
    gone(id).await;
    ended(tool).await;
}
