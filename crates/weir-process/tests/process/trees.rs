//! Descendants are ended, whatever they do to escape.

use std::time::Duration;

use weir_process::{Exit, StopOptions, StopStep};

use crate::support::{RUNAWAY, announced, ended, line, script, soon, start, start_runaway};

fn brisk() -> StopOptions {
    StopOptions {
        grace: Duration::from_millis(50),
        terminate: Duration::from_secs(30),
        descendants: Duration::from_millis(100),
        kill: Duration::from_secs(30),
    }
}

#[tokio::test]
async fn a_tool_in_its_own_session_that_ignores_signals_is_ended() {
    let mut process =
        start("setsid sh -c 'trap \"\" HUP TERM INT; echo $$; while :; do sleep 0.02; done' & wait").await;
    let tool = announced(&mut process.output).await;
    let report = soon(process.handle.stop(&brisk())).await;
    assert_eq!(report.step, StopStep::Terminated);
    assert!(report.descendants >= 1, "{report:?}");
    assert_eq!(report.survivors, []);
    ended(tool).await;
}

#[tokio::test]
async fn an_orphan_whose_parents_are_long_gone_is_ended() {
    // How daemons usually detach: two forks, their own session, the parents gone.
    let mut process = start("(setsid sh -c '(sh -c \"echo \\$\\$; exec sleep 1000\" &) ' &) ; cat").await;
    let daemon = announced(&mut process.output).await;
    process.input.close();
    let options = StopOptions { grace: Duration::from_secs(30), ..brisk() };
    let report = soon(process.handle.stop(&options)).await;
    assert_eq!((report.step, report.exit), (StopStep::Ended, Exit::with_code(0)));
    // One of its parents may still be ending.
    assert!(report.descendants >= 1, "{report:?}");
    assert!(!daemon.is_alive());
    ended(daemon).await;
}

#[tokio::test]
async fn a_descendant_without_our_mark_is_found_by_its_ancestry() {
    let mut process = start("env -i setsid sh -c 'echo $$; exec sleep 1000' & exec cat").await;
    let tool = announced(&mut process.output).await;
    let report = soon(process.handle.stop(&brisk())).await;
    assert_eq!(report.descendants, 1);
    ended(tool).await;
}

#[tokio::test]
async fn tools_of_a_cli_that_was_killed_are_ended() {
    let mut process = start("setsid sh -c 'trap \"\" HUP; echo $$; exec sleep 1000' & wait").await;
    let tool = announced(&mut process.output).await;
    assert!(process.handle.kill());
    assert_eq!(soon(process.handle.wait()).await, Exit::by_signal(9));
    assert!(tool.is_alive());
    let report = soon(process.handle.stop(&brisk())).await;
    assert_eq!(report.descendants, 1);
    ended(tool).await;
}

#[tokio::test]
async fn a_tool_that_keeps_forking_does_not_escape() {
    let forks = "n=0; while :; do (sleep 1000 &); n=$((n + 1)); [ $n = 20 ] && echo busy; sleep 0.005; done";
    let mut process = start(&format!("setsid sh -c 'trap \"\" TERM HUP; echo $$; {forks}' & wait")).await;
    let tool = announced(&mut process.output).await;
    // It has begun, and does not stop.
    assert_eq!(line(&mut process.output).await, "busy");
    let report = soon(process.handle.stop(&StopOptions::now())).await;
    assert_eq!(report.survivors, []);
    ended(tool).await;
    // A second scan finds nothing.
    assert_eq!(soon(process.handle.stop(&StopOptions::now())).await.descendants, 0);
}

#[tokio::test]
async fn another_launch_is_left_alone() {
    let mut one = start("setsid sleep 1000 & echo $!; wait").await;
    let mut other = start("setsid sleep 1000 & echo $!; wait").await;
    let tool = announced(&mut one.output).await;
    let other_tool = announced(&mut other.output).await;
    soon(one.handle.stop(&StopOptions::now())).await;
    ended(tool).await;
    assert!(other_tool.is_alive());
    soon(other.handle.stop(&StopOptions::now())).await;
    ended(other_tool).await;
}

#[tokio::test]
async fn concurrent_stops_share_their_scans() {
    let mut processes = Vec::new();
    for _ in 0..20 {
        let mut process = start("setsid sleep 1000 & echo $!; wait").await;
        let tool = announced(&mut process.output).await;
        processes.push((process, tool));
    }
    let stops = processes.into_iter().map(|(mut process, tool)| {
        tokio::spawn(async move {
            let report = process.handle.stop(&StopOptions::now()).await;
            (report, tool)
        })
    });
    for stop in stops.collect::<Vec<_>>() {
        let (report, tool) = soon(stop).await.unwrap();
        assert_eq!((report.descendants, report.survivors.len()), (1, 0));
        ended(tool).await;
    }
}

#[tokio::test]
async fn an_orphan_without_an_environment_is_ended_by_a_stop() {
    for options in [StopOptions::now(), brisk()] {
        let (mut process, tool) = start_runaway(script(RUNAWAY)).await;
        process.input.close();
        let report = soon(process.handle.stop(&options)).await;
        assert_eq!((report.descendants, report.survivors.len()), (1, 0), "{report:?}");
        ended(tool).await;
    }
}

#[tokio::test]
async fn an_orphan_without_an_environment_is_ended_after_the_cli_was_killed() {
    let (mut process, tool) = start_runaway(script(RUNAWAY)).await;
    assert!(process.handle.kill());
    assert_eq!(soon(process.handle.wait()).await, Exit::by_signal(9));
    assert!(tool.is_alive());
    let report = soon(process.handle.stop(&StopOptions::now())).await;
    assert_eq!((report.descendants, report.survivors.len()), (1, 0), "{report:?}");
    ended(tool).await;
}

#[tokio::test]
async fn an_orphan_without_an_environment_belongs_to_its_own_launch() {
    let (mut one, tool) = start_runaway(script(RUNAWAY)).await;
    let (mut other, other_tool) = start_runaway(script(RUNAWAY)).await;
    soon(one.handle.stop(&StopOptions::now())).await;
    ended(tool).await;
    assert!(other_tool.is_alive());
    soon(other.handle.stop(&StopOptions::now())).await;
    ended(other_tool).await;
}

#[tokio::test]
async fn an_orphan_of_a_plain_command_without_an_environment_is_ended() {
    let tool = "read -r _; env -i setsid sh -c '(sh -c \"echo \\$\\$; exec sleep 1000 >/dev/null\" & )' | \
        { read -r tool; echo $tool; }";
    let command = weir_process::PlainCommand::new("/bin/sh").args(["-c", tool]).input("go\n");
    let done = soon(command.run()).await.unwrap();
    let pid: u32 = done.stdout.text().trim().parse().unwrap();
    assert!(weir_process::ProcessId::of(pid).is_none_or(|id| !id.is_alive()));
}
