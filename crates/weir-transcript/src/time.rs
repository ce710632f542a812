//! Parses the one timestamp format that the CLI writes.

use weir_base::time::Utc;
use weir_wire::Text;

/// Milliseconds since 1970 of `2026-11-15T07:03:04.346Z`, with or without a fraction.
pub fn milliseconds(stamp: &str) -> Option<i64> {
    of_bytes(stamp.as_bytes())
}

/// [`milliseconds`] for a timestamp that is still in its line.
pub(crate) fn stamp_milliseconds(stamp: Text<'_>) -> Option<i64> {
    of_bytes(stamp.raw()).or_else(|| of_bytes(stamp.to_str().as_bytes()))
}

fn of_bytes(stamp: &[u8]) -> Option<i64> {
    let number = |digits: &[u8]| {
        digits.iter().try_fold(0, |sum, digit| match digit {
            b'0'..=b'9' => Some(sum * 10 + i64::from(digit - b'0')),
            _ => None,
        })
    };
    // The format is fixed, so the positions are too. This runs for every line that has a timestamp.
    let (fixed, rest) = stamp.split_first_chunk::<19>()?;
    let [y1, y2, y3, y4, b'-', m1, m2, b'-', d1, d2, b'T', h1, h2, b':', i1, i2, b':', s1, s2] = *fixed
    else {
        return None;
    };
    let (year, month, day) = (number(&[y1, y2, y3, y4])?, number(&[m1, m2])?, number(&[d1, d2])?);
    let (hour, minute, second) = (number(&[h1, h2])?, number(&[i1, i2])?, number(&[s1, s2])?);
    let thousandths = match rest {
        b"Z" => 0,
        [b'.', a, b'Z'] => number(&[*a, b'0', b'0'])?,
        [b'.', a, b, b'Z'] => number(&[*a, *b, b'0'])?,
        [b'.', a, b, c, finer @ .., b'Z'] if number(finer).is_some() => number(&[*a, *b, *c])?,
        _ => return None,
    };
    let in_range = year >= 1970
        && (1..=12).contains(&month)
        && (1..=31).contains(&day)
        && hour < 24
        && minute < 60
        && second <= 60;
    let utc = Utc { year, month, day, hour, minute, second, millisecond: thousandths };
    in_range.then(|| utc.to_ms())
}

#[cfg(test)]
mod tests {
    use super::milliseconds;

    #[test]
    fn reads_what_the_cli_writes() {
        assert_eq!(milliseconds("1970-01-01T00:00:00.000Z"), Some(0));
        assert_eq!(milliseconds("2026-11-15T07:03:04.346Z"), Some(1_794_726_184_346));
        assert_eq!(milliseconds("2024-02-29T23:59:59Z"), Some(1_709_251_199_000));
        assert_eq!(milliseconds("2026-11-15T07:03:04.5Z"), Some(1_794_726_184_500));
        assert_eq!(milliseconds("2026-11-15T07:03:04.123456Z"), Some(1_794_726_184_123));
    }

    #[test]
    fn rejects_everything_else() {
        for text in [
            "",
            "yesterday",
            "2026-11-15T07:03:04.Z",
            "2026-11-15T07:03:04.34xZ",
            "2026-11-15 07:03:04Z",
            "2026-11-15",
            "2026-13-15T07:03:04Z",
            "2026-11-15T07:03:04+01:00",
            "2026-11-15T07:03:04.éZ",
        ] {
            assert_eq!(milliseconds(text), None, "{text}");
        }
    }
}
