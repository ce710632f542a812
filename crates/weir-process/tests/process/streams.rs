//! Output, input and diagnostics of live processes.

use std::time::Duration;

use weir_process::{Environment, Exit, Launch, SpawnError, StopOptions, Transport};
use weir_wire::Frame;

use crate::support::{line, lines, script, soon, start};

#[tokio::test]
async fn lines_arrive_and_the_end_is_reported() {
    let mut process = start("echo one; printf 'two\\nthree'; exit 3").await;
    assert_eq!(lines(&mut process.output).await, ["one", "two", "three"]);
    assert!(process.output.is_ended() && process.output.is_in_line());
    assert_eq!(soon(process.handle.wait()).await, Exit::with_code(3));
    assert_eq!(soon(process.handle.wait()).await, Exit::with_code(3));
    let report = soon(process.handle.stop(&StopOptions::default())).await;
    assert_eq!((report.exit, report.descendants), (Exit::with_code(3), 0));
    assert!(process.handle.is_clean());
}

#[tokio::test]
async fn characters_split_across_writes_are_whole() {
    let mut process =
        start("printf '{\"a\":\"\\303'; sleep 0.05; printf '\\251\"}\\n\\360\\237'; sleep 0.05; printf '\\230\\200\\n'")
            .await;
    assert_eq!(lines(&mut process.output).await, ["{\"a\":\"é\"}", "😀"]);
}

#[tokio::test]
async fn a_line_over_the_limit_is_reported_and_the_next_one_read() {
    let mut launch = script("head -c 300000 /dev/zero | tr '\\0' x; echo; echo next");
    launch.line_limit = 100_000;
    let mut process = launch.spawn().await.unwrap();
    assert_eq!(lines(&mut process.output).await, ["oversize 300000", "next"]);
}

#[tokio::test]
async fn large_output_is_complete_and_in_order() {
    let mut process = start("i=0; while [ $i -lt 20000 ]; do echo $i; i=$((i+1)); done").await;
    let expected: Vec<String> = (0..20_000).map(|i| i.to_string()).collect();
    assert_eq!(lines(&mut process.output).await, expected);
}

#[tokio::test]
async fn input_is_written_in_order_and_closed_after_it() {
    let mut process = start("cat").await;
    let big = "x".repeat(3 << 20);
    assert!(process.input.queue(b"first"));
    assert!(process.input.queue(big.as_bytes()));
    process.input.close();
    assert!(!process.input.queue(b"too late"));
    assert!(!process.input.is_closed());
    // `cat` stops reading while its output is not read, so both directions have to make progress at the same
    // time.
    let (flushed, output) = tokio::join!(process.input.flush(), lines(&mut process.output));
    flushed.unwrap();
    assert!(process.input.is_closed());
    assert_eq!(output.len(), 2);
    assert!(output[0] == "first" && output[1] == big);
}

#[tokio::test]
async fn a_cancelled_flush_neither_tears_nor_repeats_a_line() {
    let mut process = start("cat").await;
    let sent: Vec<String> = (0..40).map(|i| format!("{i}:{}", "y".repeat(50_000))).collect();
    for line in &sent {
        process.input.queue(line.as_bytes());
    }
    process.input.close();
    let mut received = Vec::new();
    soon(async {
        while received.len() < sent.len() {
            // The branch that loses is dropped each time.
            tokio::select! {
                biased;
                filled = process.output.fill() => assert!(filled.unwrap()),
                flushed = process.input.flush(), if process.input.wants_flush() => flushed.unwrap(),
            }
            while let Some(Frame::Line(line)) = process.output.next_frame() {
                received.push(String::from_utf8(line.to_vec()).unwrap());
            }
        }
    })
    .await;
    assert!(received == sent);
}

#[tokio::test]
async fn a_process_that_does_not_read_is_a_broken_pipe_not_a_hang() {
    let mut process = start("exec <&-; echo closed; cat /dev/zero | head -c 10").await;
    assert_eq!(line(&mut process.output).await, "closed");
    process.input.queue(b"never read");
    let error = soon(process.input.flush()).await.unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::BrokenPipe);
    assert!(process.input.is_closed());
}

