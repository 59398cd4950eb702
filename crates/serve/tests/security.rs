//! Who may ask, and what nobody gets.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod support;

use std::time::Instant;
use support::{Answer, Client, Trace};

const DRAWN: &str = "cpu0 A A B .\ncpu1 . C C A\nwaking . A";
const SLICES: &str = "/api/slices?kind=cpu&first=0&last=1&from=0&to=4000000&width=1000000";

/// A refusal tells a sentence and nothing of the trace.
fn is_refused(answer: &Answer, code: u16) {
    assert_eq!(answer.code, code, "{}", answer.head);
    assert!(answer.body.len() < 300, "{}", answer.words());
    assert!(!answer.words().contains("span_ns"));
    assert!(answer.header("content-security-policy").is_some());
}

fn still_answers(client: &Client) {
    assert_eq!(client.get(SLICES).code, 200);
}

#[test]
fn who_names_another_host_is_refused() {
    let client = Trace::drawn(DRAWN).served();
    let asked = |host: &str| client.ask("GET /api/about", &[host, &client.cookie()]);
    for host in ["Host: evil.example", "Host: 127.0.0.1.evil.example", "Host: 192.168.0.1", "Host:"] {
        is_refused(&asked(host), 403);
    }
    // A page's name that was made to point here would be named twice, or not at all.
    is_refused(&client.ask("GET /api/about", &[&client.host(), "Host: evil.example", &client.cookie()]), 403);
    let none = client.ask("GET /api/about", &[&client.cookie()]);
    assert!(none.code == 400 || none.code == 403, "{}", none.head);
    assert_eq!(asked(&format!("Host: localhost:{}", client.at.port())).code, 200);
    assert_eq!(asked("Host: [::1]:99").code, 200);
}

#[test]
fn pages_of_other_origins_are_refused() {
    let client = Trace::drawn(DRAWN).served();
    let asked = |origin: &str| client.ask("GET /api/about", &[&client.host(), &client.cookie(), origin]);
    let other_port = format!("Origin: http://127.0.0.1:{}", client.at.port() ^ 1);
    for origin in ["Origin: http://evil.example", "Origin: null", "Origin: ", &other_port] {
        is_refused(&asked(origin), 403);
    }
    is_refused(&asked(&format!("Origin: https://{}", client.at)), 403);
    assert_eq!(asked(&format!("Origin: http://{}", client.at)).code, 200);
}

#[test]
fn without_the_token_there_is_nothing() {
    let client = Trace::drawn(DRAWN).served();
    let wrong = format!("Cookie: corewise_{}={}", client.at.port(), "0".repeat(32));
    for path in
        ["/", "/index.html", "/api/about", "/api/threads?first=0&last=9", SLICES, "/api/table/threads?from=0&to=1"]
    {
        is_refused(&client.ask(&format!("GET {path}"), &[&client.host()]), 401);
        is_refused(&client.ask(&format!("GET {path}"), &[&client.host(), &wrong]), 401);
    }
    // In the address it is of use for the page only, and only when it is right.
    is_refused(&client.ask(&format!("GET /api/about?token={}", client.token), &[&client.host()]), 401);
    is_refused(&client.ask(&format!("GET /?token={}", "0".repeat(32)), &[&client.host()]), 401);
}

#[test]
fn the_token_becomes_a_cookie_that_scripts_and_other_sites_do_not_have() {
    let client = Trace::drawn(DRAWN).served();
    let traded = client.ask(&format!("GET /?token={}", client.token), &[&client.host()]);
    assert_eq!((traded.code, traded.header("location")), (303, Some("/")));
    let cookie = traded.header("set-cookie").expect("a cookie").to_owned();
    assert!(cookie.contains("; HttpOnly") && cookie.contains("; SameSite=Strict"), "{cookie}");
    let cookie = format!("Cookie: other=1; {}", cookie.split(';').next().unwrap());
    assert_eq!(client.ask("GET /api/about", &[&client.host(), &cookie]).code, 200);
}

