//! The machine with a faulty channel and engine: duplicates, reordering, refused edits, rate limits, crashes.
#![cfg(test)]

mod channel;
mod engine;
mod world;

use std::collections::BTreeMap;

use weir_bridge::channel::{IncomingBody, IncomingText};
use weir_bridge::engine::EndingOutcome;
use weir_bridge::machine::QueueMode;

use engine::token;
use world::{STRANGER, World};

/// Number of simulated worlds, and of steps in each.
const SEEDS: u64 = 200;
const STEPS: usize = 400;

fn check(seed: u64) {
    let mut world = World::new(seed);
    for _ in 0..STEPS {
        world.step();
    }
    world.drain();
    every_message_has_one_outcome(&world);
    strangers_get_one_hint(&world);
    every_answer_is_shown_once(&world);
    edits_are_spaced_out(&world);
    order_is_kept(&world);
    pictures_are_shown_once(&world);
    assert_eq!(world.leftovers(), Vec::<&(weir_bridge::machine::Kind, String)>::new());
}

fn every_message_has_one_outcome(world: &World) {
    let mut outcomes: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (delivery, outcome) in world.outcomes() {
        outcomes.entry(delivery).or_default().push(outcome);
    }
    for message in &world.written {
        let count = outcomes.get(&message.key).map_or(0, Vec::len);
        let expected = usize::from(message.sender.id.as_str() != STRANGER);
        assert_eq!(count, expected, "outcomes of {message:?}: {:?}", outcomes.get(&message.key));
    }
}

fn strangers_get_one_hint(world: &World) {
    let seen: Vec<_> =
        world.screen.messages.values().filter(|shown| shown.chat.as_str() == "alone").collect();
    assert!(seen.iter().all(|shown| shown.text.contains("pairing code")), "{seen:?}");
    // If a crash left it open whether a notice was posted, it may come twice on a channel that does not recognise
    // repeats.
    assert!(!world.screen.posts_once || seen.len() <= 1, "{seen:?}");
    assert!(world.engine.prompts.iter().all(|(scope, _, _)| !scope.contains("alone")));
}

fn every_answer_is_shown_once(world: &World) {
    for (prompt, ending) in world.engine.answered() {
        let found: Vec<_> =
            world.screen.messages.values().filter(|shown| shown.text.contains(&token(prompt))).collect();
        match ending.outcome {
            EndingOutcome::Interrupted => assert!(found.is_empty(), "{prompt}: {found:?}"),
            EndingOutcome::Answered(_) | EndingOutcome::Failed(_) => {
                assert_eq!(found.len(), 1, "{prompt} ({ending:?}): {found:?}\n{:#?}", world.screen.messages);
            }
        }
    }
}

fn pictures_are_shown_once(world: &World) {
    let mut uploads = world.screen.uploads.clone();
    uploads.sort();
    let before = uploads.len();
    uploads.dedup();
    // A channel may not recognise a repeated upload, and turns of steered messages cannot be told apart before they
    // end.
    let is_sure = world.screen.posts_once && world.mode != QueueMode::Steer;
    assert!(!is_sure || before == uploads.len(), "{uploads:?}");
    let missing: Vec<_> = world.engine.made().into_iter().filter(|made| !uploads.contains(made)).collect();
    assert!(world.mode == QueueMode::Steer || missing.is_empty(), "not shown: {missing:?}");
}

fn edits_are_spaced_out(world: &World) {
    for (chat, times) in &world.screen.edits {
        for pair in times.windows(2) {
            assert!(pair[1] - pair[0] >= 1_000, "{chat} was edited at {pair:?}");
        }
    }
}

/// Prompts of a conversation are sent in the order in which their messages were accepted, and their answers are in the
/// same order.
fn order_is_kept(world: &World) {
    let mut scopes: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (scope, client_id, _) in &world.engine.prompts {
        let shown = world.screen.messages.iter().find(|(_, shown)| shown.text.contains(&token(client_id)));
        if let Some((name, _)) = shown {
            let number = name.trim_start_matches('m').parse().unwrap_or(0);
            scopes.entry(scope).or_default().push(number);
        }
    }
    for (scope, numbers) in scopes {
        // A message that a person deleted is posted again, further down.
        let deleted = world.screen.posts_once;
        assert!(deleted || numbers.is_sorted(), "answers in {scope} are in the order {numbers:?}");
    }
    if world.mode == QueueMode::Followup {
        let texts: Vec<&String> = world.engine.prompts.iter().map(|(_, _, text)| text).collect();
        for message in &world.written {
            let IncomingBody::Text(IncomingText { text, .. }) = &message.body else { continue };
            if !text.starts_with("please") {
                continue;
            }
            let given = texts.iter().filter(|given| given.as_str() == text).count();
            assert!(given <= 1, "{text} was sent {given} times");
        }
    }
}

#[test]
fn invariants_hold_in_every_simulated_world() {
    for seed in 0..SEEDS {
        let result = std::panic::catch_unwind(|| check(seed));
        assert!(result.is_ok(), "failed with seed {seed}");
    }
}
