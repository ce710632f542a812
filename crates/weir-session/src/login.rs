//! Whether the CLI is logged in, from what it says about itself at its start.

use serde_json::Value;

/// Whose account the CLI uses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Login {
    /// It has a login, a token or a key; described in a few words.
    Known(String),
    /// It has none.
    Missing,
    /// It does not report that, as older versions don't.
    Unknown,
}

impl Login {
    /// Reads it from the introduction, see [`crate::Facts::introduction`].
    pub fn of(introduction: &Value) -> Self {
        let Some(account) = introduction.get("account").filter(|account| !account.is_null()) else {
            return Self::Unknown;
        };
        let part = |name: &str| {
            account.get(name).and_then(Value::as_str).filter(|text| !text.is_empty() && *text != "none")
        };
        let named = [
            ("", "email"),
            ("of ", "organization"),
            ("with ", "subscriptionType"),
            ("token from ", "tokenSource"),
            ("key from ", "apiKeySource"),
            ("provider ", "apiProvider"),
        ];
        let is_known = ["email", "subscriptionType", "tokenSource", "apiKeySource"]
            .iter()
            .any(|name| part(name).is_some());
        // Another provider has its own login, which the CLI does not report.
        let is_elsewhere = part("apiProvider").is_some_and(|provider| provider != "firstParty");
        if !is_known && !is_elsewhere {
            return Self::Missing;
        }
        let parts: Vec<String> =
            named.iter().filter_map(|(before, name)| Some(format!("{before}{}", part(name)?))).collect();
        Self::Known(parts.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_key_a_subscription_and_another_provider_are_logins() {
        let of = |account: Value| Login::of(&json!({ "account": account }));
        let key = of(
            json!({"tokenSource": "none", "apiKeySource": "ANTHROPIC_API_KEY", "apiProvider": "firstParty"}),
        );
        assert_eq!(key, Login::Known("key from ANTHROPIC_API_KEY, provider firstParty".to_owned()));
        let person = of(json!({"email": "ann@example.org", "subscriptionType": "max"}));
        assert_eq!(person, Login::Known("ann@example.org, with max".to_owned()));
        assert_eq!(of(json!({"apiProvider": "bedrock"})), Login::Known("provider bedrock".to_owned()));
    }

    #[test]
    fn nothing_named_is_no_login_and_nothing_said_is_unknown() {
        let none =
            json!({"account": {"tokenSource": "none", "apiKeySource": "none", "apiProvider": "firstParty"}});
        assert_eq!(Login::of(&none), Login::Missing);
        assert_eq!(Login::of(&json!({})), Login::Unknown);
        assert_eq!(Login::of(&json!({"account": null})), Login::Unknown);
    }
}
