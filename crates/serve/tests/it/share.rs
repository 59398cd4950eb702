//! The shared address: read-only, and only for its time.

use crate::support::{Answer, Client, Trace, many_files, one_answer};
use std::io::{BufReader, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

const DRAWN: &str = "cpu0 A A B .\ncpu1 . C C A\nwaking . A";
const HOUR: Duration = Duration::from_secs(3600);
/// Every route that answers with data, and the page.
const READ: [&str; 6] = [
    "/",
    "/api/about",
    "/api/progress",
    "/api/threads?first=0&last=9",
    "/api/slices?kind=cpu&first=0&last=1&from=0&to=4000000&width=1000000",
    "/api/tables",
];

/// The cookie of the shared address, as the server sets it.
fn shared_cookie(client: &Client, token: &str) -> String {
    format!("Cookie: corewise_{}_shared={token}", client.at.port())
}

/// A request with the cookie of the shared address.
fn as_guest(client: &Client, token: &str, line: &str) -> Answer {
    client.ask(line, &[&client.host(), &shared_cookie(client, token)])
}

/// Refused with one sentence, and without data.
fn is_refused(answer: &Answer, code: u16, word: &str) {
    assert_eq!(answer.code, code, "{}", answer.head);
    let text = answer.text();
    assert!(text.contains(word) && text.lines().count() <= 1 && text.len() < 200, "{text}");
    assert!(!text.contains("span_ns") && answer.header("set-cookie").is_none(), "{}", answer.head);
}

#[test]
fn the_shared_address_reads_everything_that_the_owner_reads() {
    let (client, token) = Trace::drawn(DRAWN).served_shared(HOUR);
    assert!(token.len() == 32 && token != client.token);
    let traded = client.ask(&format!("GET /?token={token}"), &[&client.host()]);
    assert_eq!((traded.code, traded.header("location")), (303, Some("/")));
    let cookie = traded.header("set-cookie").unwrap().to_owned();
    let expected = format!("corewise_{}_shared={token}; HttpOnly; SameSite=Strict; Path=/", client.at.port());
    assert_eq!(cookie, expected);
    for path in READ {
        let (guest, owner) = (as_guest(&client, &token, &format!("GET {path}")), client.get(path));
        // A build without the viewer answers 404 for the page, to both. The order of metadata in Arrow IPC is random.
        let is_arrow = owner.header("content-type") == Some("application/vnd.apache.arrow.stream");
        assert_eq!((guest.code, guest.body.len()), (owner.code, owner.body.len()), "{path}");
        assert!(guest.body == owner.body || is_arrow, "{path}");
        assert!(guest.code == 200 || path == "/", "{path}");
    }
}

#[test]
fn an_expired_token_is_refused_and_the_owners_stays_valid() {
    const TIME: Duration = Duration::from_secs(3);
    let trace = Trace::drawn(DRAWN);
    let before = Instant::now();
    let (client, token) = trace.served_shared(TIME);
    let begun = Instant::now();
    // A connection that is kept open ends with the token too.
    let mut kept = BufReader::new(TcpStream::connect(client.at).unwrap());
    let mut ask = || {
        let cookie = shared_cookie(&client, &token);
        write!(kept.get_mut(), "GET /api/about HTTP/1.1\r\n{}\r\n{cookie}\r\n\r\n", client.host()).unwrap();
        one_answer(&mut kept)
    };
    let first = ask();
    let is_early = before.elapsed() < TIME;
    let is_read = first.starts_with("HTTP/1.1 200");
    assert!(is_read || !is_early, "{first}");
    std::thread::sleep((TIME + Duration::from_millis(10)).saturating_sub(begun.elapsed()));
    // On a machine on which the first answer took that long, its connection has ended.
    let after = if is_read { ask() } else { first };
    assert!(after.starts_with("HTTP/1.1 403") && after.contains("connection: close"), "{after}");
    for path in READ {
        is_refused(&as_guest(&client, &token, &format!("GET {path}")), 403, "expired");
    }
    is_refused(&client.ask(&format!("GET /?token={token}"), &[&client.host()]), 403, "expired");
    assert_eq!(client.get("/api/about").code, 200);
    assert_eq!(client.ask(&format!("GET /?token={}", client.token), &[&client.host()]).code, 303);
    // With both cookies, the owner's counts.
    let both = format!("{}; {}", shared_cookie(&client, &token), client.cookie().trim_start_matches("Cookie: "));
    assert_eq!(client.ask("GET /api/about", &[&client.host(), &both]).code, 200);
}

#[test]
fn a_wrong_token_and_none_are_refused() {
    let (client, token) = Trace::drawn(DRAWN).served_shared(HOUR);
    let wrong = ["", &"0".repeat(32), &token[1..], &format!("{token}0"), &token.to_uppercase().replace('A', "B")];
    for path in READ {
        is_refused(&client.ask(&format!("GET {path}"), &[&client.host()]), 401, "unauthorised");
        for token in wrong {
            is_refused(&as_guest(&client, token, &format!("GET {path}")), 401, "unauthorised");
        }
    }
    for token in wrong {
        is_refused(&client.ask(&format!("GET /?token={token}"), &[&client.host()]), 401, "unauthorised");
    }
    // In the address, the token works for the page only.
    is_refused(&client.ask(&format!("GET /api/about?token={token}"), &[&client.host()]), 401, "unauthorised");
    // The cookie of another port is that of another run.
    let other = format!("Cookie: corewise_{}_shared={token}", client.at.port() ^ 1);
    is_refused(&client.ask("GET /api/about", &[&client.host(), &other]), 401, "unauthorised");
}

#[test]
fn without_a_shared_address_there_is_no_second_token() {
    let client = Trace::drawn(DRAWN).served();
    for token in ["", &"0".repeat(32)] {
        is_refused(&as_guest(&client, token, "GET /api/about"), 401, "unauthorised");
        is_refused(&client.ask(&format!("GET /?token={token}"), &[&client.host()]), 401, "unauthorised");
    }
}

#[test]
fn the_shared_address_changes_nothing() {
    let trace = Trace::drawn(DRAWN);
    let (client, token) = trace.served_shared(HOUR);
    let files = || {
        let mut files: Vec<_> = walk(&trace.path());
        files.sort();
        files
    };
    let before = files();
    assert!(before.len() > 3);
    for method in ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "PROPFIND"] {
        for path in READ {
            is_refused(&as_guest(&client, &token, &format!("{method} {path}")), 403, "only reading");
        }
        // Nor by the token in the address.
        is_refused(&client.ask(&format!("{method} /?token={token}"), &[&client.host()]), 403, "only reading");
    }
    // A body is not read either.
    let body = "POST /api/about HTTP/1.1\r\nConnection: close\r\nContent-Length: 2\r\n";
    let posted = format!("{body}{}\r\n{}\r\n\r\n{{}}", client.host(), shared_cookie(&client, &token));
    is_refused(&client.send(posted.as_bytes()), 403, "only reading");
    assert_eq!(files(), before);
    assert_eq!(client.get("/api/about").code, 200);
}

