//! Who may write.

use weir_store::{Append, Log, StoreError};

use crate::Outcome;
use crate::support::{DEADLINE, append, append_as, create, event, named, whole_log};

pub(crate) fn a_second_writer_is_kept_out(log: &dyn Log) -> Outcome {
    let one = create(log)?;
    append(log, &one, &["a"])?;
    let at = |newest, text: &str| {
        log.append(Append { expected_newest: Some(newest), ..Append::new(one.clone(), vec![event(text)]) })
            .wait()
    };
    assert!(matches!(at(0, "x"), Err(StoreError::Moved { expected: 0, newest: 1 })));
    assert!(matches!(at(2, "x"), Err(StoreError::Moved { expected: 2, newest: 1 })));
    assert_eq!(at(1, "b")?.newest, 2);
    assert_eq!(whole_log(log, &one)?, ["a", "b"]);
    Ok(())
}

pub(crate) fn a_replaced_writer_is_fenced(log: &dyn Log) -> Outcome {
    let (one, other) = (create(log)?, create(log)?);
    assert_eq!(log.generation(one.clone()).wait()?, 0);
    append_as(log, &one, 0, &["a"])?;
    append_as(log, &one, 2, &["b"])?;
    assert_eq!(log.generation(one.clone()).wait()?, 2);
    for generation in [0, 1] {
        let refused = append_as(log, &one, generation, &["x"]);
        let is_fenced = matches!(&refused, Err(StoreError::Fenced { session, generation: g, current: 2 })
            if *session == one && *g == generation);
        assert!(is_fenced, "{refused:?}");
    }
    // Also where the log is as it expects, and where it would write nothing.
    let expecting =
        Append { expected_newest: Some(2), generation: 1, ..Append::new(one.clone(), vec![event("x")]) };
    assert!(matches!(log.append(expecting).wait(), Err(StoreError::Fenced { .. })));
    log.append(Append { generation: 2, ..Append::new(one.clone(), vec![named("m", "c")]) }).wait()?;
    let again = Append { generation: 1, ..Append::new(one.clone(), vec![named("m", "c")]) };
    assert!(matches!(log.append(again).wait(), Err(StoreError::Fenced { .. })));
    assert!(matches!(append_as(log, &one, 1, &[]), Err(StoreError::Fenced { .. })));
    append_as(log, &one, 2, &["d"])?;
    append_as(log, &one, 7, &["e"])?;
    assert!(matches!(append_as(log, &one, 2, &["x"]), Err(StoreError::Fenced { current: 7, .. })));
    assert_eq!(whole_log(log, &one)?, ["a", "b", "c", "d", "e"]);
    // Each session has its own.
    append_as(log, &other, 0, &["a"])?;
    Ok(())
}

pub(crate) fn a_claim_without_events_fences(log: &dyn Log) -> Outcome {
    let one = create(log)?;
    append_as(log, &one, 1, &["a"])?;
    let claimed = append_as(log, &one, 2, &[])?;
    assert_eq!((claimed.newest, claimed.placed), (1, vec![]));
    assert_eq!(log.generation(one.clone()).wait()?, 2);
    assert!(matches!(append_as(log, &one, 1, &["x"]), Err(StoreError::Fenced { .. })));
    append_as(log, &one, 2, &["b"])?;
    assert_eq!(whole_log(log, &one)?, ["a", "b"]);
    // Two claims of the same generation on the same log: one of them is too late.
    let claim = |generation| {
        let append =
            Append { expected_newest: Some(2), generation, ..Append::new(one.clone(), vec![event("claim")]) };
        log.append(append).wait()
    };
    assert!(claim(3).is_ok());
    assert!(matches!(claim(3), Err(StoreError::Moved { newest: 3, .. })));
    Ok(())
}

/// One writer after another takes a session over while the one before still writes.
pub(crate) fn a_writer_is_replaced_while_it_writes(log: &dyn Log) -> Outcome {
    const WRITERS: u64 = 4;
    /// A writer claims the session when it has this many events more than when the one before did.
    const EACH: u64 = 25;
    let one = create(log)?;
    // Writes until it is fenced, or no later writer is left.
    let write = |generation: u64| -> Result<Vec<String>, StoreError> {
        let mut stored = Vec::new();
        if generation > 1 {
            let tail = log.subscribe(one.clone()).wait()?;
            assert!(tail.wait((generation - 1) * EACH, DEADLINE).is_some(), "the log grows");
            match append_as(log, &one, generation, &[]) {
                Ok(_) => {}
                // The next one was quicker.
                Err(StoreError::Fenced { .. }) => return Ok(stored),
                Err(error) => return Err(error),
            }
        }
        while generation < WRITERS || stored.len() < 50 {
            let text = format!("{generation} {}", stored.len());
            match append_as(log, &one, generation, &[&text]) {
                Ok(_) => stored.push(text),
                Err(StoreError::Fenced { .. }) => break,
                Err(error) => return Err(error),
            }
        }
        Ok(stored)
    };
    let acknowledged = std::thread::scope(|scope| {
        let write = &write;
        let writers: Vec<_> =
            (1..=WRITERS).map(|generation| scope.spawn(move || write(generation))).collect();
        let ended = writers.into_iter().map(|writer| writer.join().unwrap_or(Err(StoreError::Closed)));
        ended.collect::<Result<Vec<_>, _>>()
    })?;
    let found = whole_log(log, &one)?;
    // All that was acknowledged is there, once, in order and before what later generations wrote; and nothing else.
    assert_eq!(found, acknowledged.concat());
    assert!(acknowledged.first().is_some_and(|stored| stored.len() as u64 >= EACH));
    assert!(acknowledged.last().is_some_and(|stored| stored.len() == 50));
    Ok(())
}
