//! Signatures of requests.

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

/// Header with the time of signing.
pub const HEADER_TIMESTAMP: &str = "x-weir-timestamp";
/// Header with the signature.
pub const HEADER_SIGNATURE: &str = "x-weir-signature";

/// Maximum difference between the timestamp and our clock, in seconds.
const WINDOW: i64 = 300;

/// Signs a body. The timestamp is in seconds since 1970.
pub fn sign(secret: &[u8], timestamp: i64, body: &[u8]) -> String {
    let digest = mac(secret, timestamp, body).finalize().into_bytes();
    let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("v1={hex}")
}

/// Why a signature is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum BadSignature {
    #[error("the X-Weir-Timestamp header must be the time in seconds since 1970")]
    NoTime,
    #[error("the request is older than five minutes, or the clocks differ by more than that")]
    OutOfTime,
    #[error(
        "the X-Weir-Signature header must be v1= and the HMAC-SHA256 of TIMESTAMP.BODY in hex, with the shared secret"
    )]
    Wrong,
}

/// Checks what can be checked before the body is read: that there is a signature, and that it is recent.
pub(super) fn check_time(
    timestamp: Option<&str>,
    signature: Option<&str>,
    now: i64,
) -> Result<(), BadSignature> {
    let timestamp: i64 = timestamp.and_then(|text| text.parse().ok()).ok_or(BadSignature::NoTime)?;
    if now.abs_diff(timestamp) > WINDOW.unsigned_abs() {
        return Err(BadSignature::OutOfTime);
    }
    signature.map(|_| ()).ok_or(BadSignature::Wrong)
}

/// Checks a signature. `now` is in seconds since 1970.
pub(super) fn check(
    secret: &[u8],
    timestamp: Option<&str>,
    signature: Option<&str>,
    body: &[u8],
    now: i64,
) -> Result<(), BadSignature> {
    check_time(timestamp, signature, now)?;
    let timestamp: i64 = timestamp.and_then(|text| text.parse().ok()).ok_or(BadSignature::NoTime)?;
    let hex = signature.and_then(|text| text.strip_prefix("v1=")).ok_or(BadSignature::Wrong)?;
    let given = unhex(hex).ok_or(BadSignature::Wrong)?;
    mac(secret, timestamp, body).verify_slice(&given).map_err(|_| BadSignature::Wrong)
}

fn mac(secret: &[u8], timestamp: i64, body: &[u8]) -> Hmac<Sha256> {
    // HMAC accepts keys of any length, so this does not fail.
    let mut mac =
        <Hmac<Sha256>>::new_from_slice(secret).unwrap_or_else(|_| <Hmac<Sha256>>::new(&Default::default()));
    mac.update(format!("{timestamp}.").as_bytes());
    mac.update(body);
    mac
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    let digits: Option<Vec<u32>> = text.chars().map(|character| character.to_digit(16)).collect();
    let digits = digits.filter(|digits| digits.len() == 64)?;
    digits
        .chunks_exact(2)
        .map(|pair| u8::try_from(pair.iter().fold(0, |sum, digit| sum * 16 + digit)).ok())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{BadSignature, check, sign};

    #[test]
    fn accepts_recent_signatures_with_the_secret_only() {
        let good = sign(b"secret", 1_000, b"body");
        let check = |time: &str, signature: &str, body: &[u8], now| {
            check(b"secret", Some(time), Some(signature), body, now)
        };
        assert_eq!(check("1000", &good, b"body", 1_200), Ok(()));
        assert_eq!(check("1000", &good, b"body", 1_301), Err(BadSignature::OutOfTime));
        assert_eq!(check("1000", &good, b"body", 600), Err(BadSignature::OutOfTime));
        assert_eq!(check("1000", &good, b"other", 1_000), Err(BadSignature::Wrong));
        assert_eq!(check("1001", &good, b"body", 1_000), Err(BadSignature::Wrong));
        assert_eq!(check("1000", &sign(b"else", 1_000, b"body"), b"body", 1_000), Err(BadSignature::Wrong));
        assert_eq!(check("1000", "v1=zz", b"body", 1_000), Err(BadSignature::Wrong));
        assert_eq!(check("now", &good, b"body", 1_000), Err(BadSignature::NoTime));
    }

    #[test]
    fn matches_openssl() {
        // echo -n 1.x | openssl dgst -sha256 -hmac key
        assert_eq!(
            sign(b"key", 1, b"x"),
            "v1=fc4913c41a7bf793267e2a384f3261c9436ec2cd097bd745e7b0d99113f510ec"
        );
    }
}