#[test]
fn nothing_can_be_written() {
    let client = Trace::drawn(DRAWN).served();
    for method in ["POST", "PUT", "DELETE", "OPTIONS", "PATCH"] {
        is_refused(&client.ask(&format!("{method} /api/about"), &[&client.host(), &client.cookie()]), 405);
    }
}

#[test]
fn no_path_reaches_the_file_system() {
    let client = Trace::drawn(DRAWN).served();
    let paths = [
        "/../manifest.json",
        "/..%2f..%2fetc%2fpasswd",
        "/%2e%2e/%2e%2e/etc/passwd",
        "//etc/passwd",
        "/assets/../../../../etc/passwd",
        "/manifest.json",
        "/\\..\\..\\etc\\passwd",
        "/index.html%00.js",
    ];
    for path in paths {
        let answer = client.get(path);
        assert!(answer.code == 404 || answer.code == 400, "{path}: {}", answer.head);
        assert!(!answer.words().contains("root:") && !answer.words().contains("origin_ns"), "{path}");
    }
    for name in ["..", "..%2f..%2fmanifest.json", "threads.parquet", "%2fetc%2fpasswd"] {
        let answer = client.get(&format!("/api/table/{name}?from=0&to=1"));
        assert!(answer.code == 404 || answer.words().contains("no table is called"), "{name}: {}", answer.words());
    }
    still_answers(&client);
}

#[test]
fn what_is_too_much_is_refused_with_words() {
    let client = Trace::drawn(DRAWN).served();
    let refused = [
        ("kind=thread&first=0&last=4294967295&from=0&to=1000&width=1", "tracks"),
        ("kind=thread&first=0&last=0&from=0&to=9223372036854775807&width=1", "pixels"),
        ("kind=thread&first=0&last=511&from=0&to=1000000&width=100", "in all"),
        ("kind=thread&first=0&last=0&from=-9223372036854775808&to=9223372036854775807&width=1", "behind"),
        ("kind=thread&first=0&last=0&from=10&to=10&width=1", "behind"),
        ("kind=thread&first=2&last=1&from=0&to=10&width=1", "before"),
        ("kind=thread&first=0&last=0&from=0&to=10&width=0", "width"),
        ("kind=thread&first=0&last=0&from=0&to=10&width=-1", "width"),
        ("kind=thread&first=0&last=0&from=0&to=99999999999999999999&width=1", "to"),
        ("kind=disk&first=0&last=0&from=0&to=10&width=1", "kind"),
        ("kind=cpu", "first"),
        ("", "kind"),
    ];
    for (query, word) in refused {
        let answer = client.get(&format!("/api/slices?{query}"));
        assert!(answer.code == 400 && answer.words().contains(word), "{query}: {} {}", answer.code, answer.words());
    }
    assert_eq!(client.get("/api/threads?first=0&last=18446744073709551615").code, 400);
    let long = client.get(&format!("/api/slices?{}", "x".repeat(1 << 20)));
    assert!((400..500).contains(&long.code), "{}", long.head);
    // As wide as time is, but few pixels: answered.
    assert_eq!(
        client
            .get("/api/slices?kind=cpu&first=0&last=511&from=0&to=9223372036854775807&width=9223372036854775807")
            .code,
        200
    );
    still_answers(&client);
}

#[test]
fn ten_thousand_quick_requests_do_not_end_it() {
    let client = Trace::drawn(DRAWN).served();
    let began = Instant::now();
    std::thread::scope(|scope| {
        for worker in 0..20 {
            let client = &client;
            scope.spawn(move || {
                for n in 0..500 {
                    // Some leave before they are answered, some talk nonsense.
                    match (worker + n) % 4 {
                        0 => drop(std::net::TcpStream::connect(client.at)),
                        1 => assert_eq!(client.send(b"\x00\xff nonsense\r\n\r\n").code, 400),
                        2 => assert_eq!(client.ask("GET /api/about", &[&client.host()]).code, 401),
                        _ => assert_eq!(client.get(SLICES).code, 200),
                    }
                }
            });
        }
    });
    println!("10,000 requests in {:.1} s", began.elapsed().as_secs_f64());
    still_answers(&client);
}
