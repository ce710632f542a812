//! Whether a request was meant for this server, and whether a page of somebody else made a browser send it.
//!
//! Pure. A page on the internet can make a browser send requests to a server on this machine: under a name of its
//! own that leads here (DNS rebinding; told by `Host`), or straight (told by `Origin` and `Sec-Fetch-Site`, which a
//! page cannot forge). A program that is no browser sends neither and needs neither: it has the token or it has not.

use std::collections::BTreeSet;
use std::net::{IpAddr, SocketAddr};

/// The names and origins under which the server may be spoken to.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Places {
    /// `name:port` or `name`, in small letters.
    hosts: BTreeSet<String>,
    /// `scheme://name:port`, in small letters.
    origins: BTreeSet<String>,
    /// Set where the server listens on all addresses: then any of them is good with this port. Rebinding needs a
    /// name, and names are still only those in the list.
    any_address: Option<(u16, bool)>,
}

impl Places {
    /// The places of a server that listens on this address.
    pub fn of_listener(address: SocketAddr, tls: bool) -> Self {
        let mut places = Self::default();
        let port = address.port();
        if address.ip().is_loopback() || address.ip().is_unspecified() {
            for name in ["localhost", "127.0.0.1", "[::1]"] {
                places.add(name, port, tls);
            }
        }
        if address.ip().is_unspecified() {
            places.any_address = Some((port, tls));
        } else {
            places.add(&bracketed(address.ip()), port, tls);
        }
        places
    }

    /// Adds a name and a port. The port that a scheme has by itself is left out by browsers.
    pub fn add(&mut self, name: &str, port: u16, tls: bool) {
        let name = name.to_ascii_lowercase();
        let (scheme, standard) = if tls { ("https", 443) } else { ("http", 80) };
        let with_port = format!("{name}:{port}");
        if port == standard {
            self.origins.insert(format!("{scheme}://{name}"));
            self.hosts.insert(name);
        }
        self.origins.insert(format!("{scheme}://{with_port}"));
        self.hosts.insert(with_port);
    }

    fn knows_host(&self, host: &str) -> bool {
        let host = host.to_ascii_lowercase();
        self.hosts.contains(&host) || self.any_address.is_some_and(|(port, _)| is_address(&host, port))
    }

    fn knows_origin(&self, origin: &str) -> bool {
        let origin = origin.to_ascii_lowercase();
        let is_address = |(port, tls)| {
            let scheme = if tls { "https://" } else { "http://" };
            origin.strip_prefix(scheme).is_some_and(|host| is_address(host, port))
        };
        self.origins.contains(&origin) || self.any_address.is_some_and(is_address)
    }
}

fn bracketed(address: IpAddr) -> String {
    match address {
        IpAddr::V4(address) => address.to_string(),
        IpAddr::V6(address) => format!("[{address}]"),
    }
}

fn is_address(host: &str, port: u16) -> bool {
    host.parse::<SocketAddr>().is_ok_and(|address| address.port() == port)
}

/// What of a request tells where it comes from.
#[derive(Debug, Clone, Copy, Default)]
pub struct Asked<'a> {
    /// All of `Host` and `:authority`.
    pub hosts: &'a [&'a str],
    /// `Origin`.
    pub origin: Option<&'a str>,
    /// `Referer`.
    pub referer: Option<&'a str>,
    /// `Sec-Fetch-Site`.
    pub site: Option<&'a str>,
    /// `Sec-Fetch-Mode`.
    pub mode: Option<&'a str>,
    /// Whether nothing is changed by it (`GET`, `HEAD`).
    pub only_reads: bool,
    /// Whether it asks for a file of the page, which has no secrets.
    pub is_page: bool,
}

/// Why a request is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// It was meant for somebody else.
    Host,
    /// A page of somebody else sent it.
    Origin,
}

/// Whether a request may go on.
///
/// # Errors
/// Why not.
pub fn judge(places: &Places, asked: &Asked<'_>) -> Result<(), Refusal> {
    if asked.hosts.is_empty() || !asked.hosts.iter().all(|host| places.knows_host(host)) {
        return Err(Refusal::Host);
    }
    // Somebody followed a link to the page. What comes back is the same for everybody.
    if asked.is_page && asked.only_reads && asked.mode == Some("navigate") {
        return Ok(());
    }
    if let Some(origin) = asked.origin
        && !places.knows_origin(origin)
    {
        return Err(Refusal::Origin);
    }
    if let Some(referer) = asked.referer.filter(|_| asked.origin.is_none())
        && !places.knows_origin(origin_of(referer))
    {
        return Err(Refusal::Origin);
    }
    match asked.site {
        // No browser, or one that is very old: those at least send an origin with whatever changes something.
        None => Ok(()),
        // A browser tells its origin when it changes something. One that does not is not believed.
        Some("same-origin") if asked.only_reads || asked.origin.is_some() => Ok(()),
        // Typed by a person, which is never a way to change something.
        Some("none") if asked.only_reads => Ok(()),
        Some(_) => Err(Refusal::Origin),
    }
}

