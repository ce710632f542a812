//! A state is read as it was written, whatever was written in between and wherever it was cut off.

use proptest::prelude::*;

use super::*;
use crate::config::Config;
use crate::tasks::{Source, TaskList};

fn run(parallel: usize) -> RunState {
    let list = TaskList::parse(Source::Markdown("- [ ] a\n- [ ] b\n- [x] c\n".into())).unwrap();
    let config = Config { parallel, ..Config::default() };
    RunState::new("r1".into(), 5, list.tasks, &config)
}

/// Changes a run in one of several ways.
fn change(run: &mut RunState, how: u8, changed: &mut Changed) {
    run.updated_at += 1;
    run.active_ms += 7;
    let place = usize::from(how) % run.tasks.len();
    let id = run.tasks[place].task.id.clone();
    match how % 6 {
        0 => run.tasks[place].state = TaskState::Active,
        1 => run.tasks[place].step = Some(Step::Preparing),
        2 => run.tasks[place].base = Some(format!("commit-{how}")),
        3 => run.halting = Some(RunEnd::Denied { task: id.clone() }),
        4 => {
            let task = Task { id: TaskId::new(format!("new-{how}")), ..run.tasks[place].task.clone() };
            changed.add(&task.id);
            changed.add_list();
            if run.task(&task.id).is_none() {
                run.tasks.insert(place, TaskRecord::new(task));
            }
        }
        _ => {
            run.tasks.rotate_left(1);
            if run.tasks.len() > 2 {
                run.tasks.pop();
            }
            changed.add_list();
        }
    }
    if run.task(&id).is_some() {
        changed.add(&id);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn every_state_is_read_as_it_was_written(hows in prop::collection::vec(any::<u8>(), 1..20), parallel in 1_usize..3) {
        let folder = tempfile::tempdir().unwrap();
        let journal = folder.path().join(file::JOURNAL);
        let mut run = run(parallel);
        let mut writer = StateWriter::new(folder.path());
        writer.write(&run).unwrap();
        for how in hows {
            let before = run.clone();
            let begin = std::fs::read(&journal).unwrap();
            let mut changed = Changed::default();
            change(&mut run, how, &mut changed);
            writer.write_changed(&run, &changed.take()).unwrap();
            prop_assert_eq!(load(folder.path()).unwrap().unwrap(), run.clone());
            // A kill while the last line was written leaves a part of it, and the state before.
            let text = std::fs::read(&journal).unwrap();
            if text.starts_with(&begin) {
                let begin = begin.len();
                for cut in [begin, begin + 1, begin + (text.len() - begin) / 2, text.len() - 2] {
                    std::fs::write(&journal, &text[..cut]).unwrap();
                    prop_assert_eq!(load(folder.path()).unwrap().unwrap(), before.clone());
                }
                std::fs::write(&journal, &text).unwrap();
            }
        }
        writer.write(&run).unwrap();
        prop_assert_eq!(load(folder.path()).unwrap().unwrap(), run);
    }
}

#[test]
fn a_step_costs_the_same_however_long_the_list_is() {
    let cost = |tasks: usize| {
        let folder = tempfile::tempdir().unwrap();
        let text: String = (0..tasks).map(|number| format!("- [ ] task {number:06}\n")).collect();
        let list = TaskList::parse(Source::Markdown(text)).unwrap();
        let mut run = RunState::new("r1".into(), 5, list.tasks, &Config::default());
        let size = || std::fs::metadata(folder.path().join(file::JOURNAL)).unwrap().len();
        let mut writer = StateWriter::new(folder.path());
        writer.write(&run).unwrap();
        let before = size();
        run.tasks[0].state = TaskState::Active;
        let mut changed = Changed::default();
        changed.add(&run.tasks[0].task.id);
        writer.write_changed(&run, &changed).unwrap();
        size() - before
    };
    assert_eq!(cost(3), cost(3000));
}

#[test]
fn the_files_for_readers_are_there_and_nothing_is_left_over() {
    let folder = tempfile::tempdir().unwrap();
    let mut run = run(1);
    let mut writer = StateWriter::new(folder.path());
    writer.write(&run).unwrap();
    let budget = std::fs::read_to_string(folder.path().join("budget.json")).unwrap();
    assert!(budget.contains("\"max_iterations\": 50"), "{budget}");
    let count = || std::fs::read_dir(folder.path()).unwrap().count();
    assert_eq!(count(), 4, "the journal, three exports, and no temporary file");
    run.is_unreported = true;
    writer.write_changed(&run, &Changed::default()).unwrap();
    assert_eq!(load(folder.path()).unwrap().unwrap(), run);
    // A full write by another process replaces the journal.
    let mut other = run.clone();
    other.is_unreported = false;
    StateWriter::new(folder.path()).write(&other).unwrap();
    assert_eq!((count(), load(folder.path()).unwrap().unwrap()), (4, other.clone()));
    // Exports are not read back.
    for name in ["run.json", "budget.json", "claude-session.json"] {
        std::fs::write(folder.path().join(name), "{").unwrap();
    }
    assert_eq!(load(folder.path()).unwrap().unwrap(), other);
}

#[test]
fn changes_that_matter_to_people_are_in_the_file_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let mut run = run(1);
    let mut writer = StateWriter::new(folder.path());
    writer.write(&run).unwrap();
    run.wait = Some(Wait { until: 9, since: 1, reason: "a limit".into() });
    writer.write_changed(&run, &Changed::default()).unwrap();
    let exported = std::fs::read(folder.path().join("run.json")).unwrap();
    assert_eq!(serde_json::from_slice::<RunState>(&exported).unwrap(), run, "without the journal");
}

