//! Turns command-line options into server settings.

use std::path::PathBuf;

use weir_host::Retention;
use weir_server::{
    Certificate, ConnectionLimits, Rate, RequestLimits, ServeOptions, ServerSettings, Telemetry, ToolPolicy,
};
use weir_session::PoolOptions;

use crate::bridge::Prepared;
use crate::conversation::environment;
use crate::engine::Engine;
use crate::exit::UsageError;
use crate::fence::Fence;
use crate::folders;
use crate::opts::{DataOpts, ListenOpts, LogFormatOpt, LogOpts, ServeOpts};

/// Settings of `weir serve`.
pub(crate) struct Settings {
    pub(super) engine: Engine,
    pub(super) serve: ServeOptions,
    pub(super) telemetry: Telemetry,
    pub(super) print_openapi: bool,
    pub(super) bridge: Option<Prepared>,
}

impl Settings {
    pub(crate) fn resolve(opts: ServeOpts) -> anyhow::Result<Self> {
        let data_directory = data_directory(opts.data)?;
        let bridge = opts.bridge.as_deref().map(Prepared::read).transpose()?;
        let roots = roots(opts.root, bridge.as_ref().map(Prepared::roots).unwrap_or_default())?;
        let (environment, secrets) = environment(&opts.env, &[])?;
        let environment = match &bridge {
            Some(bridge) => bridge.without_secrets(environment),
            None => environment,
        };
        let telemetry = telemetry(&opts.listen.log);
        let mut settings = ServerSettings {
            base_path: base_path(&opts.listen),
            roots: roots.clone(),
            limits: limits(opts.requests_per_minute, opts.streams_per_token),
            connections: ConnectionLimits {
                max_connections: usize::from(opts.max_connections),
                ..ConnectionLimits::default()
            },
            unattended_ask_timeout: opts.unattended_ask_timeout,
            openai: opts.openai.into_settings(),
            ..ServerSettings::default()
        };
        if !opts.offer_model.is_empty() {
            settings.models = opts.offer_model;
        }
        for name in opts.slash_command {
            let name = name.trim_start_matches('/').to_owned();
            if weir_wire::slash_command(&name, "").is_none() {
                return Err(UsageError(format!("--slash-command {name}: not a valid command name")).into());
            }
            settings.slash_commands.push(name);
        }
        settings.tools = ToolPolicy::new(opts.allow_tools);
        let fence = Fence::resolve(opts.sandbox, &data_directory);
        if let Some(fence) = &fence {
            let files = [&opts.listen.ready_file, &opts.bridge, &opts.listen.tls_key];
            fence.keep_out(&roots, files.into_iter().flatten().map(PathBuf::as_path))?;
        }
        settings.sandbox = fence.is_some();
        if opts.allow_bypass_permissions {
            settings.permission_modes.push("bypassPermissions".to_owned());
        }
        let serve = ServeOptions {
            listen: opts.listen.listen,
            allow_remote: opts.listen.allow_remote,
            certificate: certificate(&opts.listen, &data_directory),
            public: opts.listen.public_url,
            data_directory: data_directory.clone(),
            ready_file: opts.listen.ready_file,
            drain: opts.listen.drain,
            settings,
        };
        let mut pool = PoolOptions::default();
        pool.max_processes = usize::from(opts.max_processes);
        pool.max_awaiting = usize::from(opts.max_awaiting);
        pool.idle = Some(opts.idle);
        let engine = Engine {
            fence,
            tools: opts.tools,
            program: opts.claude,
            secrets,
            log_directory: opts.log_dir,
            transport: opts.transport.into(),
            pool,
            spares: opts.spares.map_or_else(crate::machine::spares, usize::from),
            crowded_wait: Some(opts.crowded_wait),
            ask_timeout: opts.ask_timeout,
            retention: Retention { keep_for: opts.keep_for, keep_bytes: opts.keep_size },
            ..Engine::new(data_directory, roots, environment)
        };
        Ok(Self { engine, serve, telemetry, print_openapi: opts.print_openapi, bridge })
    }
}

/// The server's data folder.
pub(crate) fn data_directory(opts: DataOpts) -> anyhow::Result<PathBuf> {
    opts.data_dir.or_else(folders::data).ok_or_else(|| {
        UsageError("no home folder found to keep data in; choose one with --data-dir".to_owned()).into()
    })
}

/// Log and telemetry settings.
pub(crate) fn telemetry(opts: &LogOpts) -> Telemetry {
    Telemetry {
        format: match opts.log_format {
            LogFormatOpt::Text => weir_server::LogFormat::Text,
            LogFormatOpt::Json => weir_server::LogFormat::Json,
        },
        filter: opts.log.clone(),
        otlp: opts.otlp.clone(),
    }
}

fn limits(requests_per_minute: u32, streams_per_token: u16) -> RequestLimits {
    let limits = RequestLimits::default();
    let per_token =
        Rate { per_minute: requests_per_minute, burst: limits.per_token.burst.min(requests_per_minute) };
    RequestLimits { per_token, streams_per_token: usize::from(streams_per_token), ..limits }
}

/// Resolves links, so that a path can be checked reliably for being inside a root.
fn roots(given: Vec<PathBuf>, more: Vec<PathBuf>) -> anyhow::Result<Vec<PathBuf>> {
    let mut given = if given.is_empty() { vec![std::env::current_dir()?] } else { given };
    given.extend(more);
    let resolve = |root: PathBuf| match root.canonicalize() {
        Ok(folder) if folder.is_dir() => Ok(folder),
        _ => Err(UsageError(format!("--root {}: folder not found", root.display())).into()),
    };
    let mut resolved = given.into_iter().map(resolve).collect::<anyhow::Result<Vec<PathBuf>>>()?;
    let mut seen = std::collections::HashSet::new();
    resolved.retain(|root| seen.insert(root.clone()));
    Ok(resolved)
}

fn base_path(opts: &ListenOpts) -> String {
    let public = || opts.public_url.first().map(|url| url.base_path.clone());
    opts.base_path.clone().or_else(public).unwrap_or_default()
}

fn certificate(opts: &ListenOpts, data_directory: &std::path::Path) -> Option<Certificate> {
    if let (Some(chain), Some(key)) = (&opts.tls_cert, &opts.tls_key) {
        return Some(Certificate::Files { chain: chain.clone(), key: key.clone() });
    }
    opts.tls_self_signed.then(|| {
        let mut names: Vec<String> = ["localhost", "127.0.0.1", "::1"].map(str::to_owned).into();
        names.extend(opts.public_url.iter().map(|url| url.name().to_owned()));
        if !opts.listen.ip().is_loopback() && !opts.listen.ip().is_unspecified() {
            names.push(opts.listen.ip().to_string());
        }
        Certificate::SelfSigned { folder: data_directory.to_owned(), names }
    })
}