/// The files of a folder: path, length and time of change.
fn walk(folder: &std::path::Path) -> Vec<(std::path::PathBuf, u64, std::time::SystemTime)> {
    let entries = std::fs::read_dir(folder).unwrap().map(Result::unwrap);
    let files = entries.flat_map(|entry| {
        let about = entry.metadata().unwrap();
        if about.is_dir() { walk(&entry.path()) } else { vec![(entry.path(), about.len(), about.modified().unwrap())] }
    });
    files.collect()
}

#[test]
fn the_shared_address_is_for_this_machine_and_its_own_pages_only() {
    let (client, token) = Trace::drawn(DRAWN).served_shared(HOUR);
    let cookie = shared_cookie(&client, &token);
    for host in ["Host: evil.example", "Host: 127.0.0.1.evil.example", "Host: 192.168.0.1", "Host:"] {
        is_refused(&client.ask("GET /api/about", &[host, &cookie]), 403, "host name");
        is_refused(&client.ask(&format!("GET /?token={token}"), &[host]), 403, "host name");
    }
    for origin in ["Origin: http://evil.example", "Origin: null"] {
        is_refused(&client.ask("GET /api/about", &[&client.host(), &cookie, origin]), 403, "origins");
    }
}

/// Each guest, and then the owner, gets a place from the guest who has had it for longest: otherwise they would wait until the 60 s of an
/// unused connection are over.
#[test]
fn many_connections_of_the_shared_address_do_not_keep_the_owner_out() {
    // More than the server has places.
    const CONNECTIONS: usize = 1100;
    many_files();
    let (client, token) = Trace::drawn(DRAWN).served_shared(HOUR);
    let request =
        format!("GET /api/progress HTTP/1.1\r\n{}\r\n{}\r\n\r\n", client.host(), shared_cookie(&client, &token));
    let mut held = Vec::new();
    for _ in 0..CONNECTIONS {
        let mut one = TcpStream::connect(client.at).unwrap();
        one.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        one.write_all(request.as_bytes()).unwrap();
        let mut answer = [0; 1024];
        // It has a place now, with a valid token.
        assert!(one.read(&mut answer).unwrap() > 0);
        held.push(one);
    }
    let began = Instant::now();
    assert_eq!(client.get("/api/about").code, 200);
    assert!(began.elapsed() < Duration::from_secs(30), "{:?}", began.elapsed());
}
