//! The server over real connections: formats, refusals, and clients that mean harm or hang.

use crate::support::Running;
use exporter::{Options, Server, Token};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

#[test]
fn the_format_follows_accept_and_classic_text_is_the_default() {
    let server = Running::start("127.0.0.1:0", None, |_| {});
    let text = server.get("/metrics", "");
    assert!(text.starts_with("HTTP/1.1 200 OK") && text.contains("content-type: text/plain; version=0.0.4"), "{text}");
    assert!(text.contains("\ncorewise_running_seconds_total{core_type=\"performance\",sibling=\"busy\"} "), "{text}");
    assert!(!text.contains("# EOF"));
    let open = server.get("/metrics", "Accept: application/openmetrics-text;version=1.0.0\r\n");
    assert!(open.contains("content-type: application/openmetrics-text; version=1.0.0") && open.ends_with("# EOF\n"));
    assert!(open.contains("# UNIT corewise_running_seconds seconds\n"), "{open}");
    let accept =
        "Accept: application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited\r\n";
    let protobuf = server.get("/metrics", accept);
    assert!(protobuf.contains("encoding=delimited\r\n") && protobuf.contains("corewise_running_seconds_total"));
    let now = server.get("/api/now", "");
    let now: serde_json::Value = serde_json::from_str(now.split_once("\r\n\r\n").unwrap().1).unwrap();
    assert_eq!(now["cpus"][0]["core_type"], "performance");
    assert_eq!(now["groups"][2]["kind"], "other");
    assert!(server.get("/-/healthy", "").ends_with("corewise watch is running\n"));
    assert!(server.get("/other", "").starts_with("HTTP/1.1 404"));
}

/// The sums are read each 10 s without a request, to check their identities, and for the refused requests, which are farther apart than a
/// reading is fresh, not at all.
#[test]
fn requests_of_other_names_and_origins_are_refused_and_change_nothing() {
    let begin = Instant::now();
    let server = Running::start("127.0.0.1:0", None, |_| {});
    for (request, status) in [
        ("GET /metrics HTTP/1.1\r\nHost: evil.example\r\n\r\n", "403"),
        ("GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\nOrigin: http://evil.example\r\n\r\n", "403"),
        ("GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\nHost: evil.example\r\n\r\n", "403"),
        ("GET /metrics HTTP/1.0\r\n\r\n", "403"),
        ("POST /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 9999999999\r\n\r\n", "405"),
        ("DELETE / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", "405"),
    ] {
        let answer = server.send(request.as_bytes());
        assert!(answer.starts_with("HTTP/1.") && answer[9..].starts_with(status), "{request}: {answer}");
        assert!(answer.contains("connection: close"), "{answer}");
        std::thread::sleep(Duration::from_millis(300));
    }
    let (read, own) = (server.readings.load(Ordering::Relaxed), 1 + begin.elapsed().as_secs() / 10);
    assert!(read <= own, "{read} readings, of which at most {own} without a request");
}

#[test]
fn with_a_token_data_need_it_and_the_rest_does_not() {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), "0123456789abcdef\n").unwrap();
    std::fs::set_permissions(file.path(), std::fs::Permissions::from_mode(0o600)).unwrap();
    let server = Running::start("0.0.0.0:0", Some(Token::read(file.path()).unwrap()), |_| {});
    for path in ["/metrics", "/api/now"] {
        for headers in
            ["", "Authorization: Bearer wrong\r\n", "Authorization: Bearer 0123456789abcdef\r\nAuthorization: x\r\n"]
        {
            let answer = server.get(path, headers);
            assert!(answer.starts_with("HTTP/1.1 401") && answer.contains("www-authenticate: Bearer"), "{answer}");
            assert!(!answer.contains("0123456789abcdef"));
        }
        // By any name: the token is what other pages lack.
        let request = format!(
            "GET {path} HTTP/1.1\r\nHost: box.example\r\nConnection: close\r\nAuthorization: Bearer 0123456789abcdef\r\n\r\n"
        );
        assert!(server.send(request.as_bytes()).starts_with("HTTP/1.1 200"));
    }
    assert!(server.get("/-/healthy", "").starts_with("HTTP/1.1 200"));
    assert!(!server.get("/", "").contains("cpus"));
}

