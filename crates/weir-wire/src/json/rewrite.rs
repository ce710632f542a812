//! Turns data back into the JSON text that it came from: members keep their order, and repeated keys are kept.
//!
//! A map of values would sort them, and the text read back would differ from the text that was stored.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

/// Appends a value as JSON text.
pub(super) struct Rewritten<'j>(pub(super) &'j mut Vec<u8>);

impl Rewritten<'_> {
    fn put<E: Error>(self, value: &impl serde::Serialize) -> Result<(), E> {
        serde_json::to_writer(self.0, value).map_err(E::custom)
    }
}

impl<'de> DeserializeSeed<'de> for Rewritten<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Rewritten<'_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("any JSON value")
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        self.put(&())
    }

    fn visit_none<E: Error>(self) -> Result<(), E> {
        self.put(&())
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<(), E> {
        self.put(&value)
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<(), E> {
        self.put(&value)
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<(), E> {
        self.put(&value)
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<(), E> {
        self.put(&value)
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<(), E> {
        self.put(&value)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<(), A::Error> {
        self.0.push(b'[');
        let mut is_first = true;
        loop {
            let length = self.0.len();
            if !is_first {
                self.0.push(b',');
            }
            if elements.next_element_seed(Rewritten(self.0))?.is_none() {
                self.0.truncate(length);
                break;
            }
            is_first = false;
        }
        self.0.push(b']');
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        self.0.push(b'{');
        let mut is_first = true;
        while let Some(key) = members.next_key::<String>()? {
            if !is_first {
                self.0.push(b',');
            }
            is_first = false;
            Rewritten(self.0).put(&key)?;
            self.0.push(b':');
            members.next_value_seed(Rewritten(self.0))?;
        }
        self.0.push(b'}');
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::OwnedJson;

    #[test]
    fn members_keep_their_order_and_repetitions() {
        for text in [
            r#"{"b":1,"a":[true,null,-2,0.25,"x\"\n",{}],"b":[]}"#,
            r#"[[],{"z":{"y":18446744073709551615}}]"#,
            "null",
        ] {
            let json: OwnedJson = serde_json::from_str(text).unwrap();
            assert_eq!(std::str::from_utf8(json.as_raw().bytes()).unwrap(), text);
        }
    }
}
