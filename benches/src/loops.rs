//! Measures the unattended loop: a pipeline of many tasks on the simulated CLI, and our cost per task.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context as _, bail};
use weir_loop::agent::{AgentRequest, HostAgent};
use weir_loop::config::parse;
use weir_loop::event::LoopEvent;
use weir_loop::machine::Wanted;
use weir_loop::shell::{Folders, LoopOptions, Messengers, OpenOptions, Runner, open};
use weir_loop::state::TaskState;
use weir_process::{LogOptions, PlainCommand, Secrets};
use weir_session::SessionOptions;
use weir_testkit::begin_repository;

use crate::allocations::live_bytes;
use crate::measure::cpu_seconds;
use crate::report::print_line;
use crate::workload::Size;

/// The table: a short pipeline and a long one, so that growth shows.
pub(crate) fn table(size: Size) -> anyhow::Result<()> {
    let counts: &[usize] = match size {
        Size::Full => &[100, 1000],
        Size::Quick => &[20, 60],
    };
    print_line("\nunattended loop, one session, one gate and one commit for each task")?;
    print_line(
        "| tasks | own CPU per task | in the first tenth | in the last tenth | wall time per task | held for each task | peak memory |\n\
         |---:|---:|---:|---:|---:|---:|---:|",
    )?;
    for count in counts {
        // Each in a separate process, so that peaks do not add up.
        let this = std::env::current_exe()?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let command = PlainCommand::new(this).args(["loop", "measure", &count.to_string()]);
        let done = runtime.block_on(command.run())?;
        if !done.is_success() {
            bail!("the measurement failed: {}", done.stderr.text());
        }
        print_line(done.stdout.text().trim_end())?;
    }
    Ok(())
}

/// One pipeline, in this process.
pub(crate) fn measure(count: usize) -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(pipeline(count))
}

async fn pipeline(count: usize) -> anyhow::Result<()> {
    let folder = std::env::temp_dir().join(format!("weir-bench-loop-{}", std::process::id()));
    let workspace = folder.join("work");
    std::fs::create_dir_all(&workspace)?;
    let measured = run(&folder, &workspace, count).await;
    std::fs::remove_dir_all(&folder)?;
    print_line(&measured?)
}

async fn run(folder: &Path, workspace: &Path, count: usize) -> anyhow::Result<String> {
    let mut list = String::new();
    for number in 0..count {
        let input = format!("{{\"file_path\":\"file-{number}.txt\",\"content\":\"{number}\\n\"}}");
        list.push_str(&format!(
            "- [ ] Task {number}\n  @@[{{\"tool\":\"Write\",\"input\":{input}}},{{\"text\":\"Done.\"}}]\n"
        ));
    }
    std::fs::write(workspace.join("TASKS.md"), list)?;
    let text = format!(
        "[loop.limits]\niterations = {}\ncost_usd = 1000.0\n[[loop.gates]]\nname = \"ok\"\ncommand = [\"true\"]\n",
        count + 1
    );
    std::fs::write(workspace.join("weir.toml"), &text)?;
    begin_repository(workspace);
    let config = parse(&text).map_err(anyhow::Error::msg)?;
    let folders = Folders::new(workspace, &config.folder);
    let opened = open(&folders, &config, OpenOptions::default()).await?;
    let agent = agent(folder, workspace, &folders).await?;
    let options = LoopOptions {
        sandbox: None,
        agent: Arc::new(agent.clone()),
        config,
        config_file: Some("weir.toml".into()),
        folders,
        secrets: Secrets::new(),
        wanted: Wanted::default(),
        skip_permissions: false,
        messengers: Messengers::default(),
        follower: None,
    };
    let (cpu, began) = (cpu_seconds(), std::time::Instant::now());
    let times = Arc::new(Mutex::new(vec![(cpu, live_bytes())]));
    let watcher = {
        let times = Arc::clone(&times);
        Box::new(move |event: &LoopEvent, _: &_| {
            if matches!(event, LoopEvent::TaskDone { .. }) {
                times.lock().unwrap_or_else(PoisonError::into_inner).push((cpu_seconds(), live_bytes()));
            }
        })
    };
    let (_, state) = Runner::new(options, opened.state, watcher).run().await?;
    agent.host().shut_down(std::time::Duration::ZERO).await;
    let done = state.count(TaskState::Done);
    if done != count {
        let failure = state.tasks.iter().find_map(|task| task.failure.as_ref());
        bail!("only {done} of {count} tasks were done: {:?} {failure:?}", state.end());
    }
    let per_task = |total: f64| total / count as f64;
    let times = times.lock().unwrap_or_else(PoisonError::into_inner);
    let tenth = (count / 10).max(1);
    // Between two tasks of one run, so that other load on the machine matters less.
    let part = |from: usize, to: usize| match (times.get(from), times.get(to)) {
        (Some((from, _)), Some((to, _))) => (to - from) * 1000.0 / tenth as f64,
        _ => f64::NAN,
    };
    // Memory added by each finished task. The first ones fill caches.
    let held = match (times.get(tenth), times.get(count)) {
        (Some((_, from)), Some((_, to))) => (to - from) as f64 / (count - tenth) as f64,
        _ => f64::NAN,
    };
    Ok(format!(
        "| {count} | {:.1} ms | {:.1} ms | {:.1} ms | {:.0} ms | {held:.0} bytes | {:.0} MiB |",
        per_task((cpu_seconds() - cpu) * 1000.0),
        part(0, tenth),
        part(count - tenth, count),
        per_task(began.elapsed().as_secs_f64() * 1000.0),
        crate::measure::peak_rss_kb() as f64 / 1024.0
    ))
}

/// Sessions with the simulated CLI, which is also this program.
async fn agent(folder: &Path, workspace: &Path, folders: &Folders) -> anyhow::Result<HostAgent> {
    use std::os::unix::fs::PermissionsExt as _;
    let program = folder.join("claude");
    let this = std::env::current_exe().context("cannot find this program")?;
    std::fs::write(&program, format!("#!/bin/sh\nexec '{}' simulated-claude \"$@\"\n", this.display()))?;
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755))?;
    let (logs, state) = (folders.logs(), folders.state());
    let home = folder.to_owned();
    let cache = Arc::new(weir_process::ProbeCache::in_memory());
    let factory = move |request: &AgentRequest| {
        let environment = weir_process::Environment::only(["PATH"]).set("HOME", &home);
        let mut options = SessionOptions::new().program(&program).environment(environment);
        options.log = Some(LogOptions::new(&logs, &request.mode, &request.task));
        options.state_directory = Some(state.clone());
        options.probe_cache = Some(Arc::clone(&cache));
        options.partial_messages = false;
        options
    };
    Ok(HostAgent::in_memory(workspace, 1, Arc::new(factory)).await?)
}
