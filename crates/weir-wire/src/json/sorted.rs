//! Values whose members are in alphabetical order, for comparing and hashing.

use std::collections::BTreeMap;

use serde_json::Value;

/// The same value with the members of each object in alphabetical order. JSON gives their order no meaning, and
/// `serde_json` keeps or sorts it depending on how a program is built.
pub fn sorted(value: &Value) -> Value {
    match value {
        Value::Array(items) => items.iter().map(sorted).collect(),
        Value::Object(members) => {
            let members: BTreeMap<_, _> = members.iter().collect();
            members.into_iter().map(|(name, value)| (name.clone(), sorted(value))).collect()
        }
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::sorted;

    #[test]
    fn members_are_sorted_at_each_level_and_items_are_not() {
        let value = serde_json::from_str(r#"{"d":4,"a":[{"y":2,"x":1},0]}"#).unwrap();
        assert_eq!(sorted(&value).to_string(), r#"{"a":[{"x":1,"y":2},0],"d":4}"#);
    }
}
