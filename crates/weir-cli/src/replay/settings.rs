//! Settings of `weir replay`.

use std::path::PathBuf;

use crate::opts::{FormatOpt, OutputOpt, ReplayOpts};

/// What to replay, and how.
#[derive(Debug)]
pub(crate) struct Settings {
    /// `None` for the standard input.
    pub(super) file: Option<PathBuf>,
    pub(super) output: Output,
    pub(super) speed: Option<f64>,
    pub(super) line_limit: usize,
    pub(super) quiet: bool,
}

/// What to print.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Output {
    Json,
    AgentEvents,
    ClassicEvents,
    View,
    Raw,
}

impl From<ReplayOpts> for Settings {
    fn from(opts: ReplayOpts) -> Self {
        let output = match (opts.output, opts.format) {
            (OutputOpt::Json, _) => Output::Json,
            (OutputOpt::Events, FormatOpt::Agent) => Output::AgentEvents,
            (OutputOpt::Events, FormatOpt::Classic) => Output::ClassicEvents,
            (OutputOpt::View, _) => Output::View,
            (OutputOpt::Raw, _) => Output::Raw,
        };
        Self {
            file: opts.file.filter(|file| file.as_os_str() != "-"),
            output,
            speed: opts.speed,
            line_limit: opts.line_limit,
            quiet: opts.quiet,
        }
    }
}
