//! `weir completions`: completion scripts for shells.

use std::io::Write as _;

use clap::CommandFactory as _;
use clap_complete::Shell;

use crate::exit::Exit;
use crate::opts::Opts;

/// Prints the script. It is generated in memory first, because clap panics if the output is closed.
pub(crate) fn run(shell: Shell) -> anyhow::Result<Exit> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Opts::command(), "weir", &mut script);
    std::io::stdout().write_all(&script)?;
    Ok(Exit::Success)
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory as _, ValueEnum as _};
    use clap_complete::Shell;

    use crate::opts::Opts;

    #[test]
    fn every_shell_gets_every_command() {
        for shell in Shell::value_variants() {
            let mut script = Vec::new();
            clap_complete::generate(*shell, &mut Opts::command(), "weir", &mut script);
            let script = String::from_utf8(script).unwrap();
            for command in Opts::command().get_subcommands() {
                assert!(script.contains(command.get_name()), "{shell}: {}", command.get_name());
            }
        }
    }
}
