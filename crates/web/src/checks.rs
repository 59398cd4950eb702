//! Checks requests: they must name this machine and come from no other origin.
//!
//! Other users of the machine and other pages in a browser can reach a loopback port too. A foreign name that resolves to this machine
//! is DNS rebinding: a page from elsewhere could read the answers.

use axum::http::StatusCode;
use axum::http::header::{HOST, HeaderMap, HeaderName, HeaderValue, ORIGIN};
use std::net::{IpAddr, Ipv6Addr};

/// The status and message of a refused request.
pub type Refused = (StatusCode, &'static str);

/// Headers of every answer: no content from elsewhere, framed only by the server's own pages (of two traces, each is in a frame), not
/// cached.
pub const HEADERS: [(HeaderName, HeaderValue); 6] = [
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

/// Checks that a request names this machine and comes from no other origin. `elsewhere` means that other hosts may connect; they
/// address this machine by its IP address.
///
/// # Errors
/// The refusal, to be answered.
pub fn check_place(headers: &HeaderMap, elsewhere: bool) -> Result<(), Refused> {
    const HOST_WORDS: Refused =
        (StatusCode::FORBIDDEN, "the host name is not that of this machine: use 127.0.0.1 or localhost\n");
    let mut hosts = headers.get_all(HOST).iter();
    let (host, None) = (hosts.next(), hosts.next()) else { return Err(HOST_WORDS) };
    let host = host.and_then(|h| h.to_str().ok()).filter(|h| is_this_machine(h, elsewhere)).ok_or(HOST_WORDS)?;
    let ours = |origin: &HeaderValue| origin.to_str().is_ok_and(|o| o.strip_prefix("http://") == Some(host));
    if headers.get_all(ORIGIN).iter().all(ours) {
        return Ok(());
    }
    Err((StatusCode::FORBIDDEN, "requests from other origins are refused\n"))
}

fn is_this_machine(host: &str, elsewhere: bool) -> bool {
    let name = match host.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((name, port)) if port.is_empty() || is_port(port) => {
            return name.parse::<Ipv6Addr>().is_ok_and(|ip| ip.is_loopback() || elsewhere);
        }
        Some(_) => return false,
        None => host.rfind(':').map_or(host, |at| if is_port(&host[at..]) { &host[..at] } else { "" }),
    };
    let number = |ip: IpAddr| ip.is_loopback() || elsewhere;
    name.eq_ignore_ascii_case("localhost") || name.parse::<IpAddr>().is_ok_and(number)
}

fn is_port(after: &str) -> bool {
    after.strip_prefix(':').is_some_and(|port| port.parse::<u16>().is_ok())
}

/// Compares a token with the right one in constant time: it depends only on their lengths, which are no secret.
#[must_use]
pub fn same_token(token: &str, right: &str) -> bool {
    let differ = |all, (a, b): (u8, u8)| all | (a ^ b);
    token.len() == right.len() && std::hint::black_box(token.bytes().zip(right.bytes()).fold(0, differ)) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_loopback_by_name_or_address_with_any_port() {
        for local in ["localhost", "LOCALHOST:80", "127.0.0.1:4000", "127.0.0.9", "[::1]", "[::1]:8080"] {
            assert!(is_this_machine(local, false), "{local}");
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
            assert!(!is_this_machine(foreign, false), "{foreign}");
        }
    }

    #[test]
    fn other_addresses_are_allowed_when_listening_for_other_hosts_but_no_other_names() {
        for own in ["192.168.0.1:80", "[fe80::1]:80", "localhost"] {
            assert!(is_this_machine(own, true), "{own}");
        }
        assert!(!is_this_machine("evil.example", true));
    }

    #[test]
    fn tokens_are_the_same_only_if_all_of_them_is() {
        assert!(same_token("abc", "abc"));
        for wrong in ["", "ab", "abd", "abcd", "Abc"] {
            assert!(!same_token(wrong, "abc"), "{wrong}");
        }
    }
}
