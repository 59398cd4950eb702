//! Who may ask: this user's own browser, on a page of ours.
//!
//! Other users of the machine and other pages in the browser reach a loopback port as well. So every request needs a cookie
//! that only the address printed at the start gives; must name this machine (a foreign name that points here is DNS
//! rebinding); and must come from no other origin.

use axum::http::StatusCode;
use axum::http::header::{COOKIE, HOST, HeaderMap, HeaderName, HeaderValue, ORIGIN};
use std::net::{IpAddr, Ipv6Addr};

/// Tells who may ask.
pub(crate) struct Guard {
    token: String,
    cookie: String,
    /// Whether it listens for other machines too: they name this one by its number.
    elsewhere: bool,
}

/// Why not, in words.
pub(crate) type Refused = (StatusCode, &'static str);

/// What every answer says to the browser: nothing from outside, in no page but our own (of two traces, each is in a frame), nothing kept.
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
    /// A token of 128 random bits for this run.
    pub(crate) fn new(port: u16, elsewhere: bool) -> Result<Self, String> {
        let mut random = [0; 16];
        getrandom::fill(&mut random).map_err(|why| format!("no random numbers: {why}"))?;
        let token = random.iter().map(|b| format!("{b:02x}")).collect();
        // Cookies are of a machine, not of a port: two servers must not overwrite each other's.
        Ok(Self { token, cookie: format!("corewise_{port}"), elsewhere })
    }

    pub(crate) fn token(&self) -> &str {
        &self.token
    }

    /// What makes the browser send the token from now on, and only from our own pages.
    pub(crate) fn set_cookie(&self) -> String {
        format!("{}={}; HttpOnly; SameSite=Strict; Path=/", self.cookie, self.token)
    }

    /// Whether a token is that of this run, in the same time whichever byte differs.
    pub(crate) fn is_token(&self, told: &str) -> bool {
        let differ = |all, (a, b): (u8, u8)| all | (a ^ b);
        told.len() == self.token.len() && told.bytes().zip(self.token.bytes()).fold(0, differ) == 0
    }

    /// That it names this machine, and comes from no other page.
    pub(crate) fn place(&self, headers: &HeaderMap) -> Result<(), Refused> {
        const HOST_WORDS: Refused =
            (StatusCode::FORBIDDEN, "this name is not that of the machine itself: use 127.0.0.1 or localhost\n");
        let mut hosts = headers.get_all(HOST).iter();
        let (host, None) = (hosts.next(), hosts.next()) else { return Err(HOST_WORDS) };
        let host = host.and_then(|h| h.to_str().ok()).filter(|h| self.is_here(h)).ok_or(HOST_WORDS)?;
        let ours = |origin: &HeaderValue| origin.to_str().is_ok_and(|o| o.strip_prefix("http://") == Some(host));
        if headers.get_all(ORIGIN).iter().all(ours) {
            return Ok(());
        }
        Err((StatusCode::FORBIDDEN, "pages of other origins may not ask\n"))
    }

    /// That it has the cookie.
    pub(crate) fn cookie(&self, headers: &HeaderMap) -> Result<(), Refused> {
        let cookies = headers.get_all(COOKIE).iter().filter_map(|c| c.to_str().ok()).flat_map(|c| c.split(';'));
        let mut pairs = cookies.filter_map(|c| c.trim().split_once('='));
        if pairs.any(|(name, value)| name == self.cookie && self.is_token(value)) {
            return Ok(());
        }
        Err((StatusCode::UNAUTHORIZED, "open the address that `corewise view` printed, with its token\n"))
    }

    fn is_here(&self, host: &str) -> bool {
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
    fn a_host_is_loopback_by_name_or_number_with_any_port() {
        let guard = Guard::new(1, false).unwrap();
        for here in ["localhost", "LOCALHOST:80", "127.0.0.1:4000", "127.0.0.9", "[::1]", "[::1]:8080"] {
            assert!(guard.is_here(here), "{here}");
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
            assert!(!guard.is_here(foreign), "{foreign}");
        }
    }

    #[test]
    fn who_listens_elsewhere_is_named_by_number_never_by_another_name() {
        let guard = Guard::new(1, true).unwrap();
        assert!(guard.is_here("192.168.0.1:80") && guard.is_here("[fe80::1]:80") && guard.is_here("localhost"));
        assert!(!guard.is_here("evil.example"));
    }

    #[test]
    fn tokens_differ_from_run_to_run() {
        let (one, other) = (Guard::new(1, false).unwrap(), Guard::new(1, false).unwrap());
        assert!(one.is_token(one.token()) && !one.is_token(other.token()) && !one.is_token(""));
        assert_eq!(one.token().len(), 32);
    }
}
