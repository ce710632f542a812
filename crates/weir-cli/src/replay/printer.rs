//! Prints what changes, in the form that was asked for.

use std::io::{self, Write};

use serde::Serialize;
use weir_transcript::{AgentVocabulary, Change, ClassicVocabulary, View};

use super::settings::Output;

pub(super) enum Printer {
    Agent(AgentVocabulary),
    Classic(ClassicVocabulary),
    /// The whole is printed at the end, or the lines were printed already.
    Nothing,
}

impl Printer {
    pub(super) fn new(output: Output) -> Self {
        match output {
            Output::AgentEvents => Self::Agent(AgentVocabulary::default()),
            Output::ClassicEvents => Self::Classic(ClassicVocabulary::default()),
            Output::Json | Output::View | Output::Raw => Self::Nothing,
        }
    }

    pub(super) fn change(
        &mut self,
        view: &View,
        change: &Change<'_>,
        out: &mut impl Write,
    ) -> io::Result<()> {
        let mut written = Ok(());
        match self {
            Self::Agent(vocabulary) => vocabulary.translate(view, change, &mut |event| {
                if written.is_ok() {
                    written = print(&event, out);
                }
            }),
            Self::Classic(vocabulary) => vocabulary.translate(view, change, &mut |event| {
                if written.is_ok() {
                    written = print(&event, out);
                }
            }),
            Self::Nothing => {}
        }
        written
    }
}

fn print(event: &impl Serialize, out: &mut impl Write) -> io::Result<()> {
    serde_json::to_writer(&mut *out, event)?;
    out.write_all(b"\n")
}
