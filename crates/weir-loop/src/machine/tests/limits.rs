//! Limits of the run and of the account.

use super::*;

#[test]
fn limits_are_echoed_at_the_start() {
    let world = World::new(THREE, config()).run();
    assert!(matches!(&world.events[0], LoopEvent::RunStarted { limits, .. } if limits.iterations == 50));
}

#[test]
fn a_cost_limit_fires_and_absent_costs_leave_time_and_iterations() {
    let mut config = config();
    config.limits.cost_usd = 0.15;
    let world = World::new(THREE, config.clone()).run();
    assert!(
        matches!(world.end, Some(RunEnd::Limit { limit: LimitReached { key: "cost_usd", .. } })),
        "{:?}",
        world.end
    );
    assert_eq!(world.commits.len(), 2);
    config.limits.iterations = 1;
    let free = AgentRun { cost_usd: None, ..good() };
    let world = World::new(THREE, config).script("a", [free]).run();
    assert!(matches!(world.end, Some(RunEnd::Limit { limit: LimitReached { key: "iterations", .. } })));
    assert_eq!(world.machine.state().budget().unknown_costs, 1);
}

#[test]
fn a_session_may_cost_what_is_left_of_both_limits() {
    let mut config = config();
    config.limits.cost_usd = 0.25;
    config.task_limits.cost_usd = 0.2;
    let world = World::new(THREE, config).run();
    let limits: Vec<String> = world.orders.iter().map(|order| format!("{:.2}", order.max_cost_usd)).collect();
    assert_eq!(limits, ["0.20", "0.15", "0.05"]);
}

#[test]
fn a_task_has_its_time_over_all_its_sessions() {
    let world = World::new("- [ ] a\n", config()).gates("a", [false, false, true]).run();
    let record = &world.machine.state().tasks[0];
    assert_eq!((record.state, world.sessions.len()), (TaskState::Done, 3));
    let left: Vec<u64> = world.orders.iter().map(|order| order.timeout_ms).collect();
    assert!(left.is_sorted_by(|one, next| one > next), "{left:?}");
    assert!(record.active_ms >= left[0] - left[2], "{left:?}, {}", record.active_ms);
    // The session is still judged; then no time is left for another one.
    let mut config = config();
    config.task_limits.wall_time = Time::seconds(0);
    let world = World::new("- [ ] a\n", config).gates("a", [false; 9]).run();
    assert_eq!(world.sessions.len(), 1);
    assert_eq!(world.shelved, [("a".into(), Outcome::Budget)]);
}

#[test]
fn attempts_are_limited_and_so_is_the_same_failure() {
    let mut config = config();
    config.task_limits.attempts = 5;
    let world = World::new("- [ ] a\n", config.clone()).gates("a", [false; 9]).run();
    assert_eq!(world.sessions.len(), 3, "the same failure three times");
    assert_eq!(world.shelved, [("a".into(), Outcome::Failed)]);
    config.task_limits.attempts = 2;
    let world = World::new("- [ ] a\n", config).gates("a", [false; 9]).run();
    assert_eq!(world.sessions.len(), 2);
}

#[test]
fn a_rate_limit_waits_until_its_time_for_the_same_task_and_is_not_counted() {
    let mut world = World::new(THREE, config()).script("a", [limited(Some(2_000)), good()]).run();
    assert_eq!(world.end, None);
    let wait = world.machine.state().wait.clone().unwrap();
    assert_eq!(wait.until, 2_000_000 + 30_000);
    assert!(world.events.iter().any(|event| matches!(event, LoopEvent::Waiting { until: 2_030_000, .. })));
    world.queue.push_back(Event::Tick);
    world.go();
    assert_eq!(world.sessions, ["a"], "it is not time yet");
    world.now = wait.until;
    world.queue.push_back(Event::Tick);
    world.go();
    assert_eq!(world.end, Some(RunEnd::Completed));
    assert_eq!(world.sessions, ["a", "a", "b", "c"]);
    let budget = world.machine.state().budget();
    assert_eq!(budget.iterations, 3);
    assert!(budget.active_ms < 10_000, "waiting is not work: {}", budget.active_ms);
}

#[test]
fn a_wait_goes_on_after_a_restart_and_can_be_interrupted() {
    let mut world = World::new(THREE, config()).script("a", [limited(Some(2_000)), good()]).run();
    world.queue.push_back(Event::Interrupt);
    world.go();
    assert_eq!(world.end, Some(RunEnd::Interrupted));
    let state = world.machine.state().clone();
    let mut again = World::over(THREE, config(), Some(state), Wanted::default()).run();
    assert_eq!((again.end.clone(), again.sessions.len()), (None, 0), "it waits");
    again.now = 2_030_000;
    again.queue.push_back(Event::Tick);
    again.go();
    assert_eq!((again.end, again.sessions.len()), (Some(RunEnd::Completed), 3));
}

#[test]
fn a_wait_that_is_too_long_ends_the_run_and_one_without_a_time_is_short() {
    let world = World::new(THREE, config()).script("a", [limited(Some(9_999_999))]).run();
    assert!(matches!(world.end, Some(RunEnd::WaitTooLong { .. })));
    let world = World::new(THREE, config()).script("a", [limited(None)]).run();
    let wait = world.machine.state().wait.clone().unwrap();
    assert_eq!(wait.until - wait.since, 330_000);
}

#[test]
fn a_limit_that_is_never_lifted_ends_the_run() {
    let mut world = World::new(THREE, config()).script("a", [limited(None)]).run();
    let mut waits = 0;
    while let Some(wait) = world.machine.state().wait.clone().filter(|_| world.end.is_none()) {
        waits += 1;
        assert!(waits < 100, "it waits forever");
        world.now = wait.until;
        world.queue.push_back(Event::Tick);
        world.go();
    }
    assert!(matches!(world.end, Some(RunEnd::WaitTooLong { .. })), "{:?}", world.end);
    assert_eq!(waits, 65, "330 seconds each, six hours in all");
    // A new start may wait again, and a session that makes progress resets the count.
    let state = world.machine.state().clone();
    let progressed = AgentRun { tools: 3, ..limited(None) };
    let mut again = World::over(THREE, config(), Some(state), Wanted::default());
    again.now = world.now;
    let again = again.script("a", [progressed, limited(None)]).run();
    assert_eq!((&again.end, again.machine.state().waited_ms), (&None, 330_000));
}

#[test]
fn the_loop_waits_before_the_accounts_window_is_used_up() {
    let nearly = LimitInfo { rejected: false, resets_at: Some(3_000), limit: None, utilization: Some(0.97) };
    let world =
        World::new(THREE, config()).script("a", [AgentRun { rate_limit: Some(nearly), ..good() }]).run();
    assert_eq!(world.commits, ["a"], "the finished task is judged first");
    assert_eq!(world.machine.state().wait.as_ref().unwrap().until, 3_030_000);
}

#[test]
fn a_cli_that_cannot_be_started_ends_the_run_and_costs_no_task() {
    let none =
        AgentRun { end: AgentEnd::NotStarted { why: "claude was not found".into() }, ..AgentRun::default() };
    let world = World::new(THREE, config()).script("a", [none]).run();
    assert!(matches!(world.end, Some(RunEnd::NotStarted { .. })));
    let state = world.machine.state().clone();
    let again = World::over(THREE, config(), Some(state), Wanted::default()).run();
    assert_eq!((again.end, again.commits.len()), (Some(RunEnd::Completed), 3));
}
