//! Reads how a session ended from its raw log alone: for a run that was killed, and for the replay of a run.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use weir_transcript::{Fold, FoldOptions, HostEvent, SummaryBuilder, TurnState, View};
use weir_wire::{Decoder, Framer, Line, Message, SystemMessage};

use super::hooks::Rules;
use super::run::{AgentEnd, AgentRun, DeniedTool, LimitInfo, ModelUse, Setup};

/// Entries that the fold keeps: enough to match results with their calls.
const KEPT_ENTRIES: usize = 256;

/// Bytes of a log that are searched for the session id, which is in the first lines.
const SEARCHED_BYTES: u64 = 1 << 20;

/// Finds the raw log of a session in a folder.
pub fn find_log(folder: &Path, session_id: &str) -> Option<PathBuf> {
    let mut names: Vec<PathBuf> =
        std::fs::read_dir(folder).ok()?.filter_map(|entry| Some(entry.ok()?.path())).collect();
    names.retain(|path| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        name.ends_with(".ndjson") && !name.ends_with(".in.ndjson")
    });
    names.sort();
    names.into_iter().rev().find(|path| mentions(path, session_id))
}

fn mentions(path: &Path, session_id: &str) -> bool {
    let mut head = Vec::new();
    let read = File::open(path).and_then(|file| file.take(SEARCHED_BYTES).read_to_end(&mut head));
    read.is_ok() && head.windows(session_id.len()).any(|part| part == session_id.as_bytes())
}

/// How a session ended, if its log has a result. A session without a result was cut off.
pub fn run_from_log(path: &Path, cwd: &Path, protected: &[PathBuf]) -> std::io::Result<Option<AgentRun>> {
    let rules = Rules { cwd: cwd.to_owned(), protected: protected.to_vec() };
    let (run, has_result) = read_run(path, &rules)?;
    Ok(has_result.then_some(run))
}

/// Everything the log says about a session, and whether it has a result.
pub(super) fn read_run(path: &Path, rules: &Rules) -> std::io::Result<(AgentRun, bool)> {
    let LogContent { fold, summary, setup } = read(path)?;
    let view = fold.view();
    let turn = view.turns.iter().rev().find(|turn| turn.result.is_some());
    let mut run = describe(view, &summary, rules);
    run.setup = setup.map(Arc::new);
    if let Some(turn) = turn {
        let was_cut =
            turn.state == TurnState::Interrupted && run.denials.is_empty() && run.unanswered.is_empty();
        run.end = if was_cut { AgentEnd::Interrupted } else { AgentEnd::Answered };
        run.duration_ms = turn.result.as_ref().and_then(|result| result.duration_ms).unwrap_or(0);
    }
    run.log = Some(path.to_owned());
    let stderr = path.with_extension("stderr");
    run.stderr_log = stderr.is_file().then_some(stderr);
    Ok((run, turn.is_some()))
}

/// The final text of a session, or what it said until then if there is no result.
pub fn answer_from_log(path: &Path) -> std::io::Result<String> {
    let LogContent { fold, summary, .. } = read(path)?;
    Ok(summary.summary(fold.view()).final_text.unwrap_or_default())
}

/// The content of a log.
struct LogContent {
    fold: Fold,
    summary: SummaryBuilder,
    /// From the first turn.
    setup: Option<Setup>,
}

/// The session's setup, if this is its `init` line.
pub(super) fn setup_of(line: &Line<'_>) -> Option<Setup> {
    match line.body.message() {
        Some(Message::System(SystemMessage::Init(init))) => Some(Setup::of(init)),
        _ => None,
    }
}

fn read(path: &Path) -> std::io::Result<LogContent> {
    let mut setup = None;
    let mut fold = Fold::new(FoldOptions { keep_entries: Some(KEPT_ENTRIES), ..FoldOptions::default() });
    let mut summary = SummaryBuilder::new();
    let mut framer = Framer::new();
    let mut decoder = Decoder::new();
    let mut file = File::open(path)?;
    loop {
        let space = framer.space();
        let count = match file.read(space) {
            Ok(0) => break,
            Ok(count) => count,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        framer.filled(count);
        while let Some(frame) = framer.next_frame() {
            let line = decoder.decode_frame(frame);
            setup = setup.or_else(|| setup_of(&line));
            fold.line(&line, &mut |view, change| summary.observe(view, change));
        }
    }
    // A last line that was cut off is not a result.
    fold.host(&HostEvent::RecordingEnded, &mut |view, change| summary.observe(view, change));
    Ok(LogContent { fold, summary, setup })
}

/// Everything the stream itself says about a session.
pub(super) fn describe(view: &View, summary: &SummaryBuilder, rules: &Rules) -> AgentRun {
    let summarized = summary.summary(view);
    let is_empty = !view.turns.is_empty() && view.turns.iter().all(|turn| turn.state == TurnState::Empty);
    let result = view
        .turns
        .iter()
        .rev()
        .filter(|turn| turn.state != TurnState::Empty)
        .find_map(|turn| turn.result.as_ref());
    let models: Vec<ModelUse> = view
        .cost
        .models
        .iter()
        .map(|model| ModelUse {
            model: model.model.clone(),
            tokens: model.input_tokens
                + model.output_tokens
                + model.cache_read_tokens
                + model.cache_creation_tokens,
            usd: model.usd,
        })
        .collect();
    let main_loop = summarized.usage.map_or(0, |usage| {
        usage.input_tokens
            + usage.output_tokens
            + usage.cache_read_input_tokens
            + usage.cache_creation_input_tokens
    });
    let mut run = AgentRun {
        session_id: summarized.session_id.as_ref().map(ToString::to_string),
        forked: summarized.session_forked,
        model: summarized.model,
        version: summarized.version,
        text: summarized.final_text.unwrap_or_default(),
        degraded: summarized.degraded,
        subtype: summarized.subtype,
        // Only the loop interrupts its sessions, and it notes why itself. Here it is a turn without an answer.
        is_error: summarized.is_error || summarized.interrupted,
        errors: result.map(|result| result.errors.clone()).unwrap_or_default(),
        api_error_status: result.and_then(|result| result.api_error_status),
        is_empty,
        turns: summarized.num_turns,
        cost_usd: summarized.cost_usd,
        tokens: if models.is_empty() { main_loop } else { models.iter().map(|model| model.tokens).sum() },
        models,
        tools: summary.tools(),
        rate_limit: view.rate_limit.as_ref().map(|limit| LimitInfo {
            rejected: limit.status == "rejected",
            resets_at: limit.resets_at,
            limit: limit.limit.clone(),
            utilization: limit.utilization,
        }),
        malformed_lines: summarized.malformed_lines,
        ..AgentRun::default()
    };
    for denial in summarized.permission_denials {
        if denial.tool_name == "AskUserQuestion" {
            let question =
                denial.tool_input.get("questions").and_then(|all| all.get(0)?.get("question")?.as_str());
            run.unanswered.push(question.unwrap_or("a question").to_owned());
        } else if rules.forbids(&denial.tool_name, &denial.tool_input).is_none() {
            run.denials.push(DeniedTool::new(&denial.tool_name, denial.tool_input));
        }
    }
    run
}
