//! `weir loop plan`: from a document to a task list.

use std::io::{IsTerminal as _, Read as _, Write as _};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use weir_base::money::dollars;
use weir_loop::agent::{AgentEnd, AgentRun};
use weir_loop::outcome::Failure;
use weir_loop::shell::{PlanEnd, PlanError, PlanStart, Planner, PlannerPerson, Said};
use weir_loop::state::AskedQuestion;

use super::Place;
use super::lines::question;
use super::process::Process;
use crate::ask::Terminal;
use crate::exit::{Exit, UsageError, tell};
use crate::opts::LoopPlanOpts;
use crate::screen::{self, Style, clean};
use crate::signals::Signals;

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
    let start = match (&opts.document, opts.r#continue) {
        (_, Some(answer)) => PlanStart::Continue(answer),
        (Some(document), None) => PlanStart::Document(read_document(document)?),
        (None, None) => return Err(UsageError("no document given".to_owned()).into()),
    };
    let agent = Process::resolve(opts.process, &place.folders, None)?.agent(&place.folders, 1).await?;
    let host = agent.host().clone();
    let planner = Planner { config: place.file.config, folders: place.folders, agent: Arc::new(agent) };
    let mut person = Person(Terminal::open().filter(|_| std::io::stdin().is_terminal()));
    let mut signals = Signals::new();
    let end = tokio::select! {
        end = planner.plan(start, &mut person) => Some(end),
        _ = signals.next() => None,
    };
    host.shut_down(Duration::ZERO).await;
    match end {
        None => Ok(Exit::Interrupted),
        Some(Err(error @ PlanError::NoSession)) => Err(UsageError(error.to_string()).into()),
        Some(end) => exit(end?),
    }
}

/// The user at the terminal, if there is one.
struct Person(Option<Terminal>);

impl PlannerPerson for Person {
    fn is_present(&self) -> bool {
        self.0.is_some()
    }

    fn answer<'a>(&'a mut self, asked: &'a AskedQuestion, remark: Option<&'a str>) -> Said<'a> {
        Box::pin(async move {
            let terminal = self.0.as_mut()?;
            match remark {
                Some(remark) => terminal.say(&format!("{remark}\n")).await,
                None => terminal.say(&question("planner", asked, Style::for_terminal())).await,
            }
            terminal.ask("> ").await.filter(|words| !words.is_empty())
        })
    }

    fn reply<'a>(&'a mut self, text: &'a str) -> Said<'a> {
        Box::pin(async move {
            // A closed output does not keep the user from replying.
            let _ = writeln!(std::io::stdout().lock(), "{}\n", clean(text));
            self.0.as_mut()?.ask("> ").await.filter(|reply| !reply.is_empty())
        })
    }

    fn notice(&mut self, text: &str) {
        tell(&format!("weir: {text}"));
    }
}

/// Says how planning ended.
fn exit(end: PlanEnd) -> anyhow::Result<Exit> {
    let text = match end {
        PlanEnd::Written { path, tasks, cost_usd } => {
            let cost = screen::dollars(cost_usd);
            let text =
                format!("Wrote {} with {tasks} tasks, {cost}. Read it before you run it.", path.display());
            writeln!(std::io::stdout().lock(), "{text}")?;
            return Ok(Exit::Success);
        }
        PlanEnd::OverBudget { spent, limit } => {
            tell(&format!(
                "weir: planning has cost {} of {} (limits.cost_usd)",
                dollars(spent),
                dollars(limit)
            ));
            return Ok(Exit::BudgetExhausted);
        }
        PlanEnd::Failed(run, failure) => return Ok(failed(&run, &failure)),
        PlanEnd::NoReply => "the planner has questions; answer with `weir loop plan --continue \"…\"`",
        PlanEnd::Unanswered(questions) => {
            tell(&format!("weir: the planner asks: {}", questions.join(" ")));
            "answer with `weir loop plan --continue \"…\"`"
        }
        PlanEnd::TooManyRounds => {
            "the planner still has questions; add the answers to the document and start again"
        }
    };
    tell(&format!("weir: {text}"));
    Ok(Exit::ErrorResult)
}

/// The exit code of a session that failed.
fn failed(run: &AgentRun, failure: &Failure) -> Exit {
    tell(&format!("weir: the planner {}: {}", failure.outcome, failure.reason));
    if let Some(log) = &run.log {
        tell(&format!("weir: its log is {}", log.display()));
    }
    match run.end {
        AgentEnd::NotStarted { .. } => Exit::NotStarted,
        AgentEnd::Crashed { .. } => Exit::Died,
        AgentEnd::NoResult => Exit::NoResult,
        AgentEnd::TimedOut { .. } => Exit::TimedOut,
        AgentEnd::Budget { .. } => Exit::BudgetExhausted,
        _ if !run.denials.is_empty() => Exit::PermissionDenied,
        _ => Exit::ErrorResult,
    }
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
