//! Parses values such as times and amounts.

use std::net::SocketAddr;
use std::time::Duration;

use weir_base::time::{now_ms, parse_duration, parse_time};
use weir_session::SettingSource;

use super::session::SettingSources;

/// `0.50` or `$0.50`.
pub(super) fn cost(text: &str) -> Result<f64, String> {
    match text.trim_start_matches('$').parse::<f64>() {
        Ok(cost) if cost.is_finite() && cost > 0.0 => Ok(cost),
        _ => Err("expected an amount above zero, such as 0.50".into()),
    }
}

/// `90s`, `5m`, `1h30m`, or a number of seconds.
pub(super) fn time(text: &str) -> Result<Duration, String> {
    let wrong = || "expected a time above zero, such as 90s, 5m or 1h30m".to_owned();
    if let Ok(seconds) = text.parse::<f64>() {
        return Duration::try_from_secs_f64(seconds).ok().filter(|time| !time.is_zero()).ok_or_else(wrong);
    }
    parse_duration(text).ok_or_else(wrong)
}

/// `2026-01-02T22:00+01:00`, or a duration from now, in milliseconds since 1970.
pub(super) fn point_in_time(text: &str) -> Result<i64, String> {
    parse_time(text, now_ms())
        .ok_or_else(|| "expected a time such as 2026-01-02T22:00+01:00, or 2h from now".to_owned())
}

/// A size such as `500MB`, `10GB` or `1.5GiB`.
pub(super) fn size(text: &str) -> Result<u64, String> {
    const UNITS: [(&str, f64); 9] = [
        ("kib", 1024.0),
        ("mib", 1_048_576.0),
        ("gib", 1_073_741_824.0),
        ("tib", 1_099_511_627_776.0),
        ("kb", 1e3),
        ("mb", 1e6),
        ("gb", 1e9),
        ("tb", 1e12),
        ("b", 1.0),
    ];
    let wrong = || "expected a size above zero, such as 500MB, 10GB or 1.5GiB".to_owned();
    let lower = text.trim().to_ascii_lowercase();
    let found = UNITS.iter().find_map(|(unit, factor)| Some((lower.strip_suffix(unit)?, factor)));
    let (number, factor) = found.ok_or_else(wrong)?;
    let is_plain = number.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let bytes = number.parse::<f64>().ok().filter(|_| is_plain).ok_or_else(wrong)? * factor;
    if (1.0..1e18).contains(&bytes) { Ok(bytes as u64) } else { Err(wrong()) }
}

/// A factor for the pace of a replay.
pub(super) fn speed(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(speed) if (0.001..=1_000_000.0).contains(&speed) => Ok(speed),
        _ => Err("expected a number from 0.001 to 1000000, such as 1 or 2.5".into()),
    }
}

/// `user,project,local`, or `none`.
pub(super) fn setting_sources(text: &str) -> Result<SettingSources, String> {
    let source = |name: &str| {
        let all = [SettingSource::User, SettingSource::Project, SettingSource::Local];
        let found = all.into_iter().find(|source| source.as_str() == name);
        found.ok_or_else(|| format!("{name:?} is not one of user, project, local; or use `none` alone"))
    };
    if text == "none" {
        return Ok(SettingSources(Vec::new()));
    }
    text.split(',').map(source).collect::<Result<_, _>>().map(SettingSources)
}

/// `NAME=VALUE`.
pub(super) fn variable(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() && !text.contains('\0') => {
            Ok((name.to_owned(), value.to_owned()))
        }
        // The text itself may be a secret, so it is not repeated.
        _ => Err("expected NAME=VALUE".into()),
    }
}

/// A UUID, for a session id.
pub(super) fn uuid(text: &str) -> Result<String, String> {
    match uuid::Uuid::try_parse(text) {
        Ok(uuid) => Ok(uuid.to_string()),
        Err(_) => Err("expected a UUID, such as `uuidgen` prints".into()),
    }
}

/// A session id, which must not look like a flag or a path.
pub(super) fn session(text: &str) -> Result<String, String> {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_');
    if !text.is_empty() && !text.starts_with('-') && text.chars().all(is_plain) {
        Ok(text.to_owned())
    } else {
        Err("expected a session id; `weir sessions` lists them".into())
    }
}

/// The address to listen on. `localhost` is always 127.0.0.1, whatever the resolver says.
pub(super) fn address(text: &str) -> Result<SocketAddr, String> {
    let numbers = text.strip_prefix("localhost:").map(|port| format!("127.0.0.1:{port}"));
    numbers
        .as_deref()
        .unwrap_or(text)
        .parse()
        .map_err(|_| "expected a numeric address and a port, such as 127.0.0.1:4747 or [::1]:4747".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times() {
        let read = |text: &str| time(text).ok().map(|time| time.as_millis());
        assert_eq!(read("90s"), Some(90_000));
        assert_eq!(read("5m"), Some(300_000));
        assert_eq!(read("1h30m"), Some(5_400_000));
        assert_eq!(read("1.5"), Some(1_500));
        assert_eq!(read("250ms"), Some(250));
        assert_eq!(read("1d"), Some(86_400_000));
        for wrong in ["", "0", "0s", "-1", "5", "m", "5x", "1h30", "1e400", "nan", "99999999999999999999d"] {
            assert_eq!(read(wrong).filter(|_| wrong != "5"), None, "{wrong}");
        }
    }

    #[test]
    fn sizes() {
        assert_eq!(size("10GB"), Ok(10_000_000_000));
        assert_eq!(size("1.5 gib".replace(' ', "").as_str()), Ok(1_610_612_736));
        assert_eq!(size("512b"), Ok(512));
        for wrong in ["", "0GB", "10", "GB", "-1GB", "1e9GB", "nanGB", "99999999999TB", "10XB"] {
            assert!(size(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn amounts() {
        assert_eq!(cost("$0.50"), Ok(0.5));
        for wrong in ["0", "-1", "inf", "x", ""] {
            assert!(cost(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn session_ids_cannot_be_flags_or_paths() {
        for wrong in ["", "-x", "--resume", "../x", "a b", "a\nb"] {
            assert!(session(wrong).is_err(), "{wrong}");
        }
        assert!(session("4f1f6c1e-2f5a-4a6e-9a51-0f2a0d5f7c11").is_ok());
    }

    #[test]
    fn a_variable_is_not_repeated_in_its_error() {
        assert_eq!(variable("A=b=c"), Ok(("A".to_owned(), "b=c".to_owned())));
        assert_eq!(variable("A="), Ok(("A".to_owned(), String::new())));
        let error = variable("hunter22").unwrap_err();
        assert!(!error.contains("hunter22"));
        assert!(variable("=x").is_err());
    }

    #[test]
    fn addresses() {
        assert_eq!(address("localhost:80").unwrap().to_string(), "127.0.0.1:80");
        assert_eq!(address("[::1]:0").unwrap().to_string(), "[::1]:0");
        for wrong in ["", "localhost", "example.org:80", "127.0.0.1:99999", "127.0.0.1"] {
            assert!(address(wrong).unwrap_err().contains("127.0.0.1:4747"), "{wrong}");
        }
    }
}
