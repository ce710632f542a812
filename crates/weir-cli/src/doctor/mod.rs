//! `weir doctor`: checks the installation and says how to fix what does not work.
//!
//! Each check adds lines to the report; a failed one does not stop the others. Nothing is sent to the model, so it is free.

mod cli;
mod environment;
mod folders;
mod leftovers;
mod login;
mod report;
mod self_test;
mod settings;

use std::io::Write as _;

use crate::exit::Exit;
use crate::screen::Style;
use report::Report;
pub(crate) use settings::Settings;

pub(crate) fn run(settings: Settings) -> anyhow::Result<Exit> {
    crate::runtime::block_on(examine(settings))
}

async fn examine(settings: Settings) -> anyhow::Result<Exit> {
    let mut report = Report::new(!settings.json);
    let found = cli::check(&settings, &mut report).await;
    environment::check(found.program.as_ref(), &mut report);
    login::check(
        &settings,
        found.program.as_ref().filter(|_| found.works).map(|found| found.path.as_path()),
        &mut report,
    )
    .await;
    folders::check(&settings, &mut report);
    leftovers::check(&settings, &mut report).await;
    self_test::check(&mut report).await;
    let mut out = std::io::stdout().lock();
    if settings.json {
        writeln!(out, "{}", serde_json::to_string_pretty(&report)?)?;
    } else {
        writeln!(out, "\n{}", report.verdict(Style::for_stdout()))?;
    }
    Ok(if report.is_ok() { Exit::Success } else { Exit::ErrorResult })
}
