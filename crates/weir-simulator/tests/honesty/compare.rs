//! Compares two transcripts.

use weir_simulator::json::Json;
use weir_testkit::real::{Exit, Place, Received};
use weir_testkit::redact::Redactor;
use weir_testkit::scenario::outline;
use weir_transcript::{Fold, FoldOptions, HostEvent};
use weir_wire::Decoder;

use crate::known;
use crate::recording::Recording;

/// Compares what the simulated CLI wrote with what was recorded.
pub(crate) fn compare(
    recording: &Recording,
    lines: &[Received],
    exit: &Exit,
    place: &Place,
) -> Result<(), String> {
    // Paths are replaced before the lines are folded, because the fold truncates long texts.
    let simulated: Vec<Vec<u8>> = lines.iter().map(|line| as_recorded(&line.bytes, place)).collect();
    let simulated: Vec<&[u8]> = simulated.iter().map(Vec::as_slice).collect();
    let recorded: Vec<&[u8]> =
        recording.output.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).collect();
    let mut real = facts(&recorded);
    let mut own = facts(&simulated);
    let own_stderr = &exit.stderr;
    if let Some(status) = recording.exit {
        real.push(format!("exit {status}"));
        own.push(format!("exit {}", exit.code.unwrap_or(-1)));
    }
    real.extend(recording.stderr.lines().map(|line| format!("stderr {line}")));
    own.extend(own_stderr.lines().map(|line| format!("stderr {line}")));
    known::judge(recording, &real, &own)
}

/// A line with the paths of the recordings.
fn as_recorded(line: &[u8], place: &Place) -> Vec<u8> {
    let Ok(text) = std::str::from_utf8(line) else { return line.to_owned() };
    let name = |path: std::path::PathBuf| path.to_str().unwrap().to_owned();
    let dashes = |path: &str| path.replace(|letter: char| !letter.is_ascii_alphanumeric(), "-");
    let (cwd, home, tmp) = (name(place.directory()), name(place.home()), name(place.temporary()));
    let user = rustix::process::getuid().as_raw();
    let text = text.replace(&format!("{tmp}/claude-{user}"), "/tmp/claude").replace(&tmp, "/tmp");
    let text = text.replace("(127.0.0.1:1)", "(gateway.example)");
    text.replace(&cwd, "/workspace/demo")
        .replace(&dashes(&cwd), "-workspace-demo")
        .replace(&home, "/home/user")
        .into_bytes()
}

/// The facts of a transcript, without anything that varies between runs.
fn facts(lines: &[&[u8]]) -> Vec<String> {
    let mut redactor = Redactor::new();
    let mut decoder = Decoder::new();
    let mut fold = Fold::new(FoldOptions::default());
    for line in lines {
        fold.line(&decoder.decode(line), &mut |_, _| {});
    }
    fold.host(&HostEvent::RecordingEnded, &mut |_, _| {});
    let kinds = lines.iter().filter_map(|line| {
        let text = String::from_utf8_lossy(line);
        let value = weir_simulator::json::parse(&text).ok()?;
        kind_of(&value)
    });
    let mut facts = outline(fold.view());
    facts.extend(kinds);
    facts.iter().map(|fact| without_numbers(&redactor.text(fact))).collect()
}

/// A description of a line that the transcript does not show, as far as it is the same each time.
fn kind_of(line: &Json) -> Option<String> {
    let kind = line.str_of("type")?;
    match kind {
        "control_response" => {
            let response = line.get("response")?;
            let id = response.str_of("request_id")?;
            Some(format!("answer to {id}: {}", response.str_of("subtype").unwrap_or_default()))
        }
        "command_lifecycle" => Some(format!("lifecycle {}", line.str_of("state").unwrap_or_default())),
        "result" => {
            let names: Vec<&str> = line.members().iter().map(|(name, _)| name.as_str()).collect();
            Some(format!("result with {}", names.join(",")))
        }
        _ => None,
    }
}

/// Removes durations and made-up names of plans and outputs.
fn without_numbers(fact: &str) -> String {
    let mut text = fact.to_owned();
    for key in [
        "duration_ms: ",
        "/.claude/plans/",
        "tool-results/",
        "Inserted cell ",
        "/tasks/",
        "running in background with ID: ",
        "n.ipynb#",
    ] {
        let mut out = String::new();
        let mut rest = text.as_str();
        while let Some(place) = rest.find(key) {
            let (before, after) = rest.split_at(place + key.len());
            out.push_str(before);
            out.push('_');
            rest = after
                .trim_start_matches(|letter: char| letter.is_ascii_alphanumeric() || "-_<>".contains(letter));
        }
        out.push_str(rest);
        text = out;
    }
    text
}
