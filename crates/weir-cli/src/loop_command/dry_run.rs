//! `weir loop run --dry-run`: what would be done, without spending anything.

use std::io::Write as _;

use weir_loop::limits::LimitTable as _;
use weir_loop::machine::Wanted;
use weir_loop::prompt::{Parts, pack};
use weir_loop::shell::{read_notes, read_tasks};

use super::Place;
use crate::exit::Exit;

pub(super) fn run(place: &Place, wanted: &Wanted) -> anyhow::Result<Exit> {
    let config = &place.file.config;
    let workspace = &place.folders.workspace;
    let list = read_tasks(&workspace.join(&config.tasks))?;
    let notes = read_notes(&workspace.join(&config.progress));
    let mut out = std::io::stdout().lock();
    writeln!(out, "{}\n{}", config.limits.words(None), config.task_limits.words(None))?;
    writeln!(out, "Allowed tools: {}", config.coder.spec.allowed_tools.join(", "))?;
    for gate in &config.gates {
        writeln!(out, "Gate {}: {} (up to {})", gate.name, gate.command.join(" "), gate.timeout)?;
    }
    let listed = config.protected_paths(place.file.path.as_deref());
    let listed = listed.iter().map(|path| path.display().to_string());
    let built_in = config.ecosystems().into_iter().map(|kind| format!("what checks {} code", kind.name()));
    let protected: Vec<String> = listed.chain(built_in).collect();
    writeln!(
        out,
        "Protected: {}",
        if protected.is_empty() { "nothing".to_owned() } else { protected.join(", ") }
    )?;
    writeln!(
        out,
        "\n{} tasks, {} of them done:",
        list.tasks.len(),
        list.tasks.iter().filter(|task| task.done).count()
    )?;
    let open = list.tasks.iter().filter(|task| !task.done).count();
    let mut past = super::report::archived(&place.folders);
    past.extend(weir_loop::state::load(&place.folders.state()).ok().flatten());
    writeln!(out, "{}", weir_loop::forecast::forecast(open, &past).words(&config.limits))?;
    for task in &list.tasks {
        let mark = if task.done { "x" } else { " " };
        let needs: Vec<&str> = task.needs.iter().map(weir_loop::tasks::TaskId::as_str).collect();
        let needs = if needs.is_empty() { String::new() } else { format!(" (needs {})", needs.join(", ")) };
        writeln!(out, "  [{mark}] {}: {}{needs}", task.id, task.title)?;
    }
    let next = list.tasks.iter().find(|task| {
        let is_done = |need| list.task(need).is_some_and(|task| task.done);
        !task.done && task.needs.iter().all(is_done)
    });
    if let Some(task) = next {
        let parts = Parts {
            task,
            attempt: 1,
            failure: None,
            begins_anew: false,
            progress: &notes,
            broken: &[],
            answers: &[],
        };
        writeln!(out, "\nThe first prompt ({}):\n\n{}", task.id, pack(&parts, config))?;
    }
    if wanted.once {
        writeln!(out, "The run would stop after one task.")?;
    }
    Ok(Exit::Success)
}
