//! `weir token` as it is typed.

use std::time::Duration;

use clap::{Args, Subcommand};
use weir_server::Role;

use super::{DataOpts, values};

/// Makes, lists and revokes the tokens of a server
///
/// Works while the server runs: a token that is revoked is no good at once, also for pages that are open.
#[derive(Debug, Args)]
pub(crate) struct TokenOpts {
    #[command(subcommand)]
    pub(crate) command: TokenCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum TokenCommand {
    /// Makes a token and prints it, which is the only time that it is shown
    Add(AddTokenOpts),
    /// Lists tokens, without their secrets
    List {
        /// Print JSON, one object a line
        #[arg(long)]
        json: bool,

        #[command(flatten)]
        data: DataOpts,
    },
    /// Takes tokens back
    Revoke {
        /// Their ids, or the names of their holders
        #[arg(required = true, value_name = "ID|NAME")]
        tokens: Vec<String>,

        #[command(flatten)]
        data: DataOpts,
    },
}

#[derive(Debug, Args)]
pub(crate) struct AddTokenOpts {
    /// Who gets it
    pub(crate) name: String,

    /// What it may do: viewer (see), approver (answer, interrupt, stop), driver (begin, send, delete), admin (tokens)
    #[arg(long, default_value = "driver")]
    pub(crate) role: Role,

    /// The one session that it is good for
    #[arg(long, value_name = "ID", value_parser = values::session)]
    pub(crate) session: Option<String>,

    /// How long it is good, such as 12h or 30d; until it is revoked where nothing is said
    #[arg(long, value_name = "TIME", value_parser = values::time)]
    pub(crate) expires: Option<Duration>,

    /// What its holder may spend, in dollars by the CLI's estimate
    #[arg(long, value_name = "USD", value_parser = values::cost)]
    pub(crate) max_cost: Option<f64>,

    /// How many requests its holder may make in a minute
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) requests_per_minute: Option<u32>,

    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) data: DataOpts,
}
