//! Checks of URLs in the configuration.

use crate::error::BridgeError;

/// Checks a URL that messages are sent to: `https`, or `http` on this machine, and a host that cannot be mistaken for
/// another one.
pub fn check_address(setting: &str, address: &str) -> Result<(), BridgeError> {
    let url = check_host(setting, address)?;
    let is_local = url.host_str().is_some_and(|host| ["127.0.0.1", "localhost", "[::1]"].contains(&host));
    match url.scheme() {
        "https" => Ok(()),
        "http" if is_local => Ok(()),
        _ => Err(wrong(
            setting,
            "the address must be https, or http on this machine; otherwise messages could be read in transit",
        )),
    }
}

/// Checks that the host of a URL cannot be mistaken for another one.
pub(super) fn check_host(setting: &str, address: &str) -> Result<reqwest::Url, BridgeError> {
    let is_odd = |character: char| character.is_whitespace() || character.is_control() || character == '\\';
    if address.chars().any(is_odd) {
        return Err(wrong(
            setting,
            "the address contains spaces, control characters or backslashes; remove them",
        ));
    }
    let url = reqwest::Url::parse(address).map_err(|error| {
        wrong(setting, &format!("not a valid address ({error}); use one like https://example.org"))
    })?;
    // Credentials can look like the host: https://good.example@evil.example goes to evil.example.
    let authority = address.split_once("://").map_or("", |(_, rest)| rest);
    let authority = authority.split(['/', '?', '#']).next().unwrap_or_default();
    if authority.contains('@') || !url.username().is_empty() || url.password().is_some() {
        return Err(wrong(
            setting,
            "the address has a name or a password before its host (an @); remove it, the shared secret identifies the sender",
        ));
    }
    if url.host_str().is_none_or(str::is_empty) {
        return Err(wrong(setting, "the address has no host; use one like https://example.org"));
    }
    Ok(url)
}

/// The error does not repeat the URL, which may contain a secret.
fn wrong(setting: &str, why: &str) -> BridgeError {
    BridgeError::Configuration(format!("{setting}: {why}"))
}

#[cfg(test)]
mod tests {
    use super::check_address;

    #[test]
    fn misleading_addresses_are_refused() {
        for address in [
            "https://example.org/x",
            "https://example.org:8443/hook?key=1",
            "https://example.org/@weir",
            "http://127.0.0.1:80/x",
            "http://localhost/x",
            "http://[::1]:9/",
        ] {
            assert!(check_address("webhook.url", address).is_ok(), "{address}");
        }
        for (address, why) in [
            ("https://user:hidden@example.org/", "before its host"),
            ("https://user@example.org/", "before its host"),
            ("https://good.example@evil.example/", "before its host"),
            ("https://@evil.example/", "before its host"),
            ("https://good.example%2F@evil.example", "before its host"),
            ("http://127.0.0.1@evil.example/", "before its host"),
            ("https://good.example\\@evil.example/", "backslashes"),
            ("https://exa mple.org", "spaces"),
            ("https://example.org\n", "spaces"),
            ("http://example.org/x", "must be https"),
            ("http://127.0.0.1.example.org/x", "must be https"),
            ("http://127.1.example/x", "must be https"),
            ("ftp://example.org", "must be https"),
            ("https://", "not a valid address"),
            ("example.org/hook", "not a valid address"),
            ("", "not a valid address"),
        ] {
            let error = check_address("webhook.url", address).unwrap_err().to_string();
            assert!(error.starts_with("webhook.url: ") && error.contains(why), "{address}: {error}");
            assert!(!error.contains("hidden") && !error.contains("evil"), "{error}");
        }
    }
}
