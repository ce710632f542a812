//! `weir trust`: what a folder would run automatically, and whether it may.

use std::io::{IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context as _;
use serde_json::json;
use weir_base::time::now_ms;
use weir_session::FolderTrust;
use weir_trust::{FindingKind, Findings, Standing, TrustFile, scan};

use crate::exit::{Exit, UsageError, tell};
use crate::folders;
use crate::opts::TrustOpts;
use crate::screen::{Style, Table, clean};
use crate::serve::data_directory;

/// The name of the file in a data folder.
const FILE: &str = "trust.json";

/// The trusted folders recorded in this data folder.
pub(crate) fn file_in(data: &Path) -> Arc<TrustFile> {
    Arc::new(TrustFile::new(data.join(FILE)))
}

/// Whether a folder's settings apply in terminal commands.
pub(crate) fn policy(is_trusted: bool) -> FolderTrust {
    match folders::data() {
        _ if is_trusted => FolderTrust::Load,
        Some(data) => FolderTrust::Remembered(file_in(&data)),
        None => FolderTrust::LeaveOut,
    }
}

/// Warns that a folder's settings are ignored, if it has any.
pub(crate) fn warn_if_ignored(cwd: Option<&Path>, trust: &FolderTrust) {
    let FolderTrust::Remembered(file) = trust else { return };
    let folder = cwd.map_or_else(std::env::current_dir, |cwd| Ok(cwd.to_owned()));
    let Ok(folder) = folder.and_then(|folder| folder.canonicalize()) else { return };
    let Ok(found) = scan(&folder, home().as_deref()) else { return };
    let why = match file.standing(&folder, &found) {
        Ok(Standing::Trusted) => return,
        Ok(Standing::New) => "it is not trusted",
        Ok(Standing::Changed) => "they have changed since it was trusted",
        Err(_) => "the list of trusted folders cannot be read",
    };
    if let Some(summary) = summary(&found) {
        tell(&format!(
            "weir: this folder's own settings are off ({summary}): {why}; `weir trust` shows them"
        ));
    }
}

/// A summary such as `hook × 2, environment`; `None` if nothing was found.
fn summary(found: &Findings) -> Option<String> {
    let mut counts: Vec<(FindingKind, usize)> = Vec::new();
    for item in &found.items {
        match counts.last_mut() {
            Some((kind, count)) if *kind == item.kind => *count += 1,
            _ => counts.push((item.kind, 1)),
        }
    }
    let word = |&(kind, count): &(FindingKind, usize)| match count {
        1 => kind.as_str().to_owned(),
        count => format!("{} × {count}", kind.as_str()),
    };
    let words: Vec<String> = counts.iter().map(word).collect();
    (!words.is_empty()).then(|| words.join(", "))
}

fn home() -> Option<PathBuf> {
    std::env::home_dir().and_then(|home| home.canonicalize().ok())
}

pub(crate) fn run(opts: TrustOpts) -> anyhow::Result<Exit> {
    let file = file_in(&data_directory(opts.data)?);
    if opts.list {
        return list(&file, opts.json);
    }
    let folder = opts.folder.map_or_else(std::env::current_dir, Ok)?;
    let folder = folder
        .canonicalize()
        .map_err(|error| UsageError(format!("cannot use {}: {error}", folder.display())))?;
    if opts.forget {
        let was_trusted = file.forget(&folder)?;
        let word = if was_trusted { "is no longer trusted" } else { "was not trusted" };
        tell(&format!("weir: {} {word}", folder.display()));
        return Ok(Exit::Success);
    }
    let found = scan(&folder, home().as_deref())?;
    let standing = file.standing(&folder, &found)?;
    if opts.json {
        let report = json!({"folder": folder, "standing": standing, "findings": found});
        writeln!(std::io::stdout(), "{report}")?;
    } else {
        show(&folder, &found, standing)?;
    }
    // If nothing would run, there is nothing to ask.
    let has_question = standing != Standing::Trusted && !found.items.is_empty();
    if opts.show || !(has_question || opts.yes) {
        return Ok(Exit::Success);
    }
    if !opts.yes && !confirm(&folder)? {
        tell("weir: nothing was changed; `weir trust --yes` trusts the folder without asking");
        return Ok(Exit::ErrorResult);
    }
    file.trust(&folder, &found, "terminal", now_ms())?;
    tell(&format!(
        "weir: {} is now trusted; you will be asked again when these files change",
        folder.display()
    ));
    Ok(Exit::Success)
}

fn show(folder: &Path, found: &Findings, standing: Standing) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    let name = folder.display().to_string();
    let name = clean(&name);
    if found.items.is_empty() {
        writeln!(
            out,
            "{name} has no settings, hooks, MCP servers or instructions of its own: nothing to trust."
        )?;
        return Ok(());
    }
    let (standing, verb) = match standing {
        Standing::Trusted => ("trusted", "runs or uses"),
        Standing::Changed => ("no longer trusted, because its files have changed", "would run or use"),
        Standing::New => ("not trusted", "would run or use"),
    };
    writeln!(out, "{name} is {standing}.\nThe CLI {verb} this without asking:\n")?;
    let mut table = Table::new(&["KIND", "WHAT", "FILE"]);
    for item in &found.items {
        table.row([
            item.kind.as_str().to_owned(),
            clean(&item.what).to_string(),
            clean(&item.file).to_string(),
        ]);
    }
    for line in table.lines(Style::for_stdout(), None) {
        writeln!(out, "{line}")?;
    }
    if found.more > 0 {
        writeln!(out, "… and {} more.", found.more)?;
    }
    writeln!(out)?;
    Ok(())
}

fn confirm(folder: &Path) -> anyhow::Result<bool> {
    if !std::io::stdin().is_terminal() || !std::io::stderr().is_terminal() {
        return Ok(false);
    }
    let mut err = std::io::stderr().lock();
    write!(err, "Trust {} and let this run? [y/N] ", clean(&folder.display().to_string()))?;
    err.flush()?;
    let mut line = String::new();
    if std::io::stdin().read_line(&mut line).context("cannot read the answer")? == 0 {
        // Ctrl-D leaves the cursor after the question.
        writeln!(err)?;
    }
    Ok(matches!(line.trim().to_ascii_lowercase().as_str(), "y" | "yes"))
}

fn list(file: &TrustFile, as_json: bool) -> anyhow::Result<Exit> {
    let mut out = std::io::stdout().lock();
    let folders = file.list()?;
    if folders.is_empty() && !as_json {
        tell("weir: no trusted folders");
    }
    for (folder, trusted) in folders {
        if as_json {
            writeln!(out, "{}", json!({"folder": folder, "by": trusted.by, "at": trusted.at}))?;
        } else {
            writeln!(out, "{}", clean(&folder.display().to_string()))?;
        }
    }
    Ok(Exit::Success)
}
