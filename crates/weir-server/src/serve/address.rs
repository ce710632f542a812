//! Addresses of a server as seen from outside.

use std::net::SocketAddr;
use std::str::FromStr;

use crate::guard::Places;
use crate::settings::base_path;

/// An address under which a proxy exposes the server: `https://weir.example/base`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublicUrl {
    name: String,
    port: u16,
    tls: bool,
    /// Prefix of every path; may be empty.
    pub base_path: String,
}

impl PublicUrl {
    /// Adds this address to those under which the server may be reached.
    pub fn add_to(&self, places: &mut Places) {
        places.add(&self.name, self.port, self.tls);
    }

    /// Whether browsers use TLS, no matter where it terminates.
    pub fn is_tls(&self) -> bool {
        self.tls
    }

    /// The host name.
    pub fn name(&self) -> &str {
        &self.name
    }
}

impl std::fmt::Display for PublicUrl {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (scheme, standard) = if self.tls { ("https", 443) } else { ("http", 80) };
        write!(f, "{scheme}://{}", self.name)?;
        if self.port != standard {
            write!(f, ":{}", self.port)?;
        }
        f.write_str(&self.base_path)
    }
}

impl FromStr for PublicUrl {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = || {
            format!(
                "`{text}` is not a valid public address; use one like https://weir.example or https://example.org/weir"
            )
        };
        let (tls, rest) = match text.split_once("://") {
            Some(("https", rest)) => (true, rest),
            Some(("http", rest)) => (false, rest),
            _ => return Err(wrong()),
        };
        let (authority, path) = rest.find('/').map_or((rest, ""), |at| rest.split_at(at));
        let (name, port) = match authority.rsplit_once(':').filter(|(_, port)| !port.contains(']')) {
            Some((name, port)) => (name, port.parse().map_err(|_| wrong())?),
            None => (authority, if tls { 443 } else { 80 }),
        };
        let is_plain = |letter: char| letter.is_ascii_alphanumeric() || ".-_[]:".contains(letter);
        if name.is_empty() || !name.chars().all(is_plain) {
            return Err(wrong());
        }
        Ok(Self {
            name: name.to_ascii_lowercase(),
            port,
            tls,
            base_path: base_path(path).map_err(|_| wrong())?,
        })
    }
}

/// Whether other machines can connect.
pub fn listening_is_remote(address: SocketAddr) -> bool {
    !address.ip().is_loopback()
}

/// The URL that people and programs use.
pub(super) fn url(address: SocketAddr, tls: bool, base_path: &str) -> String {
    let scheme = if tls { "https" } else { "http" };
    // An unspecified address cannot be connected to.
    let ip = match address.ip() {
        ip if ip.is_unspecified() && ip.is_ipv4() => "127.0.0.1".to_owned(),
        ip if ip.is_unspecified() => "[::1]".to_owned(),
        std::net::IpAddr::V4(ip) => ip.to_string(),
        std::net::IpAddr::V6(ip) => format!("[{ip}]"),
    };
    format!("{scheme}://{ip}:{}{base_path}", address.port())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn public_addresses() {
        for text in [
            "https://weir.example",
            "http://localhost:8080/weir",
            "https://example.org/a/b",
            "http://[::1]:3",
        ] {
            assert_eq!(text.parse::<PublicUrl>().unwrap().to_string(), text);
        }
        assert_eq!(
            "https://Weir.Example:443/x/".parse::<PublicUrl>().unwrap().to_string(),
            "https://weir.example/x"
        );
        for wrong in [
            "",
            "weir.example",
            "ftp://a",
            "https://",
            "https://a b",
            "https://a/..",
            "https://a:b",
            "https://u@a",
        ] {
            assert!(wrong.parse::<PublicUrl>().is_err(), "{wrong}");
        }
    }
}
