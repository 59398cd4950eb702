//! Access control and resource limits.

use crate::support::{Answer, Client, Trace, many_files, one_answer};
use std::io::{BufReader, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

const DRAWN: &str = "cpu0 A A B .\ncpu1 . C C A\nwaking . A";
const SLICES: &str = "/api/slices?kind=cpu&first=0&last=1&from=0&to=4000000&width=1000000";

/// A refusal has a short message and no data of the trace.
fn is_refused(answer: &Answer, code: u16) {
    assert_eq!(answer.code, code, "{}", answer.head);
    assert!(answer.body.len() < 300, "{}", answer.text());
    assert!(!answer.text().contains("span_ns"));
    assert!(answer.header("content-security-policy").is_some());
}

fn still_answers(client: &Client) {
    assert_eq!(client.get(SLICES).code, 200);
}

#[test]
fn requests_for_other_host_names_are_refused() {
    let client = Trace::drawn(DRAWN).served();
    let request = |host: &str| client.ask("GET /api/about", &[host, &client.cookie()]);
    for host in ["Host: evil.example", "Host: 127.0.0.1.evil.example", "Host: 192.168.0.1", "Host:"] {
        is_refused(&request(host), 403);
    }
    // Two host headers, or none.
    is_refused(&client.ask("GET /api/about", &[&client.host(), "Host: evil.example", &client.cookie()]), 403);
    let none = client.ask("GET /api/about", &[&client.cookie()]);
    assert!(none.code == 400 || none.code == 403, "{}", none.head);
    assert_eq!(request(&format!("Host: localhost:{}", client.at.port())).code, 200);
    assert_eq!(request("Host: [::1]:99").code, 200);
}

#[test]
fn requests_from_other_origins_are_refused() {
    let client = Trace::drawn(DRAWN).served();
    let request = |origin: &str| client.ask("GET /api/about", &[&client.host(), &client.cookie(), origin]);
    let other_port = format!("Origin: http://127.0.0.1:{}", client.at.port() ^ 1);
    for origin in ["Origin: http://evil.example", "Origin: null", "Origin: ", &other_port] {
        is_refused(&request(origin), 403);
    }
    is_refused(&request(&format!("Origin: https://{}", client.at)), 403);
    assert_eq!(request(&format!("Origin: http://{}", client.at)).code, 200);
}

#[test]
fn without_the_token_everything_is_refused() {
    let client = Trace::drawn(DRAWN).served();
    let wrong = format!("Cookie: corewise_{}={}", client.at.port(), "0".repeat(32));
    for path in
        ["/", "/index.html", "/api/about", "/api/threads?first=0&last=9", SLICES, "/api/table/threads?from=0&to=1"]
    {
        is_refused(&client.ask(&format!("GET {path}"), &[&client.host()]), 401);
        is_refused(&client.ask(&format!("GET {path}"), &[&client.host(), &wrong]), 401);
    }
    // In the address, the token works only for the page, and only if it is right.
    is_refused(&client.ask(&format!("GET /api/about?token={}", client.token), &[&client.host()]), 401);
    is_refused(&client.ask(&format!("GET /?token={}", "0".repeat(32)), &[&client.host()]), 401);
}

#[test]
fn the_token_becomes_a_cookie_that_scripts_and_other_sites_cannot_use() {
    let client = Trace::drawn(DRAWN).served();
    let traded = client.ask(&format!("GET /?token={}", client.token), &[&client.host()]);
    assert_eq!((traded.code, traded.header("location")), (303, Some("/")));
    let cookie = traded.header("set-cookie").expect("a cookie").to_owned();
    assert!(cookie.contains("; HttpOnly") && cookie.contains("; SameSite=Strict"), "{cookie}");
    let cookie = format!("Cookie: other=1; {}", cookie.split(';').next().unwrap());
    assert_eq!(client.ask("GET /api/about", &[&client.host(), &cookie]).code, 200);
}

#[test]
fn only_reading_requests_are_allowed() {
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
        assert!(!answer.text().contains("root:") && !answer.text().contains("origin_ns"), "{path}");
    }
    for name in ["..", "..%2f..%2fmanifest.json", "threads.parquet", "%2fetc%2fpasswd"] {
        let answer = client.get(&format!("/api/table/{name}?from=0&to=1"));
        assert!(answer.code == 404 || answer.text().contains("there is no table"), "{name}: {}", answer.text());
    }
    still_answers(&client);
}

