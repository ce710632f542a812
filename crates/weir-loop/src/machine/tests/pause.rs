//! A person pauses a run and continues it.

use super::*;

fn by() -> String {
    "alice".to_owned()
}

/// Pauses after this many actions, sees that no session begins any more, and lets the run continue to its end.
fn paused_after(mut world: World, after: usize) -> World {
    world.go_for(after);
    world.queue.push_front(Event::Pause { by: by() });
    world.go();
    let sessions = world.sessions.len();
    let is_over = world.end.is_some();
    let active_ms = world.machine.state().active_ms;
    world.now += 3_600_000;
    world.queue.push_back(Event::Tick);
    world.go();
    assert_eq!(world.sessions.len(), sessions, "paused after {after}: no session begins");
    if !is_over {
        assert_eq!(world.end, None, "paused after {after}: it waits");
        assert!(world.machine.state().active_ms < active_ms + 3_600_000, "a pause is no work");
    }
    world.queue.push_back(Event::Unpause { by: by() });
    world.go();
    world
}

#[test]
fn a_pause_changes_nothing_but_the_time() {
    for parallel in [1, 3] {
        let mut config = config();
        config.parallel = parallel;
        let new = || World::new(THREE, config.clone()).gates("a", [false, true]);
        let undisturbed = new().run();
        for after in 0..undisturbed.done {
            let world = paused_after(new(), after);
            let when = format!("{parallel} at a time, paused after {after}");
            assert_eq!(world.end, Some(RunEnd::Completed), "{when}");
            assert_eq!(world.sessions.len(), undisturbed.sessions.len(), "{when}");
            // A task on hold does not hold up the others.
            let sorted =
                |commits: &[String]| commits.iter().cloned().collect::<std::collections::BTreeSet<_>>();
            assert_eq!(sorted(&world.commits), sorted(&undisturbed.commits), "{when}");
            assert_eq!(world.commits.len(), undisturbed.commits.len(), "{when}");
            assert!(world.machine.state().paused.is_none());
        }
    }
}

#[test]
fn a_paused_run_can_be_ended_and_is_still_paused_afterwards() {
    let mut world = World::new(THREE, config());
    world.go_for(3);
    world.queue.push_front(Event::Pause { by: by() });
    world.go();
    world.queue.push_back(Event::Interrupt);
    let world = world.run();
    assert_eq!(world.end, Some(RunEnd::Interrupted));
    let state = world.machine.state().clone();
    let mut world = World::over(THREE, config(), Some(state), Wanted::default());
    world.go();
    assert_eq!((world.end.clone(), world.sessions.len()), (None, 0), "a person has to allow it");
    assert!(world.events.iter().any(|event| matches!(event, LoopEvent::Paused { .. })), "and is told so");
    world.queue.push_back(Event::Unpause { by: by() });
    assert_eq!(world.run().end, Some(RunEnd::Completed));
}

#[test]
fn a_task_can_be_skipped_during_a_pause() {
    let mut world = World::new(THREE, config());
    world.queue.push_back(Event::Pause { by: by() });
    world.go();
    for task in ["a", "b"] {
        world.queue.push_back(Event::Skip(TaskId::new(task)));
    }
    world.queue.push_back(Event::Unpause { by: by() });
    let world = world.run();
    assert_eq!((world.end, &world.commits[..]), (Some(RunEnd::Unfinished), &["c".to_owned()][..]));
}

#[test]
fn a_pause_does_not_keep_a_run_from_ending_that_has_nothing_to_do() {
    let mut world = World::new("- [x] a\n", config());
    world.queue.push_back(Event::Pause { by: by() });
    assert_eq!(world.run().end, Some(RunEnd::Completed));
}
