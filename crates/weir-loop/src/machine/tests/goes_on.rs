//! A run resumes after an end, an interrupt or a kill.

use super::*;

#[test]
fn once_and_until_end_the_run_early() {
    let once = Wanted { once: true, ..Wanted::default() };
    let world = World::over(THREE, config(), None, once).run();
    assert_eq!((world.end, &world.commits[..]), (Some(RunEnd::Enough), &["a".to_owned()][..]));
    let until = Wanted { until: Some(TaskId::new("b")), ..Wanted::default() };
    let world = World::over(THREE, config(), None, until).run();
    assert_eq!((world.end, world.commits.len()), (Some(RunEnd::Enough), 2));
}

#[test]
fn a_run_killed_before_any_action_resumes_and_counts_nothing_twice() {
    let list = "- [ ] a\n- [ ] b\n  - needs: a\n- [ ] c\n";
    let reference = World::new(list, config()).gates("b", [false, true]).run();
    let total = reference.done;
    assert!(total > 40, "{total}");
    for kill_at in 0..total {
        let mut first = World::new(list, config()).gates("b", [false, true]);
        first.kill_at = Some(kill_at);
        let first = first.run();
        assert!(first.killed);
        // The next start knows only the saved state; what was done stays done.
        let text = serde_json::to_string(first.machine.state()).unwrap();
        let state: RunState = serde_json::from_str(&text).unwrap();
        let ticked = list_with(&first.commits, list);
        let mut second = World::over(&ticked, config(), Some(state), Wanted::default());
        second.gates = first.gates;
        second.commits = first.commits;
        let second = second.run();
        assert_eq!(second.end, Some(RunEnd::Completed), "killed at {kill_at}");
        assert_eq!(second.commits, ["a", "b", "c"], "killed at {kill_at}");
        let (budget, expected) = (second.machine.state().budget(), reference.machine.state().budget());
        assert!((budget.cost_usd - expected.cost_usd).abs() < 1e-9, "killed at {kill_at}: {budget:?}");
        assert_eq!(
            (budget.iterations, budget.tokens),
            (expected.iterations, expected.tokens),
            "killed at {kill_at}"
        );
    }
}

fn list_with(commits: &[String], list: &str) -> String {
    commits.iter().fold(list.to_owned(), |list, task| {
        list.replace(&format!("- [ ] {task}\n"), &format!("- [x] {task}\n"))
    })
}

#[test]
fn an_interrupted_run_saves_its_state_and_can_be_resumed() {
    let mut world =
        World::new(THREE, config()).script("a", [AgentRun { end: AgentEnd::Interrupted, ..good() }]);
    world.queue.push_back(Event::Interrupt);
    let world = world.run();
    assert_eq!(world.end, Some(RunEnd::Interrupted));
    let state = world.machine.state().clone();
    let again = World::over(THREE, config(), Some(state), Wanted::default()).run();
    assert_eq!((again.end, again.commits.len()), (Some(RunEnd::Completed), 3));
}
