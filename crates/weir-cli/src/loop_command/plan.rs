//! `weir loop plan`: from a document to a task list.

use std::io::{IsTerminal as _, Read as _, Write as _};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use tokio::sync::{mpsc, watch};
use weir_base::money::dollars;
use weir_base::time::{Utc, now_ms};
use weir_loop::agent::{
    Agent as _, AgentEnd, AgentRequest, AgentRun, ApprovalMessage, Approvals, Hurry, OpenAsk, Reply,
    Surroundings, match_answers,
};
use weir_loop::config::{PermissionPolicy, QuestionPolicy};
use weir_loop::judge::judge_run;
use weir_loop::prompt::PLANNER_RULES;
use weir_loop::shell::{Folders, PLAN_PROMPT, PlanAnswer, read_plan};
use weir_loop::state::{Asked, Planned, SessionFile, note_planned, planned, write_atomically};

use super::Place;
use super::lines::question;
use super::process::Process;
use crate::ask::Terminal;
use crate::exit::{Exit, UsageError, tell};
use crate::opts::LoopPlanOpts;
use crate::screen::{self, Style, clean};
use crate::signals::Signals;

/// Maximum number of question rounds of the planner, after which the document should be improved.
const MAX_ROUNDS: usize = 10;

/// How long a user at the terminal may take to answer.
const PATIENCE: Duration = Duration::from_secs(12 * 3600);

pub(super) fn run(opts: LoopPlanOpts) -> anyhow::Result<Exit> {
    let place = Place::open(&opts.place)?;
    place.check()?;
    let list = place.folders.workspace.join(&place.file.config.tasks);
    if list.exists() && !opts.force {
        let text = format!("{} already exists; --force overwrites it", list.display());
        return Err(UsageError(text).into());
    }
    place.folders.create()?;
    crate::runtime::block_on(plan(opts, place))
}

async fn plan(opts: LoopPlanOpts, place: Place) -> anyhow::Result<Exit> {
    let known = sessions(&place.folders);
    let (mut prompt, mut session, mut resume) = match (&opts.document, &opts.r#continue) {
        (_, Some(answer)) => {
            let none = || UsageError("no planner session to continue; name the document".to_owned());
            (answer.clone(), known.planner_session_id.clone().ok_or_else(none)?, true)
        }
        (Some(document), None) => {
            let text = read_document(document)?;
            (format!("{PLAN_PROMPT}\n\n{text}"), uuid::Uuid::new_v4().to_string(), false)
        }
        (None, None) => return Err(UsageError("no document given".to_owned()).into()),
    };
    let agent = Process::resolve(opts.process, &place.folders, None)?.agent();
    let config = &place.file.config;
    let list = place.folders.workspace.join(&config.tasks);
    let mut signals = Signals::new();
    let mut terminal = Terminal::open().filter(|_| std::io::stdin().is_terminal());
    for _ in 0..MAX_ROUNDS {
        let state = place.folders.state();
        let spent: f64 = planned(&state).iter().filter_map(|planned| planned.cost_usd).sum();
        if spent >= config.limits.cost_usd {
            let limit = config.limits.cost_usd;
            tell(&format!(
                "weir: planning has cost {} of {} (limits.cost_usd)",
                dollars(spent),
                dollars(limit)
            ));
            return Ok(Exit::BudgetExhausted);
        }
        let request = AgentRequest {
            task: "plan".to_owned(),
            mode: "planner".to_owned(),
            cwd: place.folders.workspace.clone(),
            session_id: session.clone(),
            resume,
            prompt: prompt.clone(),
            settings: config.planner.clone(),
            rules: PLANNER_RULES,
            max_cost_usd: config.task_limits.cost_usd.min(config.limits.cost_usd - spent),
            timeout: config.task_limits.wall_time.duration(),
            max_turns: config.task_limits.turns,
            skip_permissions: false,
            protected: Vec::new(),
        };
        let (hurry, mut asks, around) = surroundings(terminal.is_some());
        let answer = agent.run(request, around);
        let run = tokio::select! {
            run = answer => run,
            () = answer_asks(&mut asks, terminal.as_mut()) => return Ok(Exit::ErrorResult),
            _ = signals.next() => {
                let _ = hurry.send(Hurry::Now);
                return Ok(Exit::Interrupted);
            }
        };
        if let Some(id) = run.session_id.clone().filter(|id| *id != session) {
            tell(&format!("weir: the planner continued in another session: {id}"));
            session = id;
        }
        for warning in &run.warnings {
            tell(&format!("weir: {warning}"));
        }
        if !matches!(run.end, AgentEnd::NotStarted { .. }) {
            note_planned(&state, Planned::of(&run, now_ms()))
                .with_context(|| format!("cannot save the cost of planning in {}", state.display()))?;
            // A failed session can be continued too.
            remember(&place.folders, &known, &session)?;
        }
        if let Some(exit) = failed(&run) {
            return Ok(exit);
        }
        match read_plan(&run.text) {
            PlanAnswer::List { text, tasks } => {
                std::fs::write(&list, &text).with_context(|| format!("cannot write {}", list.display()))?;
                let mut out = std::io::stdout().lock();
                writeln!(
                    out,
                    "Wrote {} with {tasks} tasks, {}. Read it before you run it.",
                    list.display(),
                    screen::dollars(run.cost_usd)
                )?;
                return Ok(Exit::Success);
            }
            PlanAnswer::Questions(text) => {
                writeln!(std::io::stdout().lock(), "{}\n", clean(&text))?;
                let reply = match &mut terminal {
                    Some(terminal) => tokio::select! {
                        reply = terminal.ask("> ") => reply.filter(|reply| !reply.is_empty()),
                        _ = signals.next() => return Ok(Exit::Interrupted),
                    },
                    None => None,
                };
                let Some(reply) = reply else {
                    tell("weir: the planner has questions; answer with `weir loop plan --continue \"…\"`");
                    return Ok(Exit::ErrorResult);
                };
                (prompt, resume) = (reply, true);
            }
        }
    }
    tell("weir: the planner still has questions; add the answers to the document and start again");
    Ok(Exit::ErrorResult)
}

