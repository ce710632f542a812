//! Raw logs of live processes.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use weir_process::{LogOptions, Process, Secrets, SpawnError, StopOptions};

use crate::support::{announced, line, lines, script, soon};

async fn logged(text: &str, folder: &Path) -> Process {
    let mut launch = script(text);
    launch.log = Some(LogOptions::new(folder.join("logs"), "run", "a name/with: things"));
    launch.spawn().await.unwrap()
}

fn read(path: &Path) -> String {
    String::from_utf8(std::fs::read(path).unwrap()).unwrap()
}

#[tokio::test]
async fn all_three_streams_are_logged_verbatim() {
    let folder = tempfile::tempdir().unwrap();
    let mut process =
        logged("echo one; read x; printf 'not\\r\\n\\377 json'; echo warning >&2", folder.path()).await;
    let paths = process.logs.clone().unwrap();
    assert_eq!(line(&mut process.output).await, "one");
    // The line was in the log before we could see it.
    assert_eq!(read(&paths.output), "one\n");
    process.input.queue(b"words");
    process.input.flush().await.unwrap();
    process.input.close();
    while soon(process.output.fill()).await.unwrap() {}
    soon(process.handle.stop(&StopOptions::default())).await;
    drop(process);
    assert_eq!(std::fs::read(&paths.output).unwrap(), b"one\nnot\r\n\xff json");
    assert_eq!(read(&paths.input), "words\n");
    assert_eq!(read(&paths.stderr), "warning\n");

    let name = paths.output.file_name().unwrap().to_str().unwrap();
    let (stamp, rest) = name.split_once('-').unwrap();
    assert_eq!(rest, "run-a_name_with__things.ndjson");
    assert!(stamp.len() == "20260102T030405.678Z".len() && stamp.starts_with("20") && stamp.ends_with('Z'));
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&paths.output), 0o600);
    assert_eq!(mode(&folder.path().join("logs")), 0o700);
}

#[tokio::test]
async fn concurrent_logs_do_not_overwrite_each_other() {
    let folder = tempfile::tempdir().unwrap();
    for i in 0..20 {
        let mut process = logged(&format!("echo {i}"), folder.path()).await;
        lines(&mut process.output).await;
    }
    let mut seen: Vec<u32> = std::fs::read_dir(folder.path().join("logs"))
        .unwrap()
        .map(|file| file.unwrap().path())
        .filter(|path| {
            path.to_str().unwrap().ends_with("things.ndjson") || path.to_str().unwrap().contains("things-")
        })
        .filter(|path| {
            !path.to_str().unwrap().contains(".in.") && !path.to_str().unwrap().ends_with(".stderr")
        })
        .map(|path| read(&path).trim().parse().unwrap())
        .collect();
    seen.sort_unstable();
    assert_eq!(seen, (0..20).collect::<Vec<_>>());
}

#[tokio::test]
async fn the_log_is_complete_when_the_cli_is_killed() {
    let folder = tempfile::tempdir().unwrap();
    let count = folder.path().join("count");
    // Writes a line, then records how many it has written: the log has at least as many.
    let text = format!(
        "i=0; while :; do i=$((i+1)); echo \"line $i\"; echo $i > {0}.new; mv {0}.new {0}; done",
        count.display()
    );
    let mut process = logged(&text, folder.path()).await;
    let paths = process.logs.clone().unwrap();
    assert_eq!(line(&mut process.output).await, "line 1");
    crate::support::until("two hundred lines", || read_number(&count) > 200).await;
    assert!(process.handle.kill());
    soon(process.handle.wait()).await;
    let written = read_number(&count);
    while soon(process.output.fill()).await.unwrap() {}
    let log = read(&paths.output);
    assert!(log.lines().count() >= written, "{} of {written}", log.lines().count());
    assert!(log.lines().zip(1..).all(|(line, i)| line == format!("line {i}")));
}

fn read_number(path: &Path) -> usize {
    std::fs::read_to_string(path).ok().and_then(|text| text.trim().parse().ok()).unwrap_or(0)
}

#[tokio::test]
async fn the_log_is_complete_when_unread_output_is_dropped() {
    let folder = tempfile::tempdir().unwrap();
    let done = folder.path().join("done");
    let text =
        format!("head -c 60000 /dev/zero | tr '\\0' x; echo diagnostics >&2; touch {}; cat", done.display());
    let process = logged(&text, folder.path()).await;
    let paths = process.logs.clone().unwrap();
    crate::support::until("the CLI to have written", || done.exists()).await;
    drop(process);
    assert_eq!(read(&paths.output).len(), 60_000);
    assert_eq!(read(&paths.stderr), "diagnostics\n");
}