#[test]
fn other_hosts_are_not_served_without_a_token_and_a_port_in_use_is_a_sentence() {
    let why = |listen: &str| {
        let options = Options { listen: listen.parse().unwrap(), token: None, top: 5 };
        Server::listen(options).map(|_| ()).unwrap_err().to_string()
    };
    for listen in ["0.0.0.0:0", "192.0.2.1:9464", "[::]:0"] {
        assert!(why(listen).contains("--token-file"), "{}", why(listen));
    }
    let server = Running::start("127.0.0.1:0", None, |_| {});
    let why = why(&server.at.to_string());
    assert!(why.starts_with("cannot listen on 127.0.0.1:") && why.contains("choose another port"), "{why}");
    assert_eq!(why.lines().count(), 1);
}

/// As many hang as there are places and more. Those that never receive their answers are closed after 30 s at the soonest, so an answer before
/// that is in a place that was taken from one of them. (That the oldest unknown connections go first, and before their time is over, is
/// decided by the tests of the crate web.)
#[test]
fn clients_that_hang_do_not_keep_others_out() {
    for finished in [false, true] {
        let server = Running::start("127.0.0.1:0", None, |_| {});
        let request = format!("GET /metrics HTTP/1.1\r\nHost: {}\r\n\r\n", server.at);
        let begin = Instant::now();
        let hanging: Vec<TcpStream> = (0..400)
            .map(|number| {
                let mut stream = TcpStream::connect(server.at).unwrap();
                let several = request.repeat(if number % 8 == 0 { 40 } else { 1 });
                stream.write_all(if finished { several.as_bytes() } else { &request.as_bytes()[..20] }).unwrap();
                stream
            })
            .collect();
        let answer = server.get("/metrics", "");
        let took = begin.elapsed();
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        assert!(took < Duration::from_secs(29), "{took:?}");
        drop(hanging);
    }
}

#[test]
fn ten_thousand_hostile_requests_leave_it_answering() {
    let server = Running::start("127.0.0.1:0", None, |_| {});
    let long = "x".repeat(600_000);
    let many = "X-A: b\r\n".repeat(5_000);
    let mut seed = 12345_u64;
    let mut random = move || {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        seed
    };
    for number in 0..10_000_u32 {
        let noise: Vec<u8> = (0..random() % 200).map(|_| random() as u8).collect();
        let request = match number % 12 {
            0 => noise,
            1 => [b"GET ".as_slice(), &noise, b" HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"].concat(),
            2 => b"GET /../../etc/passwd HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n".to_vec(),
            3 => b"GET /metrics HTTP/1.1\r\nHost: evil.example\r\n\r\n".to_vec(),
            4 => b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec(),
            5 => b"POST /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n"
                .to_vec(),
            6 => b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03".to_vec(),
            7 => b"GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: ;;q=,*/*;q=9e999\r\nConnection: close\r\n\r\n"
                .to_vec(),
            8 => b"GET http://evil.example/metrics HTTP/1.1\r\nHost: evil.example\r\n\r\n".to_vec(),
            9 => b"HEAD /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n".to_vec(),
            // Now and then, since each takes a while.
            10 if number % 240 == 10 => format!("GET /{long} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n").into_bytes(),
            11 if number % 240 == 11 => format!("GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n{many}\r\n").into_bytes(),
            _ => Vec::new(),
        };
        let mut stream = TcpStream::connect(server.at).unwrap();
        let _ = stream.write_all(&request);
        // Nothing more comes; without this, half a request would be waited for.
        let _ = stream.shutdown(std::net::Shutdown::Write);
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        let text = String::from_utf8_lossy(&answer);
        assert!(!text.contains("root:"), "a file was read: {text}");
        // Only the kinds that are valid requests may be accepted.
        assert!(!text.starts_with("HTTP/1.1 200") || matches!(number % 12, 7 | 9), "{number}: {text}");
    }
    let answer = server.get("/metrics", "");
    assert!(answer.starts_with("HTTP/1.1 200") && answer.contains("corewise_running_seconds_total"));
}
