//! `weir loop run`.

use std::convert::Infallible;
use std::sync::{Arc, OnceLock, PoisonError};

use weir_loop::forecast::forecast;
use weir_loop::machine::Wanted;
use weir_loop::shell::{
    Folders, Follower, Handles, LoopOptions, Messenger, Messengers, OpenOptions, Runner, fetch_tasks, open,
};
use weir_loop::state::{RunEnd, RunState, TaskState};
use weir_loop::tasks::TaskId;

use super::page::LoopPage;
use super::process::Process;
use super::screen::{Form, Screen, SharedMirror};
use super::webhook::Webhook;
use super::{Place, background, container, dry_run, host};

use crate::exit::{Exit, UsageError, tell};
use crate::opts::LoopRunOpts;
use crate::signals::Signals;

pub(super) fn run(opts: LoopRunOpts) -> anyhow::Result<Exit> {
    let mut place = Place::open(&opts.place)?;
    let config = &mut place.file.config;
    config.notify.chat = opts.listen.notify_chat.clone().or(config.notify.chat.take());
    config.parallel = opts.parallel.unwrap_or(config.parallel);
    opts.limits.apply(&mut config.limits);
    if opts.dangerously_skip_permissions {
        if !container::is_container() && !opts.outside_container {
            let text = "--dangerously-skip-permissions is for containers, and this does not look like one: every \
                        command of the model would run with your rights; add --outside-container to do it anyway";
            return Err(UsageError(text.to_owned()).into());
        }
        tell("weir: warning: all permission checks are skipped; every command of the model is run");
    }
    place.check()?;
    let until = opts.until.clone().map(TaskId::new);
    let wanted = Wanted { once: opts.once, until, start_at: opts.start_at, stop_at: opts.stop_at };
    if opts.dry_run {
        return crate::runtime::block_on(async {
            fetch_tasks(&place.folders, &place.file.config).await?;
            dry_run::run(&place, &wanted)
        });
    }
    background::leave_if_detached();
    if opts.detach {
        return background::detach(&place.folders);
    }
    crate::runtime::block_on(work(opts, place, wanted))
}

