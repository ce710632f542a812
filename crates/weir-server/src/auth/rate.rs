//! Rate limits: a token bucket for each name, refilled at a steady rate. Pure: time is an argument.

use std::collections::HashMap;
use std::time::{Duration, Instant};

/// A rate limit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rate {
    /// Average rate.
    pub per_minute: u32,
    /// Allowed at once.
    pub burst: u32,
}

#[derive(Debug)]
struct Bucket {
    left: f64,
    at: Instant,
}

/// A bucket for each name.
#[derive(Debug, Default)]
pub struct Buckets {
    buckets: HashMap<String, Bucket>,
}

/// With more names than this, names with a full bucket are forgotten.
const MAX_NAMES: usize = 1024;

impl Buckets {
    /// Takes one out of the bucket, or says how long to wait for it.
    ///
    /// # Errors
    /// How long to wait if the bucket is empty.
    pub fn take(&mut self, name: &str, rate: Rate, now: Instant) -> Result<(), Duration> {
        let left = self.fill(name, rate, now);
        if *left < 1.0 {
            return Err(Duration::from_secs_f64((1.0 - *left) / per_second(rate)));
        }
        *left -= 1.0;
        Ok(())
    }

    /// How long to wait until one can be taken, without taking it.
    pub fn wait(&mut self, name: &str, rate: Rate, now: Instant) -> Option<Duration> {
        let left = *self.fill(name, rate, now);
        (left < 1.0).then(|| Duration::from_secs_f64((1.0 - left) / per_second(rate)))
    }

    fn fill(&mut self, name: &str, rate: Rate, now: Instant) -> &mut f64 {
        let max = f64::from(rate.burst.max(1));
        if self.buckets.len() > MAX_NAMES && !self.buckets.contains_key(name) {
            self.buckets.retain(|_, bucket| {
                bucket.left + now.duration_since(bucket.at).as_secs_f64() * per_second(rate) < max
            });
        }
        let bucket = self.buckets.entry(name.to_owned()).or_insert(Bucket { left: max, at: now });
        let more = now.duration_since(bucket.at).as_secs_f64() * per_second(rate);
        bucket.left = (bucket.left + more).min(max);
        bucket.at = now;
        &mut bucket.left
    }
}

fn per_second(rate: Rate) -> f64 {
    f64::from(rate.per_minute.max(1)) / 60.0
}

#[cfg(test)]
mod tests {
    use super::*;

    const RATE: Rate = Rate { per_minute: 60, burst: 2 };

    #[test]
    fn a_bucket_empties_and_fills() {
        let (mut buckets, start) = (Buckets::default(), Instant::now());
        assert_eq!(buckets.take("a", RATE, start), Ok(()));
        assert_eq!(buckets.take("a", RATE, start), Ok(()));
        assert_eq!(buckets.take("a", RATE, start), Err(Duration::from_secs(1)));
        assert_eq!(buckets.take("b", RATE, start), Ok(()), "each name has its own bucket");
        assert_eq!(buckets.take("a", RATE, start + Duration::from_secs(1)), Ok(()));
        let later = start + Duration::from_secs(100);
        assert_eq!(buckets.wait("a", RATE, later), None);
        assert_eq!(buckets.take("a", RATE, later), Ok(()));
        assert_eq!(buckets.take("a", RATE, later), Ok(()));
        assert!(buckets.wait("a", RATE, later).is_some(), "never more than the burst");
    }

    #[test]
    fn names_are_bounded() {
        let (mut buckets, start) = (Buckets::default(), Instant::now());
        for name in 0..3000 {
            let at = start + Duration::from_secs(name);
            assert_eq!(buckets.take(&name.to_string(), RATE, at), Ok(()));
        }
        assert!(buckets.buckets.len() <= MAX_NAMES + 1);
    }
}
