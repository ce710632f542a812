//! The outcomes of tasks.

use super::*;

#[test]
fn a_question_no_change_and_a_failure_are_outcomes_of_their_own() {
    let mut world = World::new("- [ ] asks\n- [ ] idles\n- [ ] errs\n- [ ] works\n", config())
        .script("asks", [AgentRun { text: "Shall I?".into(), ..good() }])
        .script("errs", [AgentRun { is_error: true, ..good() }]);
    world.unchanged = vec!["asks".into(), "idles".into()];
    let world = world.run();
    let outcomes: Vec<Option<Outcome>> = world.outcomes().into_iter().map(|(_, outcome)| outcome).collect();
    assert_eq!(
        outcomes,
        [Some(Outcome::Question), Some(Outcome::NoChange), Some(Outcome::Failed), Some(Outcome::Done)]
    );
    assert_eq!(world.commits, ["works"]);
}

#[test]
fn success_on_the_last_allowed_iteration_is_a_success() {
    let mut config = config();
    config.limits.iterations = 3;
    let world = World::new(THREE, config.clone()).run();
    assert_eq!(world.end, Some(RunEnd::Completed));
    config.limits.iterations = 2;
    let world = World::new(THREE, config.clone()).run();
    let limit = LimitReached { key: "iterations", used: Some(2.0), max: 2.0 };
    assert_eq!(world.end, Some(RunEnd::Limit { limit }));
    assert_eq!(world.commits, ["a", "b"]);
    // With a higher limit it resumes where it was.
    config.limits.iterations = 5;
    let state = world.machine.state().clone();
    let again = World::over("- [x] a\n- [x] b\n- [ ] c\n", config, Some(state), Wanted::default()).run();
    assert_eq!((again.end, again.sessions), (Some(RunEnd::Completed), vec!["c".to_owned()]));
}

#[test]
fn a_failed_gate_goes_back_into_the_next_attempts_prompt() {
    let world = World::new("- [ ] a\n", config()).gates("a", [false, true]).run();
    assert_eq!(world.end, Some(RunEnd::Completed));
    assert_eq!((world.orders[0].number, world.orders[1].number), (1, 2));
    assert!(world.orders[1].failure.as_ref().unwrap().reason.contains("gates failed: test"));
    assert_eq!(world.machine.state().tasks[0].receipt.as_ref().unwrap().attempts, 2);
}

#[test]
fn a_crash_is_retried_once_if_no_tool_had_run() {
    let world = World::new("- [ ] a\n", config()).script("a", [crash(0), good()]).run();
    assert_eq!((world.end, world.sessions.len()), (Some(RunEnd::Completed), 2));
    assert_eq!(world.machine.state().budget().iterations, 1);
    let world = World::new("- [ ] a\n", config()).script("a", [crash(0)]).run();
    assert_eq!((world.sessions.len(), &world.shelved[..]), (2, &[("a".into(), Outcome::Crashed)][..]));
    let world = World::new("- [ ] a\n", config()).script("a", [crash(1), good()]).run();
    assert_eq!((world.sessions.len(), &world.shelved[..]), (1, &[("a".into(), Outcome::Crashed)][..]));
}

#[test]
fn a_denial_halts_the_run_unless_told_otherwise() {
    let denied =
        AgentRun { denials: vec![DeniedTool::new("Bash", serde_json::json!({"command": "rm x"}))], ..good() };
    let world = World::new(THREE, config()).script("a", [denied.clone()]).run();
    assert_eq!(world.end, Some(RunEnd::Denied { task: TaskId::new("a") }));
    assert_eq!(world.sessions, ["a"]);
    let has_rule = world.events.iter().any(|event| matches!(event, LoopEvent::AttemptEnded { denials, .. } if denials.first().is_some_and(|d| d.rule == "Bash(rm x:*)")));
    assert!(has_rule, "{:?}", world.events);
    let mut config = config();
    config.permissions.on_denial = OnDenial::NextTask;
    let world = World::new(THREE, config).script("a", [denied]).run();
    assert_eq!((world.end, world.commits.len()), (Some(RunEnd::Unfinished), 2));
}

#[test]
fn the_same_failure_in_consecutive_tasks_ends_the_run() {
    let broken = AgentRun { is_error: true, subtype: Some("error_during_execution".into()), ..good() };
    let list: String = (0..9).map(|number| format!("- [ ] t{number}\n")).collect();
    let mut world = World::new(&list, config());
    for number in 0..9 {
        world.runs.insert(format!("t{number}"), [broken.clone()].into());
    }
    let world = world.run();
    assert!(matches!(world.end, Some(RunEnd::SameFailure { .. })), "{:?}", world.end);
    assert_eq!(world.sessions.len(), 3);
}
