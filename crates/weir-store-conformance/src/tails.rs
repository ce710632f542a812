//! Following logs, and wake-ups.

use weir_store::{Append, Log, ReadQuery, SessionId, StoreError, TailState};

use crate::Outcome;
use crate::support::{DEADLINE, append, create, event};

pub(crate) fn a_tail_knows_the_end_from_the_start(log: &dyn Log) -> Outcome {
    let one = create(log)?;
    append(log, &one, &["a", "b"])?;
    let tail = log.subscribe(one.clone()).wait()?;
    assert_eq!(tail.wait(1, DEADLINE), Some(TailState::Newest(2)));
    append(log, &one, &["c"])?;
    assert_eq!(tail.wait(2, DEADLINE), Some(TailState::Newest(3)));
    // A second one, while the first is there.
    assert_eq!(log.subscribe(one).wait()?.wait(2, DEADLINE), Some(TailState::Newest(3)));
    Ok(())
}

pub(crate) fn a_reader_is_woken(log: &dyn Log) -> Outcome {
    let one = create(log)?;
    let tail = log.subscribe(one.clone()).wait()?;
    assert_eq!(tail.state(), TailState::Newest(0));
    std::thread::scope(|scope| {
        let woken = scope.spawn(|| tail.wait(0, DEADLINE));
        drop(log.append(Append::new(one.clone(), vec![event("a")])));
        assert!(matches!(woken.join(), Ok(Some(TailState::Newest(1)))));
    });
    Ok(())
}

/// Reads everything up to `last`, as a viewer does.
fn follow(log: &dyn Log, id: &SessionId, last: u64) -> Result<Vec<u64>, StoreError> {
    let tail = log.subscribe(id.clone()).wait()?;
    let mut seen = Vec::new();
    let mut at = 0;
    while at < last {
        let page = log.read(ReadQuery { max_events: 7, ..ReadQuery::after(id.clone(), at) }).wait()?;
        seen.extend(page.events.iter().map(|event| event.seq));
        at = seen.last().copied().unwrap_or(0);
        if !page.more && at < last {
            assert!(tail.wait(at, DEADLINE).is_some(), "the log grows beyond {at}");
        }
    }
    Ok(seen)
}

pub(crate) fn readers_that_start_at_any_time_see_each_event_once(log: &dyn Log) -> Outcome {
    const EVENTS: u64 = 120;
    let one = create(log)?;
    std::thread::scope(|scope| {
        let readers: Vec<_> = (0..4)
            .map(|reader| {
                let one = &one;
                scope.spawn(move || {
                    let tail = log.subscribe(one.clone()).wait()?;
                    if reader > 0 {
                        assert!(tail.wait(reader * 20, DEADLINE).is_some(), "the log grows");
                    }
                    follow(log, one, EVENTS)
                })
            })
            .collect();
        for number in 0..EVENTS {
            append(log, &one, &[&number.to_string()])?;
        }
        for reader in readers {
            let seen = reader.join().unwrap_or(Err(StoreError::Closed))?;
            assert!(seen.into_iter().eq(1..=EVENTS));
        }
        Ok(())
    })
}

pub(crate) fn a_reader_learns_of_a_deletion(log: &dyn Log) -> Outcome {
    let one = create(log)?;
    let tail = log.subscribe(one.clone()).wait()?;
    assert!(log.delete(one).wait()?);
    assert_eq!(tail.wait(100, DEADLINE), Some(TailState::Deleted));
    Ok(())
}

pub(crate) fn all_sessions_are_followed(log: &dyn Log) -> Outcome {
    let one = create(log)?;
    let tail = log.subscribe_all().wait()?;
    let TailState::Newest(mut seen) = tail.state() else { return Err(StoreError::Closed) };
    for _ in 0..3 {
        append(log, &one, &["a"])?;
        let Some(TailState::Newest(newest)) = tail.wait(seen, DEADLINE) else {
            return Err(StoreError::Closed);
        };
        seen = newest;
        create(log)?;
        let Some(TailState::Newest(newest)) = tail.wait(seen, DEADLINE) else {
            return Err(StoreError::Closed);
        };
        seen = newest;
    }
    Ok(())
}

pub(crate) fn listeners_are_woken(log: &dyn Log) -> Outcome {
    let (topic, other) = (format!("wake.{}", SessionId::random()), format!("wake.{}", SessionId::random()));
    // No listener yet.
    log.wake(topic.clone()).wait()?;
    let first = log.listen(topic.clone()).wait()?;
    let second = log.listen(topic.clone()).wait()?;
    let elsewhere = log.listen(other).wait()?;
    let count = |state| if let TailState::Newest(count) = state { count } else { u64::MAX };
    let before = elsewhere.state();
    for _ in 0..3 {
        let (one, two) = (count(first.state()), count(second.state()));
        log.wake(topic.clone()).wait()?;
        assert!(matches!(first.wait(one, DEADLINE), Some(TailState::Newest(_))));
        assert!(matches!(second.wait(two, DEADLINE), Some(TailState::Newest(_))));
    }
    assert_eq!(elsewhere.state(), before);
    for name in ["", "*", "a b", "a..b"] {
        assert!(matches!(log.wake(name.to_owned()).wait(), Err(StoreError::Invalid(_))), "{name}");
        assert!(matches!(log.listen(name.to_owned()).wait(), Err(StoreError::Invalid(_))), "{name}");
    }
    Ok(())
}