#[test]
fn too_large_requests_are_refused_with_a_message() {
    let client = Trace::drawn(DRAWN).served();
    let refused = [
        ("kind=thread&first=0&last=4294967295&from=0&to=1000&width=1", "tracks"),
        ("kind=thread&first=0&last=0&from=0&to=9223372036854775807&width=1", "pixels"),
        ("kind=thread&first=0&last=511&from=0&to=1000000&width=100", "in total"),
        ("kind=thread&first=0&last=0&from=-9223372036854775808&to=9223372036854775807&width=1", "greater"),
        ("kind=thread&first=0&last=0&from=10&to=10&width=1", "greater"),
        ("kind=thread&first=2&last=1&from=0&to=10&width=1", "less"),
        ("kind=thread&first=0&last=0&from=0&to=10&width=0", "width"),
        ("kind=thread&first=0&last=0&from=0&to=10&width=-1", "width"),
        ("kind=thread&first=0&last=0&from=0&to=99999999999999999999&width=1", "to"),
        ("kind=disk&first=0&last=0&from=0&to=10&width=1", "kind"),
        ("kind=cpu", "first"),
        ("", "kind"),
    ];
    for (query, word) in refused {
        let answer = client.get(&format!("/api/slices?{query}"));
        assert!(answer.code == 400 && answer.text().contains(word), "{query}: {} {}", answer.code, answer.text());
    }
    assert_eq!(client.get("/api/threads?first=0&last=18446744073709551615").code, 400);
    let long = client.get(&format!("/api/slices?{}", "x".repeat(1 << 20)));
    assert!((400..500).contains(&long.code), "{}", long.head);
    // The whole range of time at few pixels is answered.
    assert_eq!(
        client
            .get("/api/slices?kind=cpu&first=0&last=511&from=0&to=9223372036854775807&width=9223372036854775807")
            .code,
        200
    );
    still_answers(&client);
}

