//! What happens in an unattended run: kills that buy nothing, times to start and to stop, a machine that sleeps, and a
//! person who changes the list at the last moment.

use super::*;

#[test]
fn sessions_that_are_cut_off_use_up_the_iterations() {
    let mut config = config();
    config.limits.iterations = 3;
    let cut_off = AgentRun { end: AgentEnd::Interrupted, cost_usd: None, ..good() };
    let mut state = None;
    for sessions in 1..=3 {
        let mut world = World::over(THREE, config.clone(), state.take(), Wanted::default())
            .script("a", [cut_off.clone()]);
        while world.sessions.is_empty() {
            world.go_for(1);
        }
        world.queue.push_front(Event::Interrupt);
        let world = world.run();
        assert_eq!(world.end, Some(RunEnd::Interrupted), "{sessions}");
        let budget = world.machine.state().budget();
        assert_eq!(
            (budget.iterations, budget.unknown_costs, budget.tokens),
            (sessions, sessions, 100 * u64::from(sessions))
        );
        assert_eq!(world.machine.state().tasks[0].counted(), 0, "they do not count as attempts at the task");
        state = Some(world.machine.state().clone());
    }
    let world = World::over(THREE, config, state, Wanted::default()).run();
    assert!(matches!(world.end, Some(RunEnd::Limit { .. })), "{:?}", world.end);
    assert_eq!(world.sessions, [""; 0], "nothing is spent any more");
}

#[test]
fn a_session_that_never_reached_the_model_does_not_count() {
    let never = AgentRun { end: AgentEnd::Interrupted, ..AgentRun::default() };
    let mut world = World::new(THREE, config()).script("a", [never]);
    while world.sessions.is_empty() {
        world.go_for(1);
    }
    world.queue.push_front(Event::Interrupt);
    assert_eq!(world.run().machine.state().budget().iterations, 0);
}

#[test]
fn no_session_begins_before_the_start_or_after_the_end() {
    let wanted = Wanted { start_at: Some(2_000_000), ..Wanted::default() };
    let mut world = World::over(THREE, config(), None, wanted).run();
    assert_eq!((world.end.clone(), world.sessions.len()), (None, 0));
    world.now = 2_000_000;
    world.queue.push_back(Event::Tick);
    let world = world.run();
    assert_eq!((world.end, world.sessions.len()), (Some(RunEnd::Completed), 3));
    // The task that is being worked on is finished.
    let wanted = Wanted { stop_at: Some(1_000_030), ..Wanted::default() };
    let world = World::over(THREE, config(), None, wanted).run();
    assert_eq!(
        (world.end, &world.commits[..]),
        (Some(RunEnd::TimeIsUp { at: 1_000_030 }), &["a".to_owned()][..])
    );
    let again =
        World::over(&world.list, config(), Some(world.machine.state().clone()), Wanted::default()).run();
    assert_eq!(again.end, Some(RunEnd::Completed));
}

#[test]
fn a_wait_beyond_the_end_ends_the_run() {
    let wanted = Wanted { stop_at: Some(10_000_000), ..Wanted::default() };
    let world = World::over(THREE, config(), None, wanted).script("a", [limited(Some(20_000))]).run();
    assert_eq!(world.end, Some(RunEnd::TimeIsUp { at: 10_000_000 }));
}

#[test]
fn the_sleep_of_the_machine_is_no_time_at_work() {
    let mut world = World::new(THREE, config());
    world.go_for(2);
    let before = world.machine.state().active_ms;
    world.machine.handle(world.now + 3_600_000, Event::Slept(3_599_000));
    assert_eq!(world.machine.state().active_ms - before, 1000);
    // Without that, it is.
    world.machine.handle(world.now + 3_605_000, Event::Clock);
    assert_eq!(world.machine.state().active_ms - before, 6000);
}

#[test]
fn all_is_done_only_when_no_box_is_open() {
    let mut world = World::new(THREE, config());
    while world.commits.len() < 3 {
        world.go_for(1);
    }
    world.list = "- [x] a\n- [ ] b\n- [x] c\n".to_owned();
    let world = world.run();
    assert_eq!(world.end, Some(RunEnd::BoxesOpen { tasks: vec![TaskId::new("b")] }));
    assert_eq!(world.commits.len(), 3, "nothing is done again unasked");
    let words = crate::report::ending(world.machine.state());
    assert!(
        words.contains("a box is open") && words.contains("retry") && !words.contains("All tasks"),
        "{words}"
    );

    let mut world = World::new(THREE, config());
    while world.commits.len() < 3 {
        world.go_for(1);
    }
    world.list.push_str("- [ ] d\n");
    let world = world.run();
    assert_eq!((world.end, world.commits.len()), (Some(RunEnd::Completed), 4));
}

#[test]
fn a_box_that_somebody_else_checks_is_not_reported_as_work() {
    let mut world = World::new(THREE, config());
    while world.sessions.is_empty() {
        world.go_for(1);
    }
    world.list = world.list.replace("[ ] b", "[x] b");
    let world = world.run();
    assert_eq!((world.end, world.commits.len()), (Some(RunEnd::Completed), 2));
    let run = world.machine.state();
    assert_eq!(crate::report::task_words(run, &run.tasks[1]), "checked by hand");
    assert!(crate::report::needs_you(run)[0].contains("task b was checked during the run"));
}

#[test]
fn without_gates_every_done_says_that_nothing_was_checked() {
    let world = World::new("- [ ] a\n", Config::default()).run();
    let is_said = |event: &LoopEvent| match event {
        LoopEvent::TaskDone { checked, .. } => !checked,
        LoopEvent::RunEnded { unchecked, .. } => *unchecked == 1,
        _ => true,
    };
    assert!(world.events.iter().all(is_said), "{:?}", world.events);
    let run = world.machine.state();
    assert_eq!(crate::report::ending(run), "All tasks are done. (1 not checked: there are no gates)");
    assert_eq!(crate::report::task_words(run, &run.tasks[0]), "done, not checked");
    for text in [crate::report::markdown(run), crate::report::html(run)] {
        assert!(text.contains("1 task is done without a check"), "{text}");
    }
}

#[test]
fn a_task_has_limits_of_its_own() {
    let list = "- [ ] a\n  - attempts: 1\n  - cost_usd: 0.25\n- [ ] b\n";
    let world = World::new(list, config()).gates("a", [false; 3]).gates("b", [false, false]).run();
    assert_eq!(world.outcomes(), [("a".into(), Some(Outcome::Failed)), ("b".into(), Some(Outcome::Done))]);
    assert_eq!((world.orders[0].max_cost_usd, world.sessions.len()), (0.25, 4));
}
