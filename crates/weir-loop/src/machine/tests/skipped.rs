//! A person skips a task while it is in progress.

use super::*;

fn skip() -> Event {
    Event::Skip(TaskId::new("a"))
}

fn check(world: &World, when: &str) -> TaskState {
    let state = world.machine.state().task(&TaskId::new("a")).unwrap().state;
    assert!(world.machine.state().tasks.iter().all(|record| !record.is_unwanted), "{when}");
    match state {
        TaskState::Skipped => {
            assert_eq!(
                (world.end.as_ref(), &world.commits[..]),
                (Some(&RunEnd::Unfinished), &["b", "c"].map(String::from)[..]),
                "{when}"
            );
        }
        // It was too late.
        TaskState::Done => assert_eq!(world.commits, ["a", "b", "c"], "{when}"),
        other => panic!("{when}: {other:?}"),
    }
    let spent = world.machine.state().budget().cost_usd;
    assert!(
        (spent - 0.1 * world.sessions.len() as f64).abs() < 1e-9,
        "{when}: {spent} for {:?}",
        world.sessions
    );
    state
}

#[test]
fn a_task_can_be_skipped_at_any_step() {
    for parallel in [1, 3] {
        let mut config = config();
        config.parallel = parallel;
        let total = World::new(THREE, config.clone()).run().done;
        let mut seen = Vec::new();
        for after in 0..total {
            let mut world = World::new(THREE, config.clone()).gates("a", [false, true]);
            world.go_for(after);
            world.queue.push_front(skip());
            world.go();
            seen.push(check(&world, &format!("{parallel} at a time, skipped after {after}")));
        }
        assert!(seen.contains(&TaskState::Skipped) && seen.contains(&TaskState::Done), "{seen:?}");
    }
}

#[test]
fn a_requested_skip_survives_a_kill() {
    let mut skipped = 0;
    for (after, kill_after) in (0..12).flat_map(|after| (0..6).map(move |more| (after, more))) {
        let mut first = World::new(THREE, config());
        first.go_for(after);
        first.queue.push_front(skip());
        first.go_for(1 + kill_after);
        let text = serde_json::to_string(first.machine.state()).unwrap();
        let state: RunState = serde_json::from_str(&text).unwrap();
        let record = state.task(&TaskId::new("a")).unwrap();
        if !record.is_unwanted {
            continue;
        }
        skipped += 1;
        let again = World::over(THREE, config(), Some(state), Wanted::default()).run();
        let record = again.machine.state().task(&TaskId::new("a")).unwrap();
        assert_eq!((record.state, record.is_unwanted), (TaskState::Skipped, false), "{after}, {kill_after}");
        assert_eq!(again.commits, ["b", "c"], "{after}, {kill_after}");
    }
    assert!(skipped > 10, "{skipped}");
}

#[test]
fn a_task_that_waits_for_a_limit_is_skipped_at_once_and_can_be_retried() {
    let mut world = World::new(THREE, config()).script("a", [limited(Some(2_000)), good()]).run();
    world.queue.push_back(skip());
    world.go();
    assert_eq!(world.shelved, [("a".to_owned(), Outcome::Interrupted)]);
    assert!(world.machine.state().wait.is_some(), "the others still wait");
    assert!(world.events.iter().any(|event| matches!(event, LoopEvent::TaskSkipped { .. })));
    world.queue.push_back(Event::Retry(TaskId::new("a")));
    world.now = 2_030_000;
    world.queue.push_back(Event::Tick);
    world.go();
    assert_eq!((world.end, world.commits.len()), (Some(RunEnd::Completed), 3));
}