#[tokio::test]
async fn a_flood_of_diagnostics_blocks_nothing_and_its_tail_is_kept() {
    let mut process =
        start("head -c 10000000 /dev/zero | tr '\\0' e >&2; echo last words >&2; echo done").await;
    assert_eq!(lines(&mut process.output).await, ["done"]);
    soon(process.handle.wait()).await;
    let tail = process.handle.stderr_tail();
    assert_eq!(tail.len(), 64 << 10);
    assert!(tail.ends_with("eee") || tail.ends_with("eelast words\n"), "{}", &tail[tail.len() - 40..]);
    assert!(tail.ends_with("last words\n"));
}

#[tokio::test]
async fn diagnostics_arrive_as_lines() {
    let mut process = start("echo one >&2; printf half >&2; read x; echo ' more' >&2; printf rest >&2").await;
    let first = soon(process.stderr.next()).await.unwrap();
    assert_eq!((first.text.as_str(), first.skipped), ("one\n", 0));
    process.input.queue(b"go");
    process.input.flush().await.unwrap();
    let mut text = String::new();
    while let Some(piece) = soon(process.stderr.next()).await {
        text.push_str(&piece.text);
    }
    assert_eq!(text, "half more\nrest");
}

#[tokio::test]
async fn a_terminal_is_raw_and_has_both_streams() {
    let mut launch = script(
        "test -t 1 && test -t 2 && ! test -t 0 && echo terminal; read x; echo \"got $x\"; echo oops >&2; stty size <&1",
    );
    launch.transport = Transport::Pty;
    let mut process = launch.spawn().await.unwrap();
    process.input.queue(b"words");
    process.input.flush().await.unwrap();
    // No carriage return is added, nothing is echoed.
    assert_eq!(lines(&mut process.output).await, ["terminal", "got words", "oops", "1000 32000"]);
    assert_eq!(soon(process.handle.wait()).await, Exit::with_code(0));
}

#[tokio::test]
async fn a_terminal_gives_everything_before_its_end() {
    for _ in 0..20 {
        let mut launch = script("i=0; while [ $i -lt 2000 ]; do echo line $i; i=$((i+1)); done");
        launch.transport = Transport::Pty;
        let mut process = launch.spawn().await.unwrap();
        let lines = lines(&mut process.output).await;
        assert_eq!(lines.len(), 2000);
        assert_eq!(lines[1999], "line 1999");
    }
}

#[tokio::test]
async fn the_environment_and_directory_are_as_requested() {
    let folder = tempfile::tempdir().unwrap();
    let mut launch = script("pwd -P; echo \"$GREETING/$HOME/$CLAUDECODE\"");
    launch.cwd = Some(folder.path().to_owned());
    launch.environment = Environment::only(["PATH"]).set("GREETING", "hello");
    let mut process = launch.spawn().await.unwrap();
    let cwd = folder.path().canonicalize().unwrap();
    assert_eq!(lines(&mut process.output).await, [cwd.to_str().unwrap(), "hello//"]);
}

#[tokio::test]
async fn a_failed_start_says_why() {
    let error = Launch::new("/nowhere/claude").spawn().await.unwrap_err();
    assert!(matches!(&error, SpawnError::NotFound { .. }), "{error}");
    assert!(error.to_string().contains("WEIR_CLAUDE"));

    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("claude");
    std::fs::write(&file, "#!/bin/sh\n").unwrap();
    let error = Launch::new(&file).spawn().await.unwrap_err();
    assert!(matches!(&error, SpawnError::NotExecutable { .. }), "{error}");

    let mut launch = script("true");
    launch.cwd = Some(folder.path().join("missing"));
    let error = launch.spawn().await.unwrap_err();
    assert!(matches!(&error, SpawnError::Directory { .. }), "{error}");
}

#[tokio::test]
async fn a_child_has_its_own_process_group() {
    let mut process = start("ps -o pgid= -p $$ 2>/dev/null || cut -d' ' -f5 /proc/$$/stat").await;
    let group = line(&mut process.output).await;
    assert_eq!(group.trim(), process.handle.pid().unwrap().to_string());
    let options = StopOptions { grace: Duration::from_secs(20), ..StopOptions::default() };
    soon(process.handle.stop(&options)).await;
}