/// `scheme://name:port` of an address.
fn origin_of(address: &str) -> &str {
    let after_scheme = address.find("://").map_or(0, |at| at + 3);
    let end = address.get(after_scheme..).and_then(|rest| rest.find(['/', '?', '#']));
    end.and_then(|end| address.get(..after_scheme + end)).unwrap_or(address)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places() -> Places {
        Places::of_listener("127.0.0.1:8080".parse().unwrap(), false)
    }

    const HERE: &[&str] = &["127.0.0.1:8080"];

    #[test]
    fn names_of_others_are_refused() {
        let host = |hosts| judge(&places(), &Asked { hosts, ..Asked::default() });
        assert_eq!(host(HERE), Ok(()));
        assert_eq!(host(&["LOCALHOST:8080"]), Ok(()));
        assert_eq!(host(&["[::1]:8080"]), Ok(()));
        for bad in [
            &[][..],
            &["evil.example:8080"],
            &["127.0.0.1:9999"],
            &["127.0.0.1"],
            &["localhost.evil.example:8080"],
            &["127.0.0.1:8080", "evil.example"],
            &["127.0.0.1:8080.evil.example"],
            &["10.0.0.1:8080"],
        ] {
            assert_eq!(host(bad), Err(Refusal::Host), "{bad:?}");
        }
    }

    #[test]
    fn all_addresses_but_no_names_when_listening_everywhere() {
        let places = Places::of_listener("0.0.0.0:8080".parse().unwrap(), false);
        let host = |host| judge(&places, &Asked { hosts: &[host], ..Asked::default() });
        assert_eq!(host("10.1.2.3:8080"), Ok(()));
        assert_eq!(host("[fe80::1]:8080"), Ok(()));
        assert_eq!(host("10.1.2.3:81"), Err(Refusal::Host));
        assert_eq!(host("evil.example:8080"), Err(Refusal::Host));
    }

    #[test]
    fn pages_of_others_are_refused() {
        let with = |asked: Asked<'static>| judge(&places(), &Asked { hosts: HERE, ..asked });
        assert_eq!(with(Asked { origin: Some("http://localhost:8080"), ..Asked::default() }), Ok(()));
        for origin in ["null", "http://evil.example", "https://localhost:8080", "http://localhost:8081", ""] {
            let asked = Asked { origin: Some(origin), ..Asked::default() };
            assert_eq!(with(asked), Err(Refusal::Origin), "{origin}");
        }
        for site in ["cross-site", "same-site", "whatever"] {
            let asked = Asked { site: Some(site), only_reads: true, ..Asked::default() };
            assert_eq!(with(asked), Err(Refusal::Origin), "{site}");
        }
        let referer = |referer| with(Asked { referer: Some(referer), ..Asked::default() });
        assert_eq!(referer("http://localhost:8080/page?x"), Ok(()));
        assert_eq!(referer("http://evil.example/http://localhost:8080/"), Err(Refusal::Origin));
    }

    #[test]
    fn a_browser_that_hides_its_origin_changes_nothing() {
        let with = |asked: Asked<'static>| judge(&places(), &Asked { hosts: HERE, ..asked });
        let same = Asked { site: Some("same-origin"), ..Asked::default() };
        assert_eq!(with(same), Err(Refusal::Origin));
        assert_eq!(with(Asked { only_reads: true, ..same }), Ok(()));
        assert_eq!(with(Asked { origin: Some("http://127.0.0.1:8080"), ..same }), Ok(()));
        assert_eq!(with(Asked { site: Some("none"), ..Asked::default() }), Err(Refusal::Origin));
    }

    #[test]
    fn a_link_from_elsewhere_leads_to_the_page_and_to_nothing_else() {
        let link = Asked {
            hosts: HERE,
            site: Some("cross-site"),
            mode: Some("navigate"),
            only_reads: true,
            ..Asked::default()
        };
        assert_eq!(judge(&places(), &link), Err(Refusal::Origin));
        assert_eq!(judge(&places(), &Asked { is_page: true, ..link }), Ok(()));
        assert_eq!(
            judge(&places(), &Asked { is_page: true, only_reads: false, ..link }),
            Err(Refusal::Origin)
        );
    }
}
