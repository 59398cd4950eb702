//! Checks requests: only this user's browser, on the viewer's own pages, is answered.
//!
//! Other users of the machine and other pages in the browser can reach a loopback port too. So every request needs a cookie that only
//! the address printed at the start sets; must name this machine as its host (a foreign name that resolves to it is DNS rebinding);
//! and must not come from another origin.

use axum::http::StatusCode;
use axum::http::header::{COOKIE, HOST, HeaderMap, HeaderName, HeaderValue, ORIGIN};
use std::net::{IpAddr, Ipv6Addr};

/// Checks requests.
pub(crate) struct Guard {
    token: String,
    cookie: String,
    /// Whether other hosts may connect; they address this machine by its IP address.
    elsewhere: bool,
}

/// The status and message of a refused request.
pub(crate) type Refused = (StatusCode, &'static str);

/// Headers of every answer: no content from elsewhere, framed only by the viewer's own pages (of two traces, each is in a frame), not
/// cached.
pub(crate) const HEADERS: [(HeaderName, HeaderValue); 6] = [
    (
        HeaderName::from_static("content-security-policy"),
        HeaderValue::from_static(
            "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
             frame-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'self'",
        ),
    ),
    (HeaderName::from_static("x-content-type-options"), HeaderValue::from_static("nosniff")),
    (HeaderName::from_static("referrer-policy"), HeaderValue::from_static("no-referrer")),
    (HeaderName::from_static("cross-origin-resource-policy"), HeaderValue::from_static("same-origin")),
    (HeaderName::from_static("cross-origin-opener-policy"), HeaderValue::from_static("same-origin")),
    (HeaderName::from_static("cache-control"), HeaderValue::from_static("no-store")),
];

impl Guard {
    /// Creates a guard with a token of 128 random bits for this run.
    pub(crate) fn new(port: u16, elsewhere: bool) -> Result<Self, String> {
        let mut random = [0; 16];
        getrandom::fill(&mut random).map_err(|why| format!("cannot get random numbers: {why}"))?;
        let token = random.iter().map(|b| format!("{b:02x}")).collect();
        // Cookies are shared by all ports of a host, so the name contains the port.
        Ok(Self { token, cookie: format!("corewise_{port}"), elsewhere })
    }

    pub(crate) fn token(&self) -> &str {
        &self.token
    }

    /// Returns the header that makes the browser send the token from now on, from the viewer's own pages only.
    pub(crate) fn set_cookie(&self) -> String {
        format!("{}={}; HttpOnly; SameSite=Strict; Path=/", self.cookie, self.token)
    }

    /// Compares a token with that of this run in constant time.
    pub(crate) fn is_token(&self, token: &str) -> bool {
        let differ = |all, (a, b): (u8, u8)| all | (a ^ b);
        token.len() == self.token.len() && token.bytes().zip(self.token.bytes()).fold(0, differ) == 0
    }

    /// Checks that a request names this machine and comes from no other origin.
    pub(crate) fn place(&self, headers: &HeaderMap) -> Result<(), Refused> {
        const HOST_WORDS: Refused =
            (StatusCode::FORBIDDEN, "the host name is not that of this machine: use 127.0.0.1 or localhost\n");
        let mut hosts = headers.get_all(HOST).iter();
        let (host, None) = (hosts.next(), hosts.next()) else { return Err(HOST_WORDS) };
        let host = host.and_then(|h| h.to_str().ok()).filter(|h| self.is_this_machine(h)).ok_or(HOST_WORDS)?;
        let ours = |origin: &HeaderValue| origin.to_str().is_ok_and(|o| o.strip_prefix("http://") == Some(host));
        if headers.get_all(ORIGIN).iter().all(ours) {
            return Ok(());
        }
        Err((StatusCode::FORBIDDEN, "requests from other origins are refused\n"))
    }

    /// Checks that a request has the cookie.
    pub(crate) fn cookie(&self, headers: &HeaderMap) -> Result<(), Refused> {
        let cookies = headers.get_all(COOKIE).iter().filter_map(|c| c.to_str().ok()).flat_map(|c| c.split(';'));
        let mut pairs = cookies.filter_map(|c| c.trim().split_once('='));
        if pairs.any(|(name, value)| name == self.cookie && self.is_token(value)) {
            return Ok(());
        }
        Err((
            StatusCode::UNAUTHORIZED,
            "unauthorised: open the address that `corewise view` printed, including its token\n",
        ))
    }

    fn is_this_machine(&self, host: &str) -> bool {
        let name = match host.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            Some((name, port)) if port.is_empty() || is_port(port) => {
                return name.parse::<Ipv6Addr>().is_ok_and(|ip| ip.is_loopback() || self.elsewhere);
            }
            Some(_) => return false,
            None => host.rfind(':').map_or(host, |at| if is_port(&host[at..]) { &host[..at] } else { "" }),
        };
        let number = |ip: IpAddr| ip.is_loopback() || self.elsewhere;
        name.eq_ignore_ascii_case("localhost") || name.parse::<IpAddr>().is_ok_and(number)
    }
}

fn is_port(after: &str) -> bool {
    after.strip_prefix(':').is_some_and(|port| port.parse::<u16>().is_ok())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_loopback_by_name_or_address_with_any_port() {
        let guard = Guard::new(1, false).unwrap();
        for local in ["localhost", "LOCALHOST:80", "127.0.0.1:4000", "127.0.0.9", "[::1]", "[::1]:8080"] {
            assert!(guard.is_this_machine(local), "{local}");
        }
        let foreign = [
            "",
            "evil.example",
            "localhost.evil.example",
            "127.0.0.1.evil.example",
            "192.168.0.1",
            "[::2]:1",
            "[::1]x",
        ];
        for foreign in
            foreign.into_iter().chain(["localhost:", "localhost:x", "::1", "127.0.0.1:1:2", "0.0.0.0", "[::1"])
        {
            assert!(!guard.is_this_machine(foreign), "{foreign}");
        }
    }

    #[test]
    fn other_addresses_are_allowed_when_listening_for_other_hosts_but_no_other_names() {
        let guard = Guard::new(1, true).unwrap();
        assert!(
            guard.is_this_machine("192.168.0.1:80")
                && guard.is_this_machine("[fe80::1]:80")
                && guard.is_this_machine("localhost")
        );
        assert!(!guard.is_this_machine("evil.example"));
    }

    #[test]
    fn tokens_differ_from_run_to_run() {
        let (one, other) = (Guard::new(1, false).unwrap(), Guard::new(1, false).unwrap());
        assert!(one.is_token(one.token()) && !one.is_token(other.token()) && !one.is_token(""));
        assert_eq!(one.token().len(), 32);
    }
}
