//! Finds the largest of many candidates that passes a costly check.

/// The last candidate that passes, assuming that all candidates before it pass too. The search starts at `guess`, so
/// that a good guess takes a few checks, however many candidates there are. If the assumption is wrong, the result is
/// still a candidate that passes, but not always the last.
pub(super) fn last_that_passes(
    candidates: &[usize],
    guess: usize,
    mut passes: impl FnMut(usize) -> bool,
) -> Option<usize> {
    let mut check = |index: usize| candidates.get(index).is_some_and(|candidate| passes(*candidate));
    let start = candidates.partition_point(|candidate| *candidate <= guess).saturating_sub(1);
    let (mut low, mut high);
    let mut step = 1;
    if check(start) {
        (low, high) = (start, start + 1);
        while check(high) {
            low = high;
            step *= 2;
            high = low + step;
        }
        high = high.min(candidates.len());
    } else {
        high = start;
        loop {
            // Nothing passes.
            if high == 0 {
                return None;
            }
            low = high.saturating_sub(step);
            if check(low) {
                break;
            }
            high = low;
            step *= 2;
        }
    }
    while high - low > 1 {
        let middle = usize::midpoint(low, high);
        if check(middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
    candidates.get(low).copied()
}

#[cfg(test)]
mod tests {
    use super::last_that_passes;

    #[test]
    fn finds_the_last_from_any_guess_with_few_checks() {
        let candidates: Vec<usize> = (0..1_000).map(|number| number * 3).collect();
        for limit in [0, 2, 3, 500, 1_499, 2_996, 2_997, 9_999] {
            for guess in [0, 1, 499, 1_500, 3_000, usize::MAX] {
                let mut checks = 0;
                let found = last_that_passes(&candidates, guess, |candidate| {
                    checks += 1;
                    candidate <= limit
                });
                assert_eq!(found, candidates.iter().copied().rfind(|candidate| *candidate <= limit));
                assert!(checks <= 24, "{checks} checks for {limit} from {guess}");
                assert!(checks <= 4 || limit.abs_diff(guess) > 6, "{checks} checks for {limit} from {guess}");
            }
        }
        assert_eq!(last_that_passes(&candidates, 7, |_| false), None);
        assert_eq!(last_that_passes(&[], 7, |_| true), None);
    }
}
