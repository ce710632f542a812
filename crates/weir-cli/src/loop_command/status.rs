//! `weir loop status`.

use std::io::{IsTerminal as _, Write as _};
use std::time::Duration;

use weir_base::time::now_ms;
use weir_loop::report::ending;
use weir_loop::shell::Folders;
use weir_loop::state::{RunState, load};
use weir_process::Lock;

use super::Place;
use super::frame::{Activities, Frame};
use super::screen::erase;
use crate::exit::{Exit, UsageError};
use crate::screen::{Style, clip, columns, size};

/// How often a watched run is checked.
const CHECK_INTERVAL: Duration = Duration::from_millis(500);

pub(super) fn run(place: &Place, watch: bool, json: bool) -> anyhow::Result<Exit> {
    let folders = &place.folders;
    let Some(run) = load(&folders.state())? else {
        return Err(UsageError("no run found here; `weir loop run` starts one".to_owned()).into());
    };
    if json {
        let mut out = std::io::stdout().lock();
        serde_json::to_writer_pretty(&mut out, &run).map_err(std::io::Error::from)?;
        return Ok(writeln!(out).map(|()| Exit::Success)?);
    }
    if !watch {
        return print(folders, &run).map(|()| Exit::Success);
    }
    crate::runtime::block_on(follow(folders))
}

fn lines(folders: &Folders, run: &RunState, height: usize) -> Vec<String> {
    let activities: Activities = std::fs::read(folders.activity_file())
        .ok()
        .and_then(|text| serde_json::from_slice(&text).ok())
        .unwrap_or_default();
    let owner = Lock::owner(&folders.lock_file());
    let (width, _) = size();
    let frame =
        Frame { run, activities: &activities, now: now_ms(), width, height, style: Style::for_stdout() };
    let mut lines = frame.lines();
    lines.push(match (&owner, run.end()) {
        (Some(owner), None) => format!("Running, pid {}.", owner.process.pid),
        (None, None) => "Not running; `weir loop run` resumes it.".to_owned(),
        (_, Some(_)) => ending(run),
    });

    lines
}

fn print(folders: &Folders, run: &RunState) -> anyhow::Result<()> {
    let text = lines(folders, run, usize::MAX / 2).join("\n");
    Ok(writeln!(std::io::stdout().lock(), "{text}")?)
}

/// Shows the run until it ends.
async fn follow(folders: &Folders) -> anyhow::Result<Exit> {
    let is_terminal = std::io::stdout().is_terminal();
    let mut painted = Vec::new();
    let mut before = String::new();
    let mut ticks = tokio::time::interval(CHECK_INTERVAL);
    loop {
        ticks.tick().await;
        let Some(run) = load(&folders.state())? else { return Ok(Exit::Success) };
        let (width, height) = size();
        let lines = lines(folders, &run, height.saturating_sub(1));
        let lines: Vec<String> =
            if is_terminal { lines.iter().map(|line| clip(line, width)).collect() } else { lines };
        let text = lines.join("\n");
        let mut out = std::io::stdout().lock();
        if is_terminal {
            let clear = erase(&painted, width);
            painted = lines.iter().map(|line| columns(line)).collect();
            out.write_all(format!("{clear}{text}\n").as_bytes())?;
        } else if text != before {
            out.write_all(format!("{text}\n\n").as_bytes())?;
        }
        out.flush()?;
        before = text;
        let is_alive = Lock::owner(&folders.lock_file()).is_some();
        if run.end().is_some() || !is_alive {
            return Ok(Exit::Success);
        }
    }
}
