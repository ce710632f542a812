//! A copy of the state of a run for those who show it, which costs as much as what has changed.

use std::collections::HashMap;

use super::journal::without_tasks;
use super::{Changed, RunState};
use crate::tasks::TaskId;

/// A copy of the state of a run.
#[derive(Debug, Default)]
pub struct Mirror {
    run: Option<RunState>,
    places: HashMap<TaskId, usize>,
}

impl Mirror {
    /// The run as it was last seen; `None` before it has begun.
    pub fn run(&self) -> Option<&RunState> {
        self.run.as_ref()
    }

    /// A task.
    pub fn place(&self, task: &TaskId) -> Option<usize> {
        self.places.get(task).copied()
    }

    /// Takes over what has changed.
    pub fn update(&mut self, run: &RunState, changed: &Changed) {
        let known =
            self.run.take().filter(|known| !changed.is_list() && known.tasks.len() == run.tasks.len());
        let Some(mut known) = known else {
            self.places =
                run.tasks.iter().enumerate().map(|(place, record)| (record.task.id.clone(), place)).collect();
            self.run = Some(run.clone());
            return;
        };
        let mut tasks = std::mem::take(&mut known.tasks);
        for id in changed.tasks() {
            let place = self.places.get(id).copied();
            let pair = place.and_then(|place| Some((tasks.get_mut(place)?, run.tasks.get(place)?)));
            if let Some((old, new)) = pair {
                old.clone_from(new);
            }
        }
        self.run = Some(RunState { tasks, ..without_tasks(run) });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;
    use crate::state::TaskState;
    use crate::tasks::{Source, TaskList};

    #[test]
    fn a_mirror_is_the_run() {
        let tasks = TaskList::parse(Source::Markdown("- [ ] a\n- [ ] b\n".into())).unwrap().tasks;
        let mut run = RunState::new("r".into(), 0, tasks, &Config::default());
        let mut mirror = Mirror::default();
        let mut changed = Changed::default();
        mirror.update(&run, &changed.take());
        assert_eq!(mirror.run(), Some(&run));
        run.tasks[1].state = TaskState::Active;
        run.active_ms = 7;
        changed.add(&TaskId::new("b"));
        mirror.update(&run, &changed.take());
        assert_eq!(mirror.run(), Some(&run));
        run.tasks.swap(0, 1);
        changed.add_list();
        mirror.update(&run, &changed.take());
        assert_eq!((mirror.run(), mirror.place(&TaskId::new("b"))), (Some(&run), Some(0)));
    }
}
