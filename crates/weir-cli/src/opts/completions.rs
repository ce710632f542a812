//! Options of `weir completions`.

use clap::Args;
use clap_complete::Shell;

/// Prints a completion script for a shell
#[derive(Debug, Clone, Copy, Args)]
#[command(after_help = "bash: weir completions bash > ~/.local/share/bash-completion/completions/weir\n\
zsh:  weir completions zsh > DIRECTORY/_weir, where DIRECTORY is one of $fpath\n\
fish: weir completions fish > ~/.config/fish/completions/weir.fish")]
pub(crate) struct CompletionsOpts {
    /// The shell
    pub(crate) shell: Shell,
}
