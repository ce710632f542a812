//! Shared test helpers.

use weir_process::{Launch, Output, Process, ProcessId};
use weir_wire::Frame;

pub(crate) use weir_testkit::{soon, until};

/// A launch of a shell script.
pub(crate) fn script(script: &str) -> Launch {
    Launch::new("/bin/sh").args(["-c", script])
}

/// A CLI whose tool does everything it can to escape: no environment, its own session, two forks, and parents
/// that are gone before anything scans for them. It prints the tool's pid once it is told to begin.
pub(crate) const RUNAWAY: &str =
    "read -r _; env -i setsid sh -c '(sh -c \"echo \\$\\$; exec sleep 1000\" & )'; exec cat >/dev/null";

/// Starts such a CLI and waits until its tool is orphaned and nothing leads to it any more.
pub(crate) async fn start_runaway(launch: Launch) -> (Process, ProcessId) {
    let mut process = launch.spawn().await.unwrap();
    assert!(process.input.queue(b"go"));
    process.input.flush().await.unwrap();
    let tool = announced(&mut process.output).await;
    let cli = process.handle.pid().unwrap();
    until("an orphan without an environment", || {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", tool.pid)).unwrap_or_default();
        let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
        let parent: u32 = fields.get(1).and_then(|parent| parent.parse().ok()).unwrap_or(0);
        let environment = std::fs::read(format!("/proc/{}/environ", tool.pid)).unwrap_or_default();
        let has_mark = environment.windows(4).any(|bytes| bytes == b"WEIR");
        let is_orphan = ProcessId::of(parent).is_none_or(|_| parent == 1 || parent == std::process::id());
        parent != cli && is_orphan && !has_mark
    })
    .await;
    (process, tool)
}

/// Starts a shell script.
pub(crate) async fn start(text: &str) -> Process {
    script(text).spawn().await.unwrap()
}

/// The next line as text.
pub(crate) async fn line(output: &mut Output) -> String {
    soon(async {
        loop {
            match output.next_frame() {
                Some(Frame::Line(line)) => return String::from_utf8(line.to_vec()).unwrap(),
                Some(Frame::Oversize { .. }) => panic!("an oversize line"),
                None => {}
            }
            assert!(output.fill().await.unwrap(), "the output has ended");
        }
    })
    .await
}

/// All lines until the end.
pub(crate) async fn lines(output: &mut Output) -> Vec<String> {
    soon(async {
        let mut lines = Vec::new();
        loop {
            while let Some(frame) = output.next_frame() {
                match frame {
                    Frame::Line(line) => lines.push(String::from_utf8(line.to_vec()).unwrap()),
                    Frame::Oversize { length, .. } => lines.push(format!("oversize {length}")),
                }
            }
            if !output.fill().await.unwrap() && output.is_ended() {
                while let Some(Frame::Line(line)) = output.next_frame() {
                    lines.push(String::from_utf8(line.to_vec()).unwrap());
                }
                return lines;
            }
        }
    })
    .await
}

/// The process whose pid is the next line of the output.
pub(crate) async fn announced(output: &mut Output) -> ProcessId {
    let line = line(output).await;
    let pid = line.trim().parse().unwrap_or_else(|_| panic!("not a pid: {line}"));
    ProcessId::of(pid).expect("the announced process lives")
}

/// Whether the process is gone, not even a zombie.
pub(crate) fn is_gone(id: ProcessId) -> bool {
    ProcessId::of(id.pid) != Some(id)
}

/// Waits until a process has ended. An adopted one may stay a zombie until its new parent reaps it.
pub(crate) async fn ended(id: ProcessId) {
    until("the end of a process", || !id.is_alive()).await;
}

/// Waits until a process is gone, not even a zombie.
pub(crate) async fn gone(id: ProcessId) {
    until("the end of a process", || is_gone(id)).await;
}
