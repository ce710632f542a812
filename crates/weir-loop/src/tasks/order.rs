//! Decides which task may start: one whose needs are done. Pure.

use std::collections::BTreeMap;

use super::{Task, TaskError, TaskId};

/// Whether a task may start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Readiness {
    /// All tasks that it needs are done.
    Ready,
    /// A task that it needs is not done yet.
    Waits,
    /// A task that it needs will not be done in this run.
    Blocked(TaskId),
}

/// The progress of a task, for those that need it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Progress {
    /// It is done.
    Done,
    /// It may still be done.
    Open,
    /// It will not be done.
    GivenUp,
}

/// Whether a task with these needs may start. `progress` says of another task whether it is done, or `None` if it will
/// not be done.
pub fn readiness(needs: &[TaskId], progress: impl Fn(&TaskId) -> Option<bool>) -> Readiness {
    let as_progress = |id: &TaskId| match progress(id) {
        Some(true) => Progress::Done,
        Some(false) => Progress::Open,
        None => Progress::GivenUp,
    };
    let mut waits = false;
    for need in needs {
        match as_progress(need) {
            Progress::Done => {}
            Progress::Open => waits = true,
            Progress::GivenUp => return Readiness::Blocked(need.clone()),
        }
    }
    if waits { Readiness::Waits } else { Readiness::Ready }
}

/// Resolves `needs` to tasks, by name or by title, and refuses lists that cannot be completed.
pub(super) fn resolve(tasks: &mut [Task]) -> Result<(), TaskError> {
    let mut names: BTreeMap<String, (TaskId, usize)> = BTreeMap::new();
    for task in tasks.iter() {
        // A given name takes precedence over the title of another task.
        names.entry(task.title.to_lowercase()).or_insert_with(|| (task.id.clone(), 0)).1 += 1;
    }
    let mut ids = BTreeMap::new();
    for task in tasks.iter() {
        if ids.insert(task.id.clone(), ()).is_some() {
            return Err(TaskError::Twice(task.id.clone()));
        }
    }
    let known = || {
        let names: Vec<&str> = ids.keys().take(20).map(TaskId::as_str).collect();
        names.join(", ")
    };
    for task in tasks.iter_mut() {
        for need in &mut task.needs {
            if ids.contains_key(need) {
                continue;
            }
            match names.get(&need.as_str().to_lowercase()) {
                Some((id, 1)) => *need = id.clone(),
                Some(_) => {
                    let (task, needs) = (task.id.clone(), need.to_string());
                    return Err(TaskError::Ambiguous { task, needs });
                }
                None => {
                    return Err(TaskError::UnknownNeed {
                        task: task.id.clone(),
                        needs: need.clone(),
                        known: known(),
                    });
                }
            }
        }
    }
    check_cycles(tasks)
}

/// Fails if tasks depend on each other. Repeatedly removes tasks that need nothing that is left, and visits each task
/// and each need once.
fn check_cycles(tasks: &[Task]) -> Result<(), TaskError> {
    let mut missing: BTreeMap<&TaskId, usize> = BTreeMap::new();
    let mut needed_by: BTreeMap<&TaskId, Vec<&TaskId>> = BTreeMap::new();
    for task in tasks.iter().filter(|task| !task.needs.is_empty()) {
        missing.insert(&task.id, task.needs.len());
        for need in &task.needs {
            needed_by.entry(need).or_default().push(&task.id);
        }
    }
    let mut free: Vec<&TaskId> =
        tasks.iter().filter(|task| task.needs.is_empty()).map(|task| &task.id).collect();
    while let Some(id) = free.pop() {
        for waiting in needed_by.remove(id).unwrap_or_default() {
            if let Some(count) = missing.get_mut(waiting) {
                *count -= 1;
                if *count == 0 {
                    missing.remove(waiting);
                    free.push(waiting);
                }
            }
        }
    }
    if missing.is_empty() {
        return Ok(());
    }
    let names: Vec<&str> = missing.keys().map(|id| id.as_str()).collect();
    Err(TaskError::Circle(names.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::super::{Source, TaskList};
    use super::*;

    fn list(text: &str) -> Result<TaskList, TaskError> {
        TaskList::parse(Source::Markdown(text.to_owned()))
    }

    #[test]
    fn needs_are_found_by_name_and_by_title() {
        let list = list(
            "- [ ] First thing\n- [ ] B {#b}\n  - needs: First thing\n- [ ] C\n  needs: b, first-thing\n",
        )
        .unwrap();
        assert_eq!(list.tasks[1].needs, [TaskId::new("first-thing")]);
        assert_eq!(list.tasks[2].needs, [TaskId::new("b"), TaskId::new("first-thing")]);
    }

    #[test]
    fn lists_that_cannot_be_completed_are_refused() {
        let error = |text: &str| list(text).unwrap_err();
        let unknown = error("- [ ] First\n\n- [ ] A\n  needs: z\n");
        assert!(matches!(unknown.cause(), TaskError::UnknownNeed { .. }));
        assert!(unknown.to_string().starts_with("line 3: task a needs z"), "{unknown}");
        let twice = error("- [ ] A {#x}\n- [ ] B {#x}\n");
        assert!(
            matches!(twice.cause(), TaskError::Twice(_)) && twice.to_string().starts_with("line 2: "),
            "{twice}"
        );
        let several =
            error("- [ ] Test\n- [ ] Test\n- [ ] C\n  needs: test it\n".replace("test it", "TEST").as_str());
        assert!(matches!(several.cause(), TaskError::Ambiguous { .. }), "{several}");
        let circle = error("- [ ] A\n  needs: b\n- [ ] B\n  needs: c\n- [ ] C\n  needs: a\n- [ ] D\n");
        assert_eq!(*circle.cause(), TaskError::Circle("a, b, c".into()));
        assert!(matches!(list("nothing"), Err(TaskError::Empty)));
    }

    #[test]
    fn a_task_is_blocked_by_one_that_was_given_up() {
        let progress = |id: &TaskId| match id.as_str() {
            "done" => Some(true),
            "open" => Some(false),
            _ => None,
        };
        let of =
            |needs: &[&str]| readiness(&needs.iter().map(|n| TaskId::new(*n)).collect::<Vec<_>>(), progress);
        assert_eq!(of(&["done"]), Readiness::Ready);
        assert_eq!(of(&["done", "open"]), Readiness::Waits);
        assert_eq!(of(&["open", "failed"]), Readiness::Blocked(TaskId::new("failed")));
    }
}
