//! `weir loop config`.

use std::io::Write as _;

use weir_loop::config::{Level, check, load, schema};

use crate::exit::{Exit, UsageError};
use crate::opts::LoopConfigCommand;
use crate::screen::Style;

pub(super) fn run(command: LoopConfigCommand) -> anyhow::Result<Exit> {
    let mut out = std::io::stdout().lock();
    if let LoopConfigCommand::Schema = command {
        writeln!(out, "{}", serde_json::to_string_pretty(&schema())?)?;
        return Ok(Exit::Success);
    }
    let file = load(&std::env::current_dir()?, None).map_err(|error| UsageError(error.to_string()))?;
    let LoopConfigCommand::Check { json } = command else {
        writeln!(out, "{}", serde_json::to_string_pretty(&file.config)?)?;
        return Ok(Exit::Success);
    };
    let findings = check(&file.config);
    let is_wrong = findings.iter().any(|finding| finding.level == Level::Error);
    if json {
        writeln!(out, "{}", serde_json::to_string(&findings)?)?;
    } else {
        let style = Style::for_stdout();
        let name = file.path.map_or_else(
            || "the defaults (no weir.toml found)".to_owned(),
            |path| path.display().to_string(),
        );
        for finding in &findings {
            let mark = if finding.level == Level::Error { style.bad("✗") } else { style.careful("!") };
            writeln!(out, "{mark} {}: {}", finding.place, finding.message)?;
        }
        if findings.is_empty() {
            writeln!(out, "{} {name}: no problems found", style.good("✓"))?;
        }
    }
    Ok(if is_wrong { Exit::Usage } else { Exit::Success })
}
