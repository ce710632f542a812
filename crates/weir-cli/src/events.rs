//! Prints normalised events, one JSON object per line.

use std::io::{self, Write};

use serde::Serialize;
use weir_transcript::{AgentVocabulary, Change, ClassicVocabulary, HostEvent, View};

/// Prints changes in one of the vocabularies, or nothing.
pub(crate) enum EventPrinter {
    Agent(AgentVocabulary),
    Classic(ClassicVocabulary),
    Nothing,
}

impl EventPrinter {
    pub(crate) fn agent() -> Self {
        Self::Agent(AgentVocabulary::default())
    }

    pub(crate) fn classic() -> Self {
        Self::Classic(ClassicVocabulary::default())
    }

    pub(crate) fn change(
        &mut self,
        view: &View,
        change: &Change<'_>,
        out: &mut (impl Write + ?Sized),
    ) -> io::Result<()> {
        match self {
            Self::Agent(vocabulary) => print_all(out, |tell| vocabulary.translate(view, change, tell)),
            Self::Classic(vocabulary) => print_all(out, |tell| vocabulary.translate(view, change, tell)),
            Self::Nothing => Ok(()),
        }
    }

    /// Prints an event of the host. Call it after the changes that the event caused.
    pub(crate) fn host(
        &mut self,
        view: &View,
        event: &HostEvent,
        out: &mut (impl Write + ?Sized),
    ) -> io::Result<()> {
        match self {
            Self::Agent(vocabulary) => print_all(out, |tell| vocabulary.host(view, event, tell)),
            Self::Classic(vocabulary) => print_all(out, |tell| vocabulary.host(view, event, tell)),
            Self::Nothing => Ok(()),
        }
    }
}

/// Prints the events that are told, until one cannot be written.
fn print_all<E: Serialize>(
    out: &mut (impl Write + ?Sized),
    translate: impl FnOnce(&mut dyn FnMut(E)),
) -> io::Result<()> {
    let mut written = Ok(());
    translate(&mut |event| {
        if written.is_ok() {
            written = print(&event, out);
        }
    });
    written
}

fn print(event: &impl Serialize, out: &mut (impl Write + ?Sized)) -> io::Result<()> {
    serde_json::to_writer(&mut *out, event)?;
    out.write_all(b"\n")
}