async fn work(opts: LoopRunOpts, place: Place, wanted: Wanted) -> anyhow::Result<Exit> {
    let signals = Signals::new();
    let process = Process::resolve(opts.process, &place.folders, opts.listen.bridge.as_deref())?;
    if let Some(sandbox) = &process.sandbox {
        // If the requested sandbox is not available, there is no run without it.
        sandbox.check().await?;
    }
    let sandbox = process.sandbox.clone();
    let options = OpenOptions { new_run: opts.new, allow_dirty: opts.allow_dirty };
    place.folders.create()?;
    fetch_tasks(&place.folders, &place.file.config).await?;
    let opened = open(&place.folders, &place.file.config, options).await?;
    if let Some(until) = wanted.until.as_ref().filter(|until| opened.state.task(until).is_none()) {
        let text = format!("--until {until}: task not found; `weir loop status` shows the names");
        return Err(UsageError(text).into());
    }
    let secrets = process.secrets.clone();
    let parallel = opened.state.parallel.max(place.file.config.parallel);
    let chat = place.file.config.notify.chat.as_deref();
    let (agent, mut host) = host::open(&opts.listen, &place.folders, &process, parallel, chat).await?;
    let form = Form::choose(opts.json, opts.plain);
    let mirror = SharedMirror::default();
    let screen = Screen::new(form, secrets.clone(), place.folders.activity_file(), Arc::clone(&mirror));
    for note in &opened.notes {
        screen.say(&format!("weir: {note}"));
    }
    screen.say(&forecast_line(&place.folders, &opened.state));
    let chat = host.chat.clone();
    // Known once the run has handles, which it has before it begins.
    let page = Arc::new(OnceLock::<Arc<LoopPage>>::new());
    let watcher = {
        let (screen, chat, page) = (screen.clone(), chat.clone(), Arc::clone(&page));
        Box::new(move |event: &_, _: &_| {
            screen.event(event);
            if let Some(chat) = &chat {
                chat.event(event);
            }
            if let Some(page) = page.get() {
                page.event(event);
            }
        })
    };
    let follower: Follower = {
        let (mirror, page) = (Arc::clone(&mirror), Arc::clone(&page));
        Box::new(move |run, changed| {
            mirror.lock().unwrap_or_else(PoisonError::into_inner).update(run, changed);
            if let Some(page) = page.get() {
                page.changed();
            }
        })
    };
    let folders = place.folders.clone();
    let gates = place.file.config.gates.iter().map(|gate| gate.name.clone()).collect();
    let webhook = Webhook::new(&place.file.config.notify);
    let messengers = Messengers {
        webhook: webhook.map(|webhook| Arc::new(webhook) as Arc<dyn Messenger>),
        chat: chat.map(|chat| Arc::new(chat) as Arc<dyn Messenger>),
    };
    let options = LoopOptions {
        config: place.file.config,
        config_file: place.file.path,
        folders: place.folders,
        agent: Arc::new(agent),
        sandbox,
        secrets: secrets.clone(),
        wanted,
        skip_permissions: opts.dangerously_skip_permissions,
        messengers,
        follower: Some(follower),
    };
    let runner = Runner::new(options, opened.state, watcher);
    let handles = runner.handles();
    if let Some(loops) = host.loops() {
        let shown = LoopPage::new(mirror, handles.clone(), folders.clone(), secrets.clone(), gates, &loops);
        // Set once: here.
        let _ = page.set(shown);
    }
    host.connect(handles.clone());
    let done = tokio::select! {
        done = runner.run() => done,
        never = screen.keep_fresh() => match never {},
        never = interrupt(signals, handles, screen.clone()) => match never {},
    };
    screen.finish();
    host.end().await;
    let (end, state) = done?;
    if form != Form::Json {
        screen.say(&format!("report: {}", folders.report("html").display()));
    }
    drop(opened.lock);
    Ok(exit(&end, &state))
}

/// What the rest of a run will probably cost, by what earlier tasks in this workspace have cost.
fn forecast_line(folders: &Folders, run: &RunState) -> String {
    let open =
        run.tasks.iter().filter(|task| matches!(task.state, TaskState::Pending | TaskState::Active)).count();
    let mut past = super::report::archived(folders);
    past.push(run.clone());
    forecast(open, &past).words(&run.limits)
}

/// The first signal interrupts the turn, the second one ends the run immediately.
async fn interrupt(mut signals: Signals, handles: Handles, screen: Screen) -> Infallible {
    let mut is_first = true;
    loop {
        signals.next().await;
        handles.interrupt();
        screen.say(if std::mem::replace(&mut is_first, false) {
            "weir: interrupting the turn; press Ctrl-C again to exit immediately"
        } else {
            "weir: exiting now; progress so far is saved"
        });
    }
}

fn exit(end: &RunEnd, run: &RunState) -> Exit {
    match end {
        RunEnd::Completed | RunEnd::OnBranches => Exit::Success,
        RunEnd::Enough if run.count(TaskState::Failed) == 0 => Exit::Success,
        RunEnd::Limit { .. } | RunEnd::TimeIsUp { .. } => Exit::BudgetExhausted,
        RunEnd::Denied { .. } => Exit::PermissionDenied,
        RunEnd::WaitTooLong { .. } => Exit::RateLimited,
        RunEnd::NotStarted { .. } => Exit::NotStarted,
        RunEnd::Interrupted => Exit::Interrupted,
        RunEnd::Enough
        | RunEnd::Unfinished
        | RunEnd::BoxesOpen { .. }
        | RunEnd::Unconfirmed { .. }
        | RunEnd::SameFailure { .. }
        | RunEnd::Error { .. } => Exit::ErrorResult,
    }
}
