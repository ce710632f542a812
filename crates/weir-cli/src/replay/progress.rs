//! A progress bar for large files, on a terminal.

use std::io::{self, IsTerminal as _};

use indicatif::{ProgressBar, ProgressStyle};

use super::Settings;
use super::settings::Output;

/// A smaller file is read too quickly for a progress bar.
const LARGE: u64 = 64 << 20;

pub(super) struct Progress {
    bar: Option<ProgressBar>,
}

impl Progress {
    pub(super) fn new(length: Option<u64>, settings: &Settings) -> Self {
        // On the same terminal, the bar and the output would overwrite each other, unless the output comes at the end.
        let at_the_end = matches!(settings.output, Output::Json | Output::View);
        let visible =
            io::stderr().is_terminal() && (at_the_end || !io::stdout().is_terminal()) && !settings.quiet;
        let bar = length.filter(|length| visible && *length >= LARGE).map(|length| {
            let style =
                ProgressStyle::with_template("{bar:30} {bytes}/{total_bytes} {bytes_per_sec} {eta} left");
            ProgressBar::new(length).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
        });
        Self { bar }
    }

    pub(super) fn at(&self, bytes: u64) {
        if let Some(bar) = &self.bar {
            bar.set_position(bytes);
        }
    }

    pub(super) fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