#[test]
fn a_task_with_a_worktree_of_its_own_has_a_state_of_its_own_until_it_is_merged() {
    let folder = tempfile::tempdir().unwrap();
    let worker = folder.path().join("workers/a");
    let mut run = run(2);
    let mut writer = StateWriter::new(folder.path());
    run.tasks[0].state = TaskState::Active;
    writer.write(&run).unwrap();
    assert!(worker.join("task.json").is_file() && !folder.path().join("workers/b").exists());
    run.tasks[0].step =
        Some(Step::Agent { number: 1, session_id: "s-1".into(), tree: "t".into(), retried: false });
    let mut changed = Changed::default();
    changed.add(&run.tasks[0].task.id);
    writer.write_changed(&run, &changed.take()).unwrap();
    assert!(std::fs::read_to_string(worker.join("task.json")).unwrap().contains("s-1"), "at once");
    assert!(std::fs::read_to_string(worker.join("claude-session.json")).unwrap().contains("\"s-1\""));
    run.tasks[0].state = TaskState::Done;
    writer.write(&run).unwrap();
    assert!(!worker.exists());
    assert_eq!(load(folder.path()).unwrap().unwrap(), run);
}

#[test]
fn a_journal_that_lacks_a_line_is_damaged_and_kept() {
    let folder = tempfile::tempdir().unwrap();
    let mut run = run(1);
    let mut writer = StateWriter::new(folder.path());
    writer.write(&run).unwrap();
    for _ in 0..3 {
        run.active_ms += 1;
        writer.write_changed(&run, &Changed::default()).unwrap();
    }
    let journal = folder.path().join(file::JOURNAL);
    let whole = std::fs::read_to_string(&journal).unwrap();
    let without_second: Vec<&str> =
        whole.lines().enumerate().filter(|(place, _)| *place != 2).map(|(_, line)| line).collect();
    std::fs::write(&journal, without_second.join("\n")).unwrap();
    let error = load(folder.path()).unwrap_err().to_string();
    assert!(error.contains("line 2 of the journal is missing") && journal.exists(), "{error}");
    let error = load_for_run(folder.path()).unwrap_err().to_string();
    assert!(error.contains("line 2 of the journal is missing"), "{error}");
    assert!(folder.path().join("journal.ndjson.damaged").is_file() && !journal.exists());
    assert!(folder.path().join("run.json.damaged").is_file());
    assert!(load_for_run(folder.path()).unwrap().is_none());
}

#[test]
fn a_damaged_state_is_kept_aside_and_not_guessed_at() {
    let folder = tempfile::tempdir().unwrap();
    assert!(load(folder.path()).unwrap().is_none());
    for name in [file::JOURNAL, file::RUN] {
        let path = folder.path().join(name);
        for (number, text) in
            ["{\"whole\": {\"version\": 3}, ", "{\"version\": 1, \"run_id\": ", "", "\u{0}\u{0}\u{0}"]
                .iter()
                .enumerate()
        {
            std::fs::write(&path, text).unwrap();
            let error = load_for_run(folder.path()).unwrap_err();
            assert!(
                matches!(&error, StateError::SetAside { kept, .. } if std::fs::read_to_string(kept).unwrap() == *text)
            );
            assert!(error.to_string().contains("git log"), "{error}");
            assert!(!path.exists(), "{number}");
        }
    }
}

#[test]
fn another_version_is_refused_and_left_where_it_is() {
    for (name, text) in [
        (file::RUN, "{\"shape\": \"new\", \"version\": 7}"),
        (file::JOURNAL, "{\"whole\": {\"shape\": \"new\", \"version\": 7}}\n{\"step\": 1}\n"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        assert!(matches!(load_for_run(folder.path()), Err(StateError::OtherVersion { found: 7, .. })));
        assert!(path.exists());
        let first = keep_aside(folder.path(), "version-7").unwrap();
        assert_eq!(first.file_name().unwrap().to_str().unwrap(), format!("{name}.version-7"));
        std::fs::write(&path, "another").unwrap();
        let second = keep_aside(folder.path(), "version-7").unwrap();
        assert!(first.exists() && second.exists() && first != second && !path.exists());
    }
}

#[test]
fn a_task_takes_little_memory() {
    // All tasks stay in memory during the run, and most of them are done or not started.
    assert!(size_of::<TaskRecord>() <= 464, "{}", size_of::<TaskRecord>());
    assert!(size_of::<Attempt>() <= 232, "{}", size_of::<Attempt>());
}

#[test]
fn unknown_costs_are_not_shown_as_negative() {
    assert_eq!(format!("{:.4}", run(1).tasks[0].cost_usd()), "0.0000");
}
