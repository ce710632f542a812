//! `weir man`: manual pages, generated from the `--help` texts.

use std::path::Path;

use anyhow::Context as _;
use clap::CommandFactory as _;

use crate::exit::Exit;
use crate::opts::{ManOpts, Opts};

/// Writes the manual pages.
pub(crate) fn run(opts: &ManOpts) -> anyhow::Result<Exit> {
    write(&opts.folder).with_context(|| format!("cannot write manual pages to {}", opts.folder.display()))?;
    Ok(Exit::Success)
}

fn write(folder: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(folder)?;
    // The version in a page's footer is the short one.
    clap_mangen::generate_to(Opts::command().long_version(None::<&str>), folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_has_a_page() {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path()).unwrap();
        for command in Opts::command().get_subcommands() {
            let page = folder.path().join(format!("weir-{}.1", command.get_name()));
            let text = std::fs::read_to_string(&page).unwrap();
            assert!(text.contains(".SH SYNOPSIS"), "{}", page.display());
        }
        assert!(folder.path().join("weir-loop-run.1").exists());
    }
}
