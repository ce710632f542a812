//! Which task is next, and what the list decides.

use super::*;

#[test]
fn tasks_are_done_in_order_each_committed_once() {
    let world = World::new(THREE, config()).run();
    assert_eq!(world.end, Some(RunEnd::Completed));
    assert_eq!(world.commits, ["a", "b", "c"]);
    let budget = world.machine.state().budget();
    assert_eq!((budget.iterations, budget.tokens), (3, 300));
    assert!((budget.cost_usd - 0.3).abs() < 1e-9);
}

#[test]
fn dependencies_are_respected_and_a_failed_one_blocks() {
    let list = "- [ ] a\n  - needs: b\n- [ ] b\n- [ ] c\n  - needs: d\n- [ ] d\n";
    let world = World::new(list, config()).script("d", [AgentRun { is_error: true, ..good() }]).run();
    assert_eq!(world.commits, ["b", "a"]);
    assert_eq!(world.end, Some(RunEnd::Unfinished));
    assert_eq!(world.machine.state().task(&TaskId::new("c")).unwrap().state, TaskState::Pending);
}

#[test]
fn completed_means_all_tasks_and_not_three_of_fifteen() {
    let list: String = (0..15).map(|number| format!("- [ ] task {number}\n")).collect();
    let mut world = World::new(&list, config());
    for number in 3..15 {
        world.runs.insert(
            format!("task-{number}"),
            [AgentRun { text: format!("All 15 tasks are complete! {number}"), ..good() }].into(),
        );
        world.unchanged.push(format!("task-{number}"));
    }
    let world = world.run();
    assert_eq!(world.commits.len(), 3);
    assert_ne!(world.end, Some(RunEnd::Completed));
    assert!(world.outcomes().iter().skip(3).all(|(_, outcome)| *outcome != Some(Outcome::Done)));
}

#[test]
fn a_person_can_skip_and_retry() {
    let mut world = World::new(THREE, config()).script("a", [AgentRun { is_error: true, ..good() }, good()]);
    world.queue.push_back(Event::Skip(TaskId::new("c")));
    let mut world = world.run();
    assert_eq!((world.end.clone(), &world.commits[..]), (Some(RunEnd::Unfinished), &["b".to_owned()][..]));
    world.machine.finished = false;
    world.machine.state.status = RunStatus::Running;
    world.queue.push_back(Event::Retry(TaskId::new("a")));
    world.go();
    assert_eq!(world.commits, ["b", "a"]);
}

#[test]
fn parallel_tasks_are_merged_in_order() {
    let mut config = config();
    config.parallel = 3;
    let world = World::new("- [ ] a\n- [ ] b\n- [ ] c\n- [ ] d\n", config).gates("a", [false, true]).run();
    assert_eq!(world.end, Some(RunEnd::Completed));
    assert_eq!(world.commits, ["a", "b", "c", "d"], "a takes longer and is still merged first");
}

#[test]
fn changes_of_the_list_by_a_person_take_effect() {
    let mut world = World::new(THREE, config());
    world.list = "- [ ] a\n- [x] b\n- [ ] new\n".into();
    let world = world.run();
    assert_eq!(
        (world.end, &world.commits[..]),
        (Some(RunEnd::Completed), &["a".to_owned(), "new".into()][..])
    );
}