#[test]
fn the_server_survives_ten_thousand_quick_requests() {
    let client = Trace::drawn(DRAWN).served();
    let began = Instant::now();
    std::thread::scope(|scope| {
        for worker in 0..20 {
            let client = &client;
            scope.spawn(move || {
                for n in 0..500 {
                    // Some disconnect before the answer, some send invalid data.
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

/// Simulates another user of the machine without a token who holds many connections open and reopens those that are closed. Counts those
/// that were opened.
fn crowd(at: std::net::SocketAddr, how_many: usize, opened: &AtomicU64, done: &AtomicBool) {
    use std::os::fd::AsRawFd;
    let mut held: Vec<TcpStream> = Vec::new();
    while !done.load(Ordering::Relaxed) {
        held.retain(|one| {
            let mut poll = libc::pollfd { fd: one.as_raw_fd(), events: libc::POLLIN, revents: 0 };
            // SAFETY: one valid pollfd. A readable connection was closed, since no request was completed.
            unsafe { libc::poll(&raw mut poll, 1, 0) == 0 }
        });
        while held.len() < how_many && !done.load(Ordering::Relaxed) {
            let Ok(one) = TcpStream::connect_timeout(&at, Duration::from_secs(1)) else { break };
            if opened.fetch_add(1, Ordering::Relaxed).is_multiple_of(2) {
                let _ = (&one).write_all(b"GET /api/about HTTP/1.1\r\nHost: ");
            }
            held.push(one);
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Ends the crowd, also if an assertion fails.
struct Ends<'a>(&'a AtomicBool);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// A client with the token is answered, each time on a new connection, while another client without it opens many connections: until that one
/// has opened so many, since the server closes them. An owner who is kept out has no answer in the 60 s for which the client waits.
fn answered_while(how_many: usize, least_opened: u64) {
    many_files();
    let client = Trace::drawn(DRAWN).served();
    let (opened, done) = (AtomicU64::new(0), AtomicBool::new(false));
    std::thread::scope(|scope| {
        let _ends = Ends(&done);
        scope.spawn(|| crowd(client.at, how_many, &opened, &done));
        let (begin, mut slowest, mut requests) = (Instant::now(), Duration::ZERO, 0);
        while opened.load(Ordering::Relaxed) < least_opened || requests < 20 {
            let began = Instant::now();
            assert_eq!(client.get(SLICES).code, 200);
            (slowest, requests) = (slowest.max(began.elapsed()), requests + 1);
            assert!(begin.elapsed() < Duration::from_secs(300), "only {opened:?} connections were opened");
            std::thread::sleep(Duration::from_millis(50));
        }
        println!("slowest of {requests} answers {slowest:?}; {opened:?} connections were opened meanwhile");
        // A connection that is kept open and sends requests from time to time is not closed.
        let mut kept = BufReader::new(TcpStream::connect(client.at).unwrap());
        kept.get_ref().set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        for _ in 0..5 {
            let (host, cookie) = (client.host(), client.cookie());
            write!(kept.get_mut(), "GET /api/about HTTP/1.1\r\n{host}\r\n{cookie}\r\n\r\n").unwrap();
            let answer = one_answer(&mut kept);
            assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
            std::thread::sleep(Duration::from_millis(200));
        }
    });
}

/// There are places for all of them; each is closed when the time for its request is over, and reopened.
#[test]
fn a_thousand_connections_without_the_token_do_not_block_the_owner() {
    answered_while(1000, 1501);
}

/// Connections are closed for others, long before their time is over.
#[test]
fn more_connections_than_places_only_slow_the_server_down() {
    answered_while(1500, 3001);
}

/// After 10 s, and not before. Sending a byte from time to time does not extend the time, or the connection to which this test sends until it
/// ends would never end.
#[test]
fn an_incomplete_request_times_out() {
    const TIME: Duration = Duration::from_secs(10);
    const HANGS: Duration = Duration::from_secs(60);
    let client = Trace::drawn(DRAWN).served();
    let began = Instant::now();
    let mut waiting: Vec<TcpStream> = ["", "GET / HT", "GET /api/about HTTP/1.1\r\nHost: a\r\n"]
        .into_iter()
        .map(|begun| {
            let mut one = TcpStream::connect(client.at).unwrap();
            one.write_all(begun.as_bytes()).unwrap();
            one
        })
        .collect();
    let mut sending = waiting.pop().unwrap();
    sending.set_read_timeout(Some(Duration::from_millis(400))).unwrap();
    loop {
        match sending.read(&mut [0; 64]) {
            Ok(0) => break,
            Ok(_) => {}
            Err(why) if matches!(why.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                let _ = sending.write_all(b"X");
            }
            Err(why) => {
                assert_eq!(why.kind(), ErrorKind::ConnectionReset);
                break;
            }
        }
        assert!(began.elapsed() < HANGS, "it does not end");
    }
    assert!(began.elapsed() >= TIME, "{:?}", began.elapsed());
    for mut one in waiting {
        one.set_read_timeout(Some(HANGS)).unwrap();
        let mut rest = Vec::new();
        let ended = one.read_to_end(&mut rest);
        assert!(ended.as_ref().map_or_else(|why| why.kind() == ErrorKind::ConnectionReset, |_| true), "{ended:?}");
    }
    still_answers(&client);
}

#[test]
fn connections_without_the_token_are_closed() {
    let client = Trace::drawn(DRAWN).served();
    let mut one = TcpStream::connect(client.at).unwrap();
    write!(one, "GET /api/about HTTP/1.1\r\n{}\r\n\r\n", client.host()).unwrap();
    one.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let mut answer = String::new();
    one.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 401") && answer.contains("connection: close"), "{answer}");
}

#[test]
fn levels_have_the_permissions_of_the_trace_folder() {
    use std::os::unix::fs::PermissionsExt;
    for (open, folder, file) in [(false, 0o700, 0o600), (true, 0o755, 0o644)] {
        let trace = Trace::drawn(DRAWN);
        if open {
            std::fs::set_permissions(trace.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
        }
        assert!(trace.prepared().levels.made);
        let levels = trace.path().join("levels");
        let mode = |path: &std::path::Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o7777;
        assert_eq!(mode(&levels), folder);
        let files: Vec<_> = levels.read_dir().unwrap().map(|entry| mode(&entry.unwrap().path())).collect();
        assert!(files.len() > 2 && files.iter().all(|mode| *mode == file), "{files:?}");
    }
}
