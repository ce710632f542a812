//! Whether a request was meant for this server, and whether a foreign page made a browser send it.
//!
//! Pure. A page on the internet can make a browser send requests to a server on this machine: under a name of its own
//! that resolves here (DNS rebinding; detected by `Host`), or directly (detected by `Origin` and `Sec-Fetch-Site`,
//! which a page cannot forge). Other programs send neither and need neither: the token decides.

use std::collections::BTreeSet;
use std::net::{IpAddr, SocketAddr};

/// The host names and origins under which the server may be reached.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Places {
    /// `name:port` or `name`, in lower case.
    hosts: BTreeSet<String>,
    /// `scheme://name:port`, in lower case.
    origins: BTreeSet<String>,
    /// Set if the server listens on all addresses: then any IP address with this port is valid. Rebinding needs a name,
    /// and only listed names are valid.
    any_address: Option<(u16, bool)>,
}

impl Places {
    /// The names and origins of a server that listens on this address.
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

    /// Adds a name and a port. Browsers omit the default port of a scheme.
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

/// What a request reveals about where it comes from.
#[derive(Debug, Clone, Copy, Default)]
pub struct RequestOrigin<'a> {
    /// All values of `Host` and `:authority`.
    pub hosts: &'a [&'a str],
    /// `Origin`.
    pub origin: Option<&'a str>,
    /// `Referer`.
    pub referer: Option<&'a str>,
    /// `Sec-Fetch-Site`.
    pub site: Option<&'a str>,
    /// `Sec-Fetch-Mode`.
    pub mode: Option<&'a str>,
    /// Whether the request only reads (`GET`, `HEAD`).
    pub only_reads: bool,
    /// Whether it requests a file of the page, which contains no secrets.
    pub is_page: bool,
}

/// Why a request is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// The request was meant for another host.
    Host,
    /// A foreign page sent the request.
    Origin,
}

/// Whether a request may proceed.
///
/// # Errors
/// Why the request is refused.
pub fn judge(places: &Places, request: &RequestOrigin<'_>) -> Result<(), Refusal> {
    if request.hosts.is_empty() || !request.hosts.iter().all(|host| places.knows_host(host)) {
        return Err(Refusal::Host);
    }
    // A person followed a link to the page. The response is the same for everyone.
    if request.is_page && request.only_reads && request.mode == Some("navigate") {
        return Ok(());
    }
    if let Some(origin) = request.origin
        && !places.knows_origin(origin)
    {
        return Err(Refusal::Origin);
    }
    if let Some(referer) = request.referer.filter(|_| request.origin.is_none())
        && !places.knows_origin(origin_of(referer))
    {
        return Err(Refusal::Origin);
    }
    match request.site {
        // Not a browser, or a very old one: those at least send an origin with modifying requests.
        None => Ok(()),
        // A browser sends its origin with modifying requests. One that does not is not trusted.
        Some("same-origin") if request.only_reads || request.origin.is_some() => Ok(()),
        // Typed by a person, which never modifies anything.
        Some("none") if request.only_reads => Ok(()),
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
    fn foreign_host_names_are_refused() {
        let host = |hosts| judge(&places(), &RequestOrigin { hosts, ..RequestOrigin::default() });
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
    fn listening_everywhere_accepts_any_address_but_no_names() {
        let places = Places::of_listener("0.0.0.0:8080".parse().unwrap(), false);
        let host = |host| judge(&places, &RequestOrigin { hosts: &[host], ..RequestOrigin::default() });
        assert_eq!(host("10.1.2.3:8080"), Ok(()));
        assert_eq!(host("[fe80::1]:8080"), Ok(()));
        assert_eq!(host("10.1.2.3:81"), Err(Refusal::Host));
        assert_eq!(host("evil.example:8080"), Err(Refusal::Host));
    }

    #[test]
    fn foreign_pages_are_refused() {
        let with =
            |request: RequestOrigin<'static>| judge(&places(), &RequestOrigin { hosts: HERE, ..request });
        assert_eq!(
            with(RequestOrigin { origin: Some("http://localhost:8080"), ..RequestOrigin::default() }),
            Ok(())
        );
        for origin in ["null", "http://evil.example", "https://localhost:8080", "http://localhost:8081", ""] {
            let request = RequestOrigin { origin: Some(origin), ..RequestOrigin::default() };
            assert_eq!(with(request), Err(Refusal::Origin), "{origin}");
        }
        for site in ["cross-site", "same-site", "whatever"] {
            let request = RequestOrigin { site: Some(site), only_reads: true, ..RequestOrigin::default() };
            assert_eq!(with(request), Err(Refusal::Origin), "{site}");
        }
        let referer = |referer| with(RequestOrigin { referer: Some(referer), ..RequestOrigin::default() });
        assert_eq!(referer("http://localhost:8080/page?x"), Ok(()));
        assert_eq!(referer("http://evil.example/http://localhost:8080/"), Err(Refusal::Origin));
    }

    #[test]
    fn a_browser_that_hides_its_origin_cannot_change_anything() {
        let with =
            |request: RequestOrigin<'static>| judge(&places(), &RequestOrigin { hosts: HERE, ..request });
        let same = RequestOrigin { site: Some("same-origin"), ..RequestOrigin::default() };
        assert_eq!(with(same), Err(Refusal::Origin));
        assert_eq!(with(RequestOrigin { only_reads: true, ..same }), Ok(()));
        assert_eq!(with(RequestOrigin { origin: Some("http://127.0.0.1:8080"), ..same }), Ok(()));
        assert_eq!(
            with(RequestOrigin { site: Some("none"), ..RequestOrigin::default() }),
            Err(Refusal::Origin)
        );
    }

    #[test]
    fn a_foreign_link_opens_the_page_and_nothing_else() {
        let link = RequestOrigin {
            hosts: HERE,
            site: Some("cross-site"),
            mode: Some("navigate"),
            only_reads: true,
            ..RequestOrigin::default()
        };
        assert_eq!(judge(&places(), &link), Err(Refusal::Origin));
        assert_eq!(judge(&places(), &RequestOrigin { is_page: true, ..link }), Ok(()));
        assert_eq!(
            judge(&places(), &RequestOrigin { is_page: true, only_reads: false, ..link }),
            Err(Refusal::Origin)
        );
    }
}
