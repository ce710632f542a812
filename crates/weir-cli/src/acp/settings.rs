//! Turns command-line options into settings of `weir acp`.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use weir_acp::{Dial, Offer};
use weir_server::ServerSettings;
use weir_session::PoolOptions;

use crate::conversation::environment;
use crate::engine::Engine;
use crate::exit::UsageError;
use crate::fence::Fence;
use crate::opts::AcpOpts;
use crate::serve::data_directory;

/// Settings of `weir acp`, for the case that it hosts sessions itself.
pub(crate) struct Settings {
    /// The server that has the sessions instead.
    pub(super) server: Option<Dial>,
    pub(super) engine: Engine,
    pub(super) offer: Offer,
}

impl Settings {
    pub(super) fn resolve(opts: AcpOpts) -> anyhow::Result<Self> {
        let server = opts.server.map(|address| dial(&address, opts.token_file.as_deref())).transpose()?;
        let data_directory = data_directory(opts.data)?;
        let roots = roots(opts.root)?;
        let (environment, secrets) = environment(&opts.env, &[])?;
        let fence = Fence::resolve(opts.sandbox, &data_directory);
        if let Some(fence) = &fence {
            fence.keep_out(&roots, [])?;
        }
        let mut offer = offer(&ServerSettings::default());
        if !opts.offer_model.is_empty() {
            offer.models = opts.offer_model;
        }
        if opts.allow_bypass_permissions {
            offer.modes.push("bypassPermissions".to_owned());
        }
        for name in opts.slash_command {
            let name = name.trim_start_matches('/').to_owned();
            if weir_wire::slash_command(&name, "").is_none() {
                return Err(UsageError(format!("--slash-command {name}: not a valid command name")).into());
            }
            offer.commands.push(name);
        }
        let mut pool = PoolOptions::default();
        pool.max_processes = usize::from(opts.max_processes);
        pool.idle = Some(opts.idle);
        let engine = Engine {
            fence,
            program: opts.claude,
            secrets,
            log_directory: opts.log_dir,
            pool,
            spares: opts.spares.map_or_else(crate::machine::spares, usize::from),
            ask_timeout: opts.ask_timeout,
            ..Engine::new(data_directory, roots, environment)
        };
        Ok(Self { server, engine, offer })
    }
}

/// The server at this address, with the token of the file or of the environment.
fn dial(address: &str, token_file: Option<&Path>) -> anyhow::Result<Dial> {
    let token = match token_file {
        Some(file) => {
            Some(std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?)
        }
        None => std::env::var("WEIR_TOKEN").ok().filter(|token| !token.is_empty()),
    };
    Dial::new(address, token.as_deref()).map_err(|error| UsageError(format!("--server: {error}")).into())
}

/// What editors can choose from where a server with these settings has the sessions.
pub(crate) fn offer(settings: &ServerSettings) -> Offer {
    Offer {
        models: settings.models.clone(),
        modes: settings.permission_modes.clone(),
        commands: settings.slash_commands.clone(),
    }
}

/// The given roots, or the home folder and the folder in which the editor started this program.
fn roots(given: Vec<PathBuf>) -> anyhow::Result<Vec<PathBuf>> {
    let resolve = |root: PathBuf| match root.canonicalize() {
        Ok(folder) if folder.is_dir() => Ok(folder),
        _ => Err(UsageError(format!("--root {}: folder not found", root.display()))),
    };
    if !given.is_empty() {
        return Ok(given.into_iter().map(resolve).collect::<Result<_, _>>()?);
    }
    let home = std::env::home_dir();
    // Editors that are started by a desktop begin at the root of all files, which no one has chosen.
    let current = std::env::current_dir().ok().filter(|folder| folder.parent().is_some());
    let mut roots: Vec<PathBuf> =
        home.into_iter().chain(current).filter_map(|root| resolve(root).ok()).collect();
    roots.dedup();
    if roots.is_empty() {
        return Err(UsageError("no folder to work in was found; choose one with --root".to_owned()).into());
    }
    Ok(roots)
}
