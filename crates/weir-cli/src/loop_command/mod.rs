//! `weir loop`: the unattended loop.

mod background;
mod configuration;
mod container;
mod dry_run;
mod frame;
mod host;
mod init;
mod inside;
mod lines;
mod merge;
mod page;
mod person;
mod plan;
mod process;
mod replay;
mod report;
mod screen;
mod start;
mod status;
mod webhook;

use std::path::PathBuf;

use anyhow::Context as _;
use weir_loop::config::{ConfigFile, Level, check, load};
use weir_loop::shell::Folders;

use crate::exit::{Exit, UsageError, tell};
use crate::opts::{LoopCommand, LoopPlaceOpts};

pub(crate) fn run(command: LoopCommand) -> anyhow::Result<Exit> {
    if let Some(place) = steers(&command) {
        inside::refuse(&Place::open(place)?.folders)?;
    }
    match command {
        LoopCommand::Init { place, force } => init::run(&Place::workspace(&place)?, force),
        LoopCommand::Plan(opts) => plan::run(opts),
        LoopCommand::Run(opts) => start::run(*opts),
        LoopCommand::Status { place, watch, json } => status::run(&Place::open(&place)?, watch, json),
        LoopCommand::Attach { place } => background::attach(&Place::open(&place)?),
        LoopCommand::Answer { place, question, answers } => {
            person::answer(&Place::open(&place)?, question, answers)
        }
        LoopCommand::Skip { place, task } => person::skip(&Place::open(&place)?, &task),
        LoopCommand::Retry { place, task } => person::retry(&Place::open(&place)?, &task),
        LoopCommand::Pause { place } => person::pause(&Place::open(&place)?),
        LoopCommand::Unpause { place } => person::unpause(&Place::open(&place)?),
        LoopCommand::Merge { place } => merge::run(Place::open(&place)?),
        LoopCommand::PullRequest { place, each: true, json, .. } => {
            report::pull_requests(&Place::open(&place)?, json)
        }
        LoopCommand::PullRequest { place, task, json, .. } => {
            report::pull_request(&Place::open(&place)?, task.as_deref(), json)
        }
        LoopCommand::Report { place, html, json, schema, run } => {
            let form = match (html, json) {
                (true, _) => report::Form::Html,
                (_, true) => report::Form::Json,
                _ => report::Form::Markdown,
            };
            if schema { report::schema() } else { report::run(&Place::open(&place)?, form, run.as_deref()) }
        }
        LoopCommand::Replay { place, run, json } => replay::run(&Place::open(&place)?, run.as_deref(), json),
        LoopCommand::Config { command } => configuration::run(command),
    }
}

/// The place of a command that steers a run, which only a person may do.
fn steers(command: &LoopCommand) -> Option<&LoopPlaceOpts> {
    match command {
        LoopCommand::Answer { place, answers, .. } if !answers.is_empty() => Some(place),
        LoopCommand::Skip { place, .. }
        | LoopCommand::Retry { place, .. }
        | LoopCommand::Pause { place }
        | LoopCommand::Unpause { place }
        | LoopCommand::Merge { place } => Some(place),
        _ => None,
    }
}

/// A loop's folders and configuration.
struct Place {
    file: ConfigFile,
    folders: Folders,
}

impl Place {
    fn workspace(opts: &LoopPlaceOpts) -> anyhow::Result<PathBuf> {
        let folder = &opts.cwd;
        folder
            .canonicalize()
            .map_err(|error| UsageError(format!("--cwd {}: {error}", folder.display())).into())
    }

    fn open(opts: &LoopPlaceOpts) -> anyhow::Result<Self> {
        let workspace = Self::workspace(opts)?;
        let given = match &opts.config {
            Some(path) => Some(std::path::absolute(path).context("cannot find the configuration")?),
            None => None,
        };
        let file = load(&workspace, given.as_deref()).map_err(|error| UsageError(error.to_string()))?;
        let folders = Folders::new(workspace, &file.config.folder);
        Ok(Self { file, folders })
    }

    /// Reports problems of the configuration. A run with errors does not start, so it spends nothing.
    fn check(&self) -> anyhow::Result<()> {
        let findings = check(&self.file.config);
        let mut is_wrong = false;
        for finding in &findings {
            let word = if finding.level == Level::Error { "error" } else { "warning" };
            tell(&format!("weir: {word}: {}: {}", finding.place, finding.message));
            is_wrong |= finding.level == Level::Error;
        }
        if is_wrong {
            let text =
                "the configuration has errors, so nothing was run; `weir loop config check` checks it again";
            return Err(UsageError(text.to_owned()).into());
        }
        Ok(())
    }
}
