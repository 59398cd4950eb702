//! Who may ask, and what nobody gets.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod support;

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
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

/// Files for both ends of some thousand connections.
fn many_files() {
    // SAFETY: a valid limit is read, changed and written.
    unsafe {
        let mut limit: libc::rlimit = std::mem::zeroed();
        assert_eq!(libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit), 0);
        limit.rlim_cur = limit.rlim_max.min(8192);
        assert_eq!(libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit), 0);
    }
}

/// Another user of the machine, who has no token, holds connections open, many at once: those that are closed it opens anew.
fn crowd(at: std::net::SocketAddr, how_many: usize, done: &AtomicBool) -> u64 {
    use std::os::fd::AsRawFd;
    let (mut held, mut opened): (Vec<TcpStream>, u64) = (Vec::new(), 0);
    while !done.load(Ordering::Relaxed) {
        held.retain(|one| {
            let mut poll = libc::pollfd { fd: one.as_raw_fd(), events: libc::POLLIN, revents: 0 };
            // SAFETY: one valid pollfd. What is readable was ended: nothing is answered to who asks nothing.
            unsafe { libc::poll(&raw mut poll, 1, 0) == 0 }
        });
        while held.len() < how_many && !done.load(Ordering::Relaxed) {
            let Ok(one) = TcpStream::connect_timeout(&at, Duration::from_secs(1)) else { break };
            if opened % 2 == 0 {
                let _ = (&one).write_all(b"GET /api/about HTTP/1.1\r\nHost: ");
            }
            held.push(one);
            opened += 1;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    opened
}

/// The slowest of some answers to who has the token, each by a connection of its own, while others without it crowd the server.
fn slowest_within(how_many: usize, questions: u32) -> (Duration, u64) {
    many_files();
    let client = Trace::drawn(DRAWN).served();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let crowd = scope.spawn(|| crowd(client.at, how_many, &done));
        std::thread::sleep(Duration::from_secs(1));
        let mut slowest = Duration::ZERO;
        for _ in 0..questions {
            let began = Instant::now();
            assert_eq!(client.get(SLICES).code, 200);
            slowest = slowest.max(began.elapsed());
            std::thread::sleep(Duration::from_millis(50));
        }
        // One that is kept open and asks now and then is not dropped for the others.
        let mut kept = TcpStream::connect(client.at).unwrap();
        for _ in 0..5 {
            write!(kept, "GET /api/about HTTP/1.1\r\n{}\r\n{}\r\n\r\n", client.host(), client.cookie()).unwrap();
            let mut answer = [0; 64];
            let length = kept.read(&mut answer).unwrap();
            assert!(answer[..length].starts_with(b"HTTP/1.1 200"), "{answer:?}");
            kept.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
            while kept.read(&mut answer).is_ok_and(|n| n > 0) {}
            kept.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        }
        done.store(true, Ordering::Relaxed);
        let opened = crowd.join().unwrap();
        (slowest, opened)
    })
}

#[test]
fn a_thousand_connections_without_the_token_do_not_lock_its_owner_out() {
    // For longer than half a request is waited for: all of them are closed, and opened anew.
    let (slowest, opened) = slowest_within(1000, 240);
    println!("slowest answer {slowest:?}; {opened} connections were opened meanwhile");
    assert!(opened > 1500, "{opened} connections: nobody had to open one anew");
    assert!(slowest <= Duration::from_secs(1), "{slowest:?}");
}

#[test]
fn more_than_there_are_places_for_only_slow_it_down() {
    let (slowest, opened) = slowest_within(1500, 20);
    println!("slowest answer {slowest:?}; {opened} connections were opened meanwhile");
    assert!(opened > 3000, "{opened} connections: nobody was dropped for another");
    assert!(slowest <= Duration::from_secs(10), "{slowest:?}");
}

#[test]
fn half_a_request_is_waited_for_only_so_long() {
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
    // A byte now and then does not help.
    for _ in 0..20 {
        std::thread::sleep(Duration::from_millis(400));
        let _ = waiting[2].write_all(b"X");
    }
    for mut one in waiting {
        one.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let mut rest = Vec::new();
        let ended = one.read_to_end(&mut rest);
        assert!(ended.as_ref().map_or_else(|why| why.kind() == ErrorKind::ConnectionReset, |_| true), "{ended:?}");
        let took = began.elapsed();
        assert!((8..20).contains(&took.as_secs()), "{took:?}");
    }
    still_answers(&client);
}

#[test]
fn who_has_no_token_keeps_no_connection() {
    let client = Trace::drawn(DRAWN).served();
    let mut one = TcpStream::connect(client.at).unwrap();
    write!(one, "GET /api/about HTTP/1.1\r\n{}\r\n\r\n", client.host()).unwrap();
    one.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    let mut answer = String::new();
    one.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 401") && answer.contains("connection: close"), "{answer}");
}

#[test]
fn what_is_prepared_is_as_open_as_the_folder() {
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