/// Questions are asked at the terminal. Without one, a question ends the turn and is shown.
fn surroundings(
    is_terminal: bool,
) -> (watch::Sender<Hurry>, mpsc::UnboundedReceiver<ApprovalMessage>, Surroundings) {
    let (hurry, receiver) = watch::channel(Hurry::None);
    let (asks, asked) = mpsc::unbounded_channel();
    let policy = if is_terminal { QuestionPolicy::Wait } else { QuestionPolicy::Skip };
    let approvals = Approvals {
        task: "plan".to_owned(),
        asks,
        questions: (policy, PATIENCE),
        permissions: PermissionPolicy::Deny,
        known: std::collections::BTreeMap::new(),
        waiting: Arc::default(),
        names: Arc::default(),
    };
    (hurry, asked, Surroundings { approvals, hurry: receiver, activity: Arc::new(|_| {}) })
}

/// Asks the planner's questions at the terminal; never completes.
async fn answer_asks(
    asks: &mut mpsc::UnboundedReceiver<ApprovalMessage>,
    mut terminal: Option<&mut Terminal>,
) {
    while let Some(heard) = asks.recv().await {
        if let (ApprovalMessage::Asked(ask), Some(terminal)) = (heard, terminal.as_deref_mut()) {
            answer_one(ask, terminal).await;
        }
    }
    std::future::pending::<()>().await;
}

/// Asks until there is a valid answer. An empty line declines and ends the turn.
async fn answer_one(ask: OpenAsk, terminal: &mut Terminal) {
    let Asked::Questions { questions } = &ask.asked else { return };
    let mut answers = Vec::new();
    for asked in questions {
        terminal.say(&question("planner", asked, Style::for_terminal())).await;
        loop {
            let Some(words) = terminal.ask("> ").await.filter(|words| !words.is_empty()) else {
                ask.answer(Reply::Deny("The user does not want to answer. Stop here.".to_owned()));
                return;
            };
            match match_answers(std::slice::from_ref(asked), &[words]) {
                Ok(answer) => break answers.extend(answer),
                Err(error) => terminal.say(&format!("{error}\n")).await,
            }
        }
    }
    ask.answer(Reply::Answers(answers));
}

/// The exit code of a session that ended without an answer. Questions in its text count as an answer.
fn failed(run: &AgentRun) -> Option<Exit> {
    if !run.unanswered.is_empty() {
        tell(&format!("weir: the planner asks: {}", run.unanswered.join(" ")));
        tell("weir: answer with `weir loop plan --continue \"…\"`");
        return Some(Exit::ErrorResult);
    }
    let failure = judge_run(run)?;
    tell(&format!("weir: the planner {}: {}", failure.outcome, failure.reason));
    if let Some(log) = &run.log {
        tell(&format!("weir: its log is {}", log.display()));
    }
    Some(match run.end {
        AgentEnd::NotStarted { .. } => Exit::NotStarted,
        AgentEnd::Crashed { .. } => Exit::Died,
        AgentEnd::NoResult => Exit::NoResult,
        AgentEnd::TimedOut { .. } => Exit::TimedOut,
        AgentEnd::Budget { .. } => Exit::BudgetExhausted,
        _ if !run.denials.is_empty() => Exit::PermissionDenied,
        _ => Exit::ErrorResult,
    })
}

fn read_document(path: &Path) -> anyhow::Result<String> {
    let mut text = String::new();
    if path == Path::new("-") {
        std::io::stdin().read_to_string(&mut text).context("cannot read the standard input")?;
    } else {
        text = std::fs::read_to_string(path)
            .map_err(|error| UsageError(format!("{}: {error}", path.display())))?;
    }
    if text.trim().is_empty() {
        return Err(UsageError("the document is empty".to_owned()).into());
    }
    Ok(text)
}

fn sessions(folders: &Folders) -> SessionFile {
    let text = std::fs::read(folders.state().join("claude-session.json")).unwrap_or_default();
    serde_json::from_slice(&text).unwrap_or(SessionFile {
        planner_session_id: None,
        coder_session_id: None,
        updated_at: String::new(),
    })
}

fn remember(folders: &Folders, known: &SessionFile, session: &str) -> anyhow::Result<()> {
    let file = SessionFile {
        planner_session_id: Some(session.to_owned()),
        coder_session_id: known.coder_session_id.clone(),
        updated_at: Utc::from_ms(now_ms()).rfc3339(),
    };
    let path = folders.state().join("claude-session.json");
    write_atomically(&path, &serde_json::to_vec_pretty(&file)?)
        .with_context(|| format!("cannot write {}", path.display()))
}
