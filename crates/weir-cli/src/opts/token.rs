//! Options of `weir token`.

use std::time::Duration;

use clap::{Args, Subcommand};
use weir_server::Role;

use super::{DataOpts, values};

/// Creates, lists and revokes the tokens of a server
///
/// Works while the server runs: a revoked token stops working immediately, even for open pages.
#[derive(Debug, Args)]
pub(crate) struct TokenOpts {
    #[command(subcommand)]
    pub(crate) command: TokenCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum TokenCommand {
    /// Creates a token and prints it; it is shown only once
    Add(AddTokenOpts),
    /// Lists tokens, without their secrets
    List {
        /// Print JSON, one object per line
        #[arg(long)]
        json: bool,

        #[command(flatten)]
        data: DataOpts,
    },
    /// Revokes tokens
    Revoke {
        /// The tokens' ids, or the names of their holders
        #[arg(required = true, value_name = "ID|NAME")]
        tokens: Vec<String>,

        #[command(flatten)]
        data: DataOpts,
    },
}

#[derive(Debug, Args)]
pub(crate) struct AddTokenOpts {
    /// The name of the holder
    pub(crate) name: String,

    /// What it permits: viewer (see), approver (answer, interrupt, stop), driver (begin, send, delete), admin (tokens)
    #[arg(long, default_value = "driver")]
    pub(crate) role: Role,

    /// Restrict it to this session
    #[arg(long, value_name = "ID", value_parser = values::session)]
    pub(crate) session: Option<String>,

    /// How long it is valid, such as 12h or 30d; by default until it is revoked
    #[arg(long, value_name = "TIME", value_parser = values::time)]
    pub(crate) expires: Option<Duration>,

    /// How much its holder may spend, in dollars by the CLI's estimate
    #[arg(long, value_name = "USD", value_parser = values::cost)]
    pub(crate) max_cost: Option<f64>,

    /// How many requests its holder may make per minute
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) requests_per_minute: Option<u32>,

    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,

    #[command(flatten)]
    pub(crate) data: DataOpts,
}
