//! Exports a session.

use std::fs::OpenOptions;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use anyhow::Context as _;
use serde_json::json;
use weir_transcript::HostEvent;
use weir_transcript::export;
use weir_transcript::import::{ImportedBody, import};

use super::settings::{Form, Places};
use weir_session::transcripts::LoadedTranscript;

pub(super) fn run(id: &str, form: Form, file: Option<&Path>, places: &Places) -> anyhow::Result<()> {
    let (found, loaded) = super::read(&places.transcripts()?, id)?;
    let Some(path) = file else {
        return Ok(write(&loaded, &found.id, form, &mut io::stdout().lock())?);
    };
    // An existing file is not overwritten.
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let failed = || format!("cannot write {}", path.display());
    let file = options.open(path).with_context(failed)?;
    write(&loaded, &found.id, form, &mut { file }).with_context(failed)
}

fn write(loaded: &LoadedTranscript, session: &str, form: Form, out: &mut dyn Write) -> io::Result<()> {
    let mut out = BufWriter::new(out);
    match form {
        Form::Lines => lines(loaded, session, &mut out)?,
        Form::Markdown | Form::Html => {
            let (view, _) = loaded.view();
            let mut text = String::new();
            let written = match form {
                Form::Html => export::html(&view, &mut text),
                _ => export::markdown(&view, &mut text),
            };
            written.map_err(io::Error::other)?;
            out.write_all(text.as_bytes())?;
        }
    }
    out.flush()
}

/// The lines as the CLI would have streamed them, with the user's messages in the format of
/// `--replay-user-messages`.
fn lines(loaded: &LoadedTranscript, session: &str, out: &mut impl Write) -> io::Result<()> {
    let mut written = Ok(());
    import(&loaded.transcript(), &mut |event| {
        let line = match event.body {
            ImportedBody::Line(line) => line,
            ImportedBody::Host(HostEvent::MessageQueued { message, text, .. }) => {
                let content = json!({"role": "user", "content": text});
                let line = json!({
                    "type": "user", "message": content, "parent_tool_use_id": null, "session_id": session,
                    "uuid": message, "isReplay": true,
                });
                line.to_string().into_bytes()
            }
            ImportedBody::Host(_) => return,
        };
        if written.is_ok() {
            written = out.write_all(&line).and_then(|()| out.write_all(b"\n"));
        }
    });
    written
}
