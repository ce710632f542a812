//! Work that a second session reviews.

use super::*;

fn reviewed(verdicts: impl IntoIterator<Item = AgentRun>) -> World {
    let mut config = config();
    config.review = Some(crate::config::Review::default());
    let mut world = World::new("- [ ] a\n", config);
    world.verdicts = verdicts.into_iter().collect();
    world
}

fn says(verdict: &str) -> AgentRun {
    AgentRun { text: format!("I have looked.\n\nVERDICT: {verdict}"), ..good() }
}

#[test]
fn what_is_approved_is_done_and_the_verdict_is_in_the_receipt() {
    let world = reviewed([says("approve")]).run();
    assert_eq!(world.end, Some(RunEnd::Completed));
    let record = &world.machine.state().tasks[0];
    assert!(record.receipt.as_ref().unwrap().review.as_ref().unwrap().approves);
    let budget = world.machine.state().budget();
    assert_eq!((record.counted(), budget.iterations, record.attempts.len()), (1, 2, 2));
    assert!((budget.cost_usd - 0.2).abs() < 1e-9, "the review is paid for: {budget:?}");
}

#[test]
fn what_is_rejected_is_tried_again_with_the_reasons() {
    let world = reviewed([says("reject"), good(), says("approve")]).run();
    assert_eq!((world.end, world.sessions.len(), world.reviews.len()), (Some(RunEnd::Completed), 3, 3));
    let failure = |place: usize| world.orders[place].failure.clone().unwrap();
    assert_eq!(failure(1).reason, "the review: it rejects the work");
    assert!(failure(1).output.contains("I have looked"));
    assert_eq!(failure(2).reason, "the review: it ended without a verdict");
}

#[test]
fn a_review_waits_for_a_limit_and_resumes_after_a_kill() {
    let mut world = reviewed([limited(Some(2000)), says("approve")]).run();
    assert_eq!((world.end.clone(), world.reviews.len()), (None, 1));
    world.now = world.machine.state().wait.as_ref().unwrap().until;
    world.queue.push_back(Event::Tick);
    let world = world.run();
    assert_eq!((world.end, world.sessions.len(), world.reviews.len()), (Some(RunEnd::Completed), 1, 2));
    // Killed during the review: the work is not done again.
    let mut first = reviewed([]);
    while first.reviews.is_empty() {
        first.go_for(1);
    }
    let mut config = config();
    config.review = Some(crate::config::Review::default());
    let state = first.machine.state().clone();
    let mut second = World::over("- [ ] a\n", config, Some(state), Wanted::default());
    second.verdicts.push_back(says("approve"));
    let second = second.run();
    assert_eq!((second.end, second.sessions.len(), second.reviews.len()), (Some(RunEnd::Completed), 0, 1));
}
