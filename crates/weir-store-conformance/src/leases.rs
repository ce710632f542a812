//! Leases. Those that end by themselves take seconds, because a cluster counts in whole ones.

use std::time::{Duration, Instant};

use weir_store::{Acquired, Lease, LeaseRequest, Log, SessionId, StoreError};

use crate::Outcome;
use crate::support::DEADLINE;

const LONG: Duration = Duration::from_secs(60);
const SHORT: Duration = Duration::from_secs(2);

fn name() -> String {
    format!("session.{}", SessionId::random())
}

fn acquire(log: &dyn Log, name: &str, holder: &str, ttl: Duration) -> Result<Option<Lease>, StoreError> {
    match log.acquire(LeaseRequest::new(name, holder, ttl)).wait()? {
        Acquired::Granted(lease) => {
            assert_eq!((lease.name.as_str(), lease.holder.as_str()), (name, holder));
            Ok(Some(lease))
        }
        Acquired::Held { .. } => Ok(None),
    }
}

fn granted(log: &dyn Log, name: &str, holder: &str, ttl: Duration) -> Result<Lease, StoreError> {
    let lease = acquire(log, name, holder, ttl)?;
    lease.ok_or_else(|| StoreError::Invalid(format!("{name} is held, and {holder} should get it")))
}

pub(crate) fn a_lease_has_one_holder(log: &dyn Log) -> Outcome {
    let (one, two) = (name(), name());
    let lease = granted(log, &one, "a", LONG)?;
    for holder in ["a", "b"] {
        let held = log.acquire(LeaseRequest::new(&one, holder, LONG)).wait()?;
        assert_eq!(held, Acquired::Held { holder: "a".to_owned(), generation: lease.generation });
    }
    granted(log, &two, "b", LONG)?;
    for name in ["", "a b", "*", "a..b"] {
        let refused = log.acquire(LeaseRequest::new(name, "a", LONG)).wait();
        assert!(matches!(refused, Err(StoreError::Invalid(_))), "{name}");
    }
    // Of many who ask at the same time, one gets it.
    let contested = name();
    let winners = std::thread::scope(|scope| {
        let asking: Vec<_> = (0..6)
            .map(|number| {
                let contested = &contested;
                scope.spawn(move || acquire(log, contested, &format!("holder {number}"), LONG))
            })
            .collect();
        let answers = asking.into_iter().map(|asked| asked.join().unwrap_or(Err(StoreError::Closed)));
        answers.collect::<Result<Vec<_>, _>>()
    })?;
    assert_eq!(winners.iter().flatten().count(), 1);
    Ok(())
}

pub(crate) fn a_lease_that_was_given_back_is_free(log: &dyn Log) -> Outcome {
    let one = name();
    let mut generation = 0;
    for holder in ["a", "b", "a"] {
        let lease = granted(log, &one, holder, LONG)?;
        assert!(lease.generation > generation, "{} after {generation}", lease.generation);
        generation = lease.generation;
        log.release(lease.clone()).wait()?;
        assert!(matches!(log.renew(lease.clone()).wait(), Err(StoreError::LeaseLost { .. })));
        // Once more, which gives back nothing.
        log.release(lease).wait()?;
    }
    let old = granted(log, &one, "a", LONG)?;
    log.release(old.clone()).wait()?;
    let current = granted(log, &one, "b", LONG)?;
    log.release(old).wait()?;
    log.renew(current).wait()?;
    Ok(())
}

/// Polls until the lease can be had, and returns how long that took.
fn until_free(log: &dyn Log, name: &str, since: Instant) -> Result<(Lease, Duration), StoreError> {
    loop {
        if let Some(lease) = acquire(log, name, "b", LONG)? {
            return Ok((lease, since.elapsed()));
        }
        assert!(since.elapsed() < DEADLINE, "the lease never ends");
        std::thread::park_timeout(Duration::from_millis(20));
    }
}

pub(crate) fn a_lease_ends_by_itself(log: &dyn Log) -> Outcome {
    let one = name();
    let lease = granted(log, &one, "a", SHORT)?;
    let (next, took) = until_free(log, &one, Instant::now())?;
    assert!(took > SHORT / 2, "it ended after {took:?}");
    assert!(next.generation > lease.generation);
    assert!(matches!(log.renew(lease).wait(), Err(StoreError::LeaseLost { .. })));
    Ok(())
}

pub(crate) fn a_lease_is_prolonged(log: &dyn Log) -> Outcome {
    let one = name();
    let started = Instant::now();
    let mut lease = granted(log, &one, "a", SHORT)?;
    let generation = lease.generation;
    let mut renewed = started;
    while started.elapsed() < SHORT * 2 {
        assert_eq!(acquire(log, &one, "b", LONG)?, None, "after {:?}", started.elapsed());
        std::thread::park_timeout(Duration::from_millis(50));
        if renewed.elapsed() > SHORT / 4 {
            renewed = Instant::now();
            lease = log.renew(lease).wait()?;
            assert_eq!(lease.generation, generation);
        }
    }
    let (_, took) = until_free(log, &one, renewed)?;
    assert!(took > SHORT / 2, "it ended {took:?} after it was renewed");
    Ok(())
}
