//! `weir loop run --detach` and `weir loop attach`: a run that continues without a terminal, and how to follow it.

use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::{Read, Seek as _, SeekFrom, Write as _};
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context as _;
use weir_base::time::now_ms;
use weir_loop::report::ending;
use weir_loop::shell::Folders;
use weir_loop::state::{RunEnd, load};
use weir_process::{Detached, Lock, leave_terminal};

use super::{Place, status};
use crate::exit::{Exit, tell};

/// Set for the program in the background.
const DETACHED: &str = "WEIR_LOOP_DETACHED";

/// How long a run may take to begin.
const MAX_BEGIN: Duration = Duration::from_secs(60);

/// How often files are looked at.
const INTERVAL: Duration = Duration::from_millis(200);

/// How much of an earlier output `attach` shows.
const SHOWN_BYTES: u64 = 4 << 10;

fn log_file(folders: &Folders) -> PathBuf {
    folders.root.join("logs/loop.log")
}

/// Leaves the terminal, if this is the program in the background.
pub(super) fn leave_if_detached() {
    if std::env::var_os(DETACHED).is_some() {
        // A program that leads a group of processes has no terminal to lose either.
        let _ = leave_terminal();
    }
}

/// Starts the same command in the background, and waits until it runs.
pub(super) fn detach(folders: &Folders) -> anyhow::Result<Exit> {
    folders.create()?;
    let path = log_file(folders);
    let output = OpenOptions::new().create(true).write(true).truncate(true).open(&path);
    let output = output.with_context(|| format!("cannot write {}", path.display()))?;
    let program = std::env::current_exe().context("cannot find this program")?;
    let args = std::env::args_os().skip(1).filter(|argument| argument != "--detach");
    let args: Vec<OsString> = args.collect();
    let began = now_ms();
    let mut child =
        Detached::start(&program, args, (DETACHED, "1"), output).context("cannot start the run")?;
    crate::runtime::block_on(async {
        let deadline = tokio::time::Instant::now() + MAX_BEGIN;
        let mut ticks = tokio::time::interval(INTERVAL);
        loop {
            ticks.tick().await;
            if child.has_ended()? {
                let text = std::fs::read_to_string(&path).unwrap_or_default();
                tell(text.trim_end());
                tell("weir: the run has ended already");
                let end = load(&folders.state()).ok().flatten().and_then(|run| run.end().cloned());
                let is_good =
                    matches!(end, Some(RunEnd::Completed | RunEnd::Enough)) && has_begun(folders, began);
                return Ok(if is_good { Exit::Success } else { Exit::ErrorResult });
            }
            if (is_running(folders, child.pid()) && has_begun(folders, began))
                || tokio::time::Instant::now() >= deadline
            {
                break;
            }
        }
        let pid = child.pid();
        let text = format!(
            "The run continues in the background, pid {pid}. `weir loop attach` follows it, `kill -INT {pid}` interrupts it."
        );
        writeln!(std::io::stdout().lock(), "{text}")?;
        Ok(Exit::Success)
    })
}

fn is_running(folders: &Folders, pid: u32) -> bool {
    Lock::owner(&folders.lock_file()).is_some_and(|owner| owner.process.pid == pid)
}

/// Whether the run has got through its first checks since then: its state was saved.
fn has_begun(folders: &Folders, since: i64) -> bool {
    load(&folders.state()).ok().flatten().is_some_and(|run| run.updated_at >= since)
}

/// Follows the output of a run in the background, until the run ends.
pub(super) fn attach(place: &Place) -> anyhow::Result<Exit> {
    let folders = &place.folders;
    let path = log_file(folders);
    let Ok(mut file) = File::open(&path) else { return status::run(place, true, false) };
    from_line(&mut file)?;
    crate::runtime::block_on(async {
        let mut ticks = tokio::time::interval(INTERVAL);
        loop {
            ticks.tick().await;
            let is_over = Lock::owner(&folders.lock_file()).is_none();
            // After the lock was looked at, so that nothing is missed.
            show(&mut file)?;
            if is_over {
                break;
            }
        }
        if let Some(run) = load(&folders.state())? {
            writeln!(std::io::stdout().lock(), "{}", ending(&run))?;
        }
        Ok(Exit::Success)
    })
}

/// Goes to the beginning of a line near the end.
fn from_line(file: &mut File) -> std::io::Result<()> {
    let length = file.metadata()?.len();
    if length <= SHOWN_BYTES {
        return Ok(());
    }
    file.seek(SeekFrom::Start(length - SHOWN_BYTES))?;
    let mut text = Vec::new();
    Read::by_ref(file).take(SHOWN_BYTES).read_to_end(&mut text)?;
    let cut = text.iter().position(|byte| *byte == b'\n').map_or(0, |end| end + 1);
    file.seek(SeekFrom::Start(length - SHOWN_BYTES + cut as u64)).map(drop)
}

fn show(file: &mut File) -> std::io::Result<()> {
    let mut text = Vec::new();
    file.read_to_end(&mut text)?;
    let mut out = std::io::stdout().lock();
    out.write_all(&text)?;
    out.flush()
}
