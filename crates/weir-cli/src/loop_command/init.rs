//! `weir loop init`.

use std::io::Write as _;
use std::path::Path;

use anyhow::Context as _;
use weir_loop::config::Config;
use weir_loop::detect;
use weir_loop::shell::Folders;

use crate::exit::{Exit, UsageError};

pub(super) fn run(workspace: &Path, force: bool) -> anyhow::Result<Exit> {
    let file = workspace.join("weir.toml");
    if file.exists() && !force {
        let text = format!("{} already exists; --force overwrites it", file.display());
        return Err(UsageError(text).into());
    }
    let found = detect::detect(workspace);
    std::fs::write(&file, detect::config_text(&found))
        .with_context(|| format!("cannot write {}", file.display()))?;
    let config = Config::default();
    Folders::new(workspace, &config.folder).create()?;
    let mut out = std::io::stdout().lock();
    writeln!(out, "Wrote weir.toml and created .ralph, which git ignores.")?;
    let gates = &found.gates;
    if gates.is_empty() {
        writeln!(out, "No checks found: add gates to weir.toml, or nothing will check the work.")?;
    }
    for gate in gates {
        writeln!(out, "Gate {}: {}", gate.name, gate.command.join(" "))?;
    }
    let protected = found.ecosystems.iter().map(|kind| format!("what checks {} code", kind.name()));
    let protected = protected.chain(found.protected.iter().map(|path| path.display().to_string()));
    let protected: Vec<String> = protected.collect();
    if !protected.is_empty() {
        writeln!(out, "Protected: {}", protected.join(", "))?;
    }
    if workspace.join(&config.tasks).exists() {
        writeln!(out, "Next: commit weir.toml, then `weir loop run --dry-run`.")?;
    } else {
        writeln!(
            out,
            "Next: write TASKS.md (`- [ ] what to do`) or `weir loop plan PRD.md`, commit, then `weir loop run --dry-run`."
        )?;
    }
    Ok(Exit::Success)
}