#[tokio::test]
async fn a_disk_failure_is_reported_once_and_stops_nothing() {
    // The folder is not a folder, so the log cannot even be created.
    let mut launch = script("echo one; echo two");
    launch.log = Some(LogOptions::new("/dev/null/logs", "run", "x"));
    let mut process = launch.clone().spawn().await.unwrap();
    assert!(process.logs.is_none());
    let error = process.output.take_log_error().unwrap();
    assert!(error.to_string().contains("/dev/null/logs"), "{error}");
    assert_eq!(lines(&mut process.output).await, ["one", "two"]);
    assert!(process.output.take_log_error().is_none());

    if let Some(log) = &mut launch.log {
        log.require = true;
    }
    let error = launch.spawn().await.unwrap_err();
    assert!(matches!(error, SpawnError::Log(_)), "{error}");
}

#[tokio::test]
async fn secrets_are_masked_in_all_logs_and_diagnostics_but_not_in_the_stream() {
    let folder = tempfile::tempdir().unwrap();
    let mut launch =
        script("printf 'key=sk-se'; sleep 0.05; printf 'cret-1;\\n'; read x; echo sk-secret-1 >&2");
    launch.log = Some(LogOptions::new(folder.path(), "run", "masked"));
    launch.secrets = {
        let mut secrets = Secrets::new();
        secrets.insert("KEY", "sk-secret-1").unwrap();
        secrets
    };
    let mut process = launch.spawn().await.unwrap();
    let paths = process.logs.clone().unwrap();
    assert_eq!(line(&mut process.output).await, "key=sk-secret-1;");
    process.input.queue(b"{\"key\":\"sk-secret-1\"}");
    process.input.flush().await.unwrap();
    soon(process.handle.wait()).await;
    assert_eq!(process.handle.stderr_tail(), "[weir: masked KEY]\n");
    assert_eq!(soon(process.stderr.next()).await.unwrap().text, "[weir: masked KEY]\n");
    drop(process);
    assert_eq!(read(&paths.output), "key=[weir: masked KEY];\n");
    assert_eq!(read(&paths.input), "{\"key\":\"[weir: masked KEY]\"}\n");
    assert_eq!(read(&paths.stderr), "[weir: masked KEY]\n");
}

#[tokio::test]
async fn a_full_log_continues_in_the_next_part_with_whole_lines() {
    let folder = tempfile::tempdir().unwrap();
    let mut launch = script("i=100; while [ $i -lt 200 ]; do echo line $i; i=$((i+1)); done; printf rest");
    let mut options = LogOptions::new(folder.path(), "run", "parts");
    options.part_bytes = Some(200);
    launch.log = Some(options.clone());
    let mut process = launch.clone().spawn().await.unwrap();
    let first = process.logs.clone().unwrap().output;
    let expected = lines(&mut process.output).await;
    drop(process);
    let stem = first.to_str().unwrap().strip_suffix(".ndjson").unwrap().to_owned();
    let parts: Vec<String> = std::iter::once(first)
        .chain((2..).map(|part| format!("{stem}.part{part}.ndjson").into()))
        .take_while(|path| path.exists())
        .map(|path| read(&path))
        .collect();
    assert!(parts.len() >= 4);
    let (_, whole) = parts.split_last().unwrap();
    assert!(whole.iter().all(|part| part.ends_with('\n') && (200..220).contains(&part.len())));
    assert_eq!(parts.concat().lines().collect::<Vec<_>>(), expected);

    options.parts_kept = Some(2);
    launch.log = Some(options);
    let mut process = launch.spawn().await.unwrap();
    let first = process.logs.clone().unwrap().output;
    lines(&mut process.output).await;
    drop(process);
    let stem = first.file_stem().unwrap().to_str().unwrap().to_owned();
    let left = std::fs::read_dir(folder.path())
        .unwrap()
        .map(|file| file.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.starts_with(&stem) && !name.contains(".in.") && !name.ends_with("stderr"));
    assert_eq!(left.count(), 2);
}

#[tokio::test]
async fn stopping_a_handle_logs_the_last_output_of_a_tool() {
    let folder = tempfile::tempdir().unwrap();
    let text = "setsid sh -c 'echo $$; trap \"echo bye; exit\" TERM; while :; do sleep 0.02; done' & wait";
    let mut process = logged(text, folder.path()).await;
    let paths = process.logs.clone().unwrap();
    let tool = announced(&mut process.output).await;
    let mut options = StopOptions::now();
    options.descendants = std::time::Duration::from_secs(30);
    soon(process.handle.stop(&options)).await;
    assert!(!tool.is_alive());
    assert_eq!(lines(&mut process.output).await, ["bye"]);
    assert!(read(&paths.output).ends_with("bye\n"));
}

#[tokio::test]
async fn a_failed_start_leaves_no_logs() {
    let folder = tempfile::tempdir().unwrap();
    let mut launch = weir_process::Launch::new("/nowhere/claude");
    launch.log = Some(LogOptions::new(folder.path(), "run", "x"));
    assert!(launch.spawn().await.is_err());
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}
