//! `weir service`: the server as a user service.

mod definition;
mod launchd;
mod manager;
mod systemd;

use std::any::TypeId;
use std::io::Write as _;
use std::path::PathBuf;

use anyhow::{Context as _, bail};
use clap::CommandFactory as _;

use crate::exit::{Exit, tell};
use crate::opts::{Opts, ServiceCommand, ServiceInstallOpts};
use definition::Definition;
use manager::Manager;

/// Runs the command.
pub(crate) async fn run(command: &ServiceCommand) -> anyhow::Result<Exit> {
    let Some(manager) = this_manager() else {
        bail!(
            "services are supported only on Linux with systemd and on macOS; start `weir serve` in another way"
        );
    };
    match command {
        ServiceCommand::Install(opts) => install(&manager, opts).await,
        ServiceCommand::Status => status(&manager).await,
        ServiceCommand::Uninstall => uninstall(&manager).await,
    }
}

fn this_manager() -> Option<Manager> {
    if cfg!(target_os = "macos") {
        launchd::manager()
    } else if cfg!(target_os = "linux") {
        systemd::manager()
    } else {
        None
    }
}

async fn install(manager: &Manager, opts: &ServiceInstallOpts) -> anyhow::Result<Exit> {
    let serve = check_options(&opts.serve)?;
    let definition = Definition::of_this_program(&serve)?;
    let text = (manager.render)(&definition);
    if opts.print {
        std::io::stdout().write_all(text.as_bytes())?;
        return Ok(Exit::Success);
    }
    let file = &manager.file;
    let folder = file.parent().context("the unit has no folder")?;
    std::fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    weir_base::file::replace(file, text.as_bytes())
        .with_context(|| format!("cannot write {}", file.display()))?;
    tell(&format!("Wrote {}", file.display()));
    if opts.no_start {
        return Ok(Exit::Success);
    }
    for step in &manager.start {
        step.run().await.context("the service is installed but could not be started")?;
    }
    tell(&format!("The service is running. Its log: {}", manager.logs));
    tell("`weir token add NAME` creates a token for the page.");
    if let Some(note) = manager.note {
        tell(note);
    }
    Ok(Exit::Success)
}

/// The options of `weir serve`, refused now if `weir serve` would later refuse them in the background.
fn check_options(serve: &[String]) -> anyhow::Result<Vec<String>> {
    let command = Opts::command();
    let Some(options) = command.find_subcommand("serve") else { return Ok(serve.to_vec()) };
    let is_path = |name: &str, value: &str| {
        let option = options.get_arguments().find(|option| option.get_long() == Some(name));
        let takes_path =
            option.is_some_and(|option| option.get_value_parser().type_id() == TypeId::of::<PathBuf>());
        // A plain name of the CLI is looked up in PATH.
        takes_path && (name != "claude" || value.contains('/'))
    };
    let folder = std::env::current_dir().context("cannot determine the current folder")?;
    let serve = definition::absolute_paths(serve, &folder, is_path);
    let words = ["weir", "serve"].into_iter().map(str::to_owned).chain(serve.iter().cloned());
    if let Err(error) = command.try_get_matches_from(words) {
        // Prints the error as `weir serve` would, and exits with its exit code.
        error.exit();
    }
    Ok(serve)
}

async fn status(manager: &Manager) -> anyhow::Result<Exit> {
    if !manager.file.exists() {
        println(&format!("not installed ({} does not exist)", manager.file.display()))?;
        return Ok(Exit::ErrorResult);
    }
    let is_running = manager.is_running.succeeds().await?;
    println(&format!(
        "{}\nunit  {}\nlog   {}",
        if is_running { "running" } else { "installed but not running" },
        manager.file.display(),
        manager.logs
    ))?;
    Ok(if is_running { Exit::Success } else { Exit::ErrorResult })
}

async fn uninstall(manager: &Manager) -> anyhow::Result<Exit> {
    let file = &manager.file;
    if !file.exists() {
        tell(&format!("The service is not installed ({} does not exist)", file.display()));
        return Ok(Exit::Success);
    }
    for step in &manager.stop {
        step.run().await.context("the service could not be stopped, so it was not removed")?;
    }
    std::fs::remove_file(file).with_context(|| format!("cannot remove {}", file.display()))?;
    for step in &manager.forget {
        step.run().await?;
    }
    tell(&format!("Removed {}. Sessions and settings stay where they are.", file.display()));
    Ok(Exit::Success)
}

fn println(text: &str) -> std::io::Result<()> {
    writeln!(std::io::stdout(), "{text}")
}
