//! The test itself.

use std::sync::Mutex;

use crate::recording::{Recording, recordings};
use crate::{known, replay, setup};

/// Everything that was recorded, on both versions. Differences have to be in the table in `known.rs`.
#[test]
fn the_transcript_of_every_recording_is_the_same() {
    let all = recordings();
    assert!(all.len() > 100, "the recordings are missing");
    let work: Vec<Vec<Recording>> = setup::chains(all);
    let next = Mutex::new(work.into_iter());
    let failures = Mutex::new(Vec::new());
    let equal = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..6 {
            scope.spawn(|| {
                loop {
                    let Some(chain) = next.lock().unwrap().next() else { break };
                    for (name, outcome) in replay::chain(&chain) {
                        match outcome {
                            Ok(()) => equal.lock().unwrap().push(name),
                            Err(problem) => failures.lock().unwrap().push(format!("== {name}\n{problem}")),
                        }
                    }
                }
            });
        }
    });
    let mut failures = failures.into_inner().unwrap();
    failures.sort();
    let equal = equal.into_inner().unwrap().len();
    assert!(failures.is_empty(), "{} differ, {equal} are equal:\n{}", failures.len(), failures.join("\n"));
    assert!(equal > 100, "only {equal} recordings were compared");
}

#[test]
fn every_known_difference_is_needed() {
    // The comparison fails for a difference that is in the table but does not occur, so this only checks the table.
    for (index, difference) in known::DIFFERENCES.iter().enumerate() {
        assert!(difference.reason.len() > 20, "{difference:?} needs a reason");
        let again = known::DIFFERENCES.iter().skip(index + 1);
        assert!(!again.clone().any(|other| (other.version, other.name, other.lines)
            == (difference.version, difference.name, difference.lines)));
    }
}
