//! A record's head as headers of its message.

use async_nats::HeaderMap;
use weir_store::Check;

use crate::record::{Head, Kind, RecordId, Unreadable};

const ID: &str = "Weir-Record";
const KIND: &str = "Weir-Kind";
const GENERATION: &str = "Weir-Generation";
const CHECK: &str = "Weir-Check";
const NEWEST: &str = "Weir-Newest";
const COUNT: &str = "Weir-Count";
const BORN: &str = "Weir-Born";
const PREVIOUS: &str = "Weir-Previous";
const NAMED_BEFORE: &str = "Weir-Named-Before";
const NAMED: &str = "Weir-Named";
const PARTS: &str = "Weir-Parts";
const DIGEST: &str = "Weir-Digest";

/// A body that is not in the message but in parts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Parts {
    pub(crate) count: usize,
    /// SHA-256 of the whole, in hexadecimal digits.
    pub(crate) digest: String,
}

pub(crate) fn write(head: &Head, parts: Option<&Parts>) -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert(ID, head.id.0.simple().to_string());
    headers.insert(KIND, head.kind.as_str());
    headers.insert(GENERATION, head.generation.to_string());
    headers.insert(CHECK, head.check.to_string());
    headers.insert(NEWEST, head.newest.to_string());
    headers.insert(COUNT, head.count.to_string());
    headers.insert(BORN, head.born.0.simple().to_string());
    headers.insert(PREVIOUS, head.previous.to_string());
    headers.insert(NAMED_BEFORE, head.named_before.to_string());
    headers.insert(NAMED, u8::from(head.is_named).to_string());
    if let Some(parts) = parts {
        headers.insert(PARTS, parts.count.to_string());
        headers.insert(DIGEST, parts.digest.as_str());
    }
    headers
}

pub(crate) fn read(headers: &HeaderMap) -> Result<(Head, Option<Parts>), Unreadable> {
    let text = |name: &str| headers.get(name).map(async_nats::HeaderValue::as_str);
    let missing = |name: &str| Unreadable(format!("its header {name} is missing or invalid"));
    let number =
        |name: &'static str| text(name).and_then(|text| text.parse().ok()).ok_or_else(|| missing(name));
    let id = |name: &'static str| {
        let id = text(name).and_then(|text| uuid::Uuid::try_parse(text).ok());
        id.map(RecordId).ok_or_else(|| missing(name))
    };
    let check = text(CHECK).and_then(|text| i64::from_str_radix(text, 16).ok()).and_then(Check::from_stored);
    let parts = match text(PARTS) {
        Some(count) => Some(Parts {
            count: count.parse().map_err(|_| missing(PARTS))?,
            digest: text(DIGEST).ok_or_else(|| missing(DIGEST))?.to_owned(),
        }),
        None => None,
    };
    let head = Head {
        id: id(ID)?,
        kind: text(KIND).and_then(Kind::parse).ok_or_else(|| missing(KIND))?,
        generation: number(GENERATION)?,
        check: check.ok_or_else(|| missing(CHECK))?,
        newest: number(NEWEST)?,
        count: number(COUNT)?,
        born: id(BORN)?,
        previous: number(PREVIOUS)?,
        named_before: number(NAMED_BEFORE)?,
        is_named: number(NAMED)? != 0,
    };
    Ok((head, parts))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let id = |number| RecordId(uuid::Uuid::from_u128(number));
        let head = Head {
            id: id(7),
            kind: Kind::Events,
            generation: 3,
            check: Check::from_stored(0xc0ffee).unwrap(),
            newest: 12,
            count: 2,
            born: id(8),
            previous: 99,
            named_before: 5,
            is_named: true,
        };
        let parts = Parts { count: 4, digest: "abc".to_owned() };
        for parts in [None, Some(parts)] {
            assert_eq!(read(&write(&head, parts.as_ref())), Ok((head, parts)));
        }
        for name in [ID, KIND, GENERATION, CHECK, NEWEST, COUNT, BORN, PREVIOUS, NAMED_BEFORE, NAMED] {
            let mut headers = write(&head, None);
            headers.insert(name, "x y");
            assert!(read(&headers).is_err(), "{name}");
        }
    }
}
