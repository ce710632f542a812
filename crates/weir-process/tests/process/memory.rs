//! The transport without a process.

use std::time::Duration;

use weir_process::{Exit, PeerSignal, StopOptions, StopStep, memory};

use crate::support::{line, lines, soon};

#[tokio::test]
async fn a_test_can_play_the_cli() {
    let (mut process, mut peer) = memory();
    process.input.queue(b"hello");
    process.input.flush().await.unwrap();
    assert_eq!(peer.read_line().await.as_deref(), Some("hello"));
    peer.write(b"par").await;
    peer.write(b"tial\nnext").await;
    assert_eq!(line(&mut process.output).await, "partial");
    peer.write_stderr("a warning\n");
    assert_eq!(soon(process.stderr.next()).await.unwrap().text, "a warning\n");
    process.input.close();
    assert_eq!(peer.read_line().await, None);
    peer.exit(Exit::with_code(5));
    assert_eq!(lines(&mut process.output).await, ["next"]);
    assert_eq!(soon(process.handle.wait()).await, Exit::with_code(5));
    assert_eq!(process.handle.stderr_tail(), "a warning\n");
    assert_eq!(soon(process.stderr.next()).await, None);
}

#[tokio::test(start_paused = true)]
async fn the_ladder_is_seen_by_the_peer() {
    let (mut process, mut peer) = memory();
    let options = StopOptions { grace: Duration::from_secs(5), ..StopOptions::default() };
    let signals = async {
        let mut signals = Vec::new();
        while signals.last() != Some(&PeerSignal::Kill) {
            signals.push(peer.next_signal().await.unwrap());
        }
        signals
    };
    let (report, signals) = tokio::join!(process.handle.stop(&options), signals);
    assert_eq!(report.step, StopStep::Killed);
    assert_eq!(signals, [PeerSignal::Terminate, PeerSignal::Kill]);
}

#[tokio::test]
async fn a_dropped_peer_has_ended() {
    let (mut process, peer) = memory();
    drop(peer);
    assert_eq!(lines(&mut process.output).await, [""; 0]);
    assert!(soon(process.handle.wait()).await.is_success());
    process.input.queue(b"x");
    assert!(process.input.flush().await.is_err());
}
