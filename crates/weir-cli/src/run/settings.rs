//! Settings of `weir run`.

use std::io::{IsTerminal as _, Read as _};
use std::time::Duration;

use anyhow::Context as _;
use weir_session::Attachment;

use crate::conversation::{SessionSettings, attachments, read_json};
use crate::exit::UsageError;
use crate::opts::{FormatOpt, RunOpts, RunOutputOpt};

/// One prompt, and how to run it.
pub(crate) struct Settings {
    pub(super) prompt: String,
    pub(super) attachments: Vec<Attachment>,
    pub(super) form: Form,
    pub(super) quiet: bool,
    /// Whether to wait for background tasks.
    pub(super) wait: bool,
    pub(super) timeout: Option<Duration>,
    pub(super) session: SessionSettings,
}

/// What to print.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    Text,
    /// The value that the schema describes, and nothing else.
    Value,
    Json,
    AgentEvents,
    ClassicEvents,
    Raw,
}

impl Settings {
    pub(crate) fn resolve(opts: RunOpts) -> anyhow::Result<Self> {
        let form = match (opts.output, opts.format) {
            (RunOutputOpt::Text, _) if opts.schema.is_some() => Form::Value,
            (RunOutputOpt::Text, _) => Form::Text,
            (RunOutputOpt::Json, _) => Form::Json,
            (RunOutputOpt::Events, FormatOpt::Agent) => Form::AgentEvents,
            (RunOutputOpt::Events, FormatOpt::Classic) => Form::ClassicEvents,
            (RunOutputOpt::Raw, _) => Form::Raw,
        };
        let mut session = SessionSettings::resolve(opts.session, "run", opts.cli_flags)?;
        if let Some(file) = &opts.schema {
            let schema = read_json("--schema", file)?;
            if let Some(why) = weir_wire::output_schema::problem(&schema) {
                anyhow::bail!("--schema {}: not a JSON Schema that can be used: {why}", file.display());
            }
            session.spec.output_schema = Some(schema);
        }
        // Before standard input is read, which may take long.
        let attachments = attachments(&opts.attach)?;
        let prompt = prompt(opts.prompt)?;
        if !opts.quiet {
            crate::trust::warn_if_ignored(session.cwd.as_deref(), &session.trust);
        }
        Ok(Self {
            prompt,
            attachments,
            form,
            quiet: opts.quiet,
            wait: !opts.no_wait,
            timeout: opts.timeout,
            session,
        })
    }
}

/// The prompt: the argument, or the standard input.
fn prompt(typed: Option<String>) -> anyhow::Result<String> {
    let stdin = std::io::stdin();
    let text = match typed {
        Some(text) if text != "-" => text,
        None if stdin.is_terminal() => {
            let help = "no prompt: pass one as an argument, or pipe one in (for a chat, use `weir chat`)";
            return Err(UsageError(help.into()).into());
        }
        _ => {
            let mut bytes = Vec::new();
            stdin.lock().read_to_end(&mut bytes).context("cannot read the prompt from the standard input")?;
            String::from_utf8(bytes)
                .map_err(|_| UsageError("the prompt on the standard input is not UTF-8".into()))?
        }
    };
    if text.trim().is_empty() {
        return Err(UsageError("the prompt is empty".into()).into());
    }
    Ok(text)
}
