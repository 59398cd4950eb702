//! What a server sends, and what is done with it.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use stores::{DebugFile, Debuginfod};

/// Answers each request by its path, with what `answer` writes.
fn server(answer: impl Fn(&str, &mut TcpStream) + Send + 'static) -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let requests = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&requests);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            counted.fetch_add(1, Ordering::Relaxed);
            let mut lines = BufReader::new(stream.try_clone().unwrap()).lines().map_while(Result::ok);
            let first = lines.next().unwrap_or_default();
            lines.find(String::is_empty);
            answer(first.split(' ').nth(1).unwrap_or_default(), &mut stream);
        }
    });
    (url, requests)
}

fn send(to: &mut TcpStream, status: &str, body: &[u8]) {
    let head = format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", body.len());
    let _ = to.write_all(head.as_bytes()).and_then(|()| to.write_all(body));
}

/// Whether a file is the right one, for these tests.
fn is_it(path: &Path) -> bool {
    std::fs::read(path).is_ok_and(|bytes| bytes.starts_with(b"right"))
}

const ID: &str = "ab0102030405";

#[test]
fn a_file_is_fetched_once_and_kept() {
    let (url, requests) = server(|path, to| match path {
        "/buildid/ab0102030405/debuginfo" => send(to, "200 OK", b"right, and more"),
        _ => send(to, "404 Not Found", b""),
    });
    let folder = tempfile::tempdir().unwrap();
    let mut servers = Debuginfod::new(&[url], folder.path(), 1 << 20, 1 << 20).unwrap();
    let mut bytes = 0;
    for _ in 0..2 {
        let found = servers.fetch(ID, DebugFile::DebugInfo, &is_it, &mut |so_far| bytes = so_far).unwrap().unwrap();
        assert_eq!(found, folder.path().join(ID).join("debuginfo"));
    }
    assert_eq!((bytes, requests.load(Ordering::Relaxed)), (15, 1));
    assert_eq!(servers.fetch(ID, DebugFile::Executable, &is_it, &mut |_| ()), Ok(None));
    assert_eq!(servers.fetch("../../etc", DebugFile::DebugInfo, &is_it, &mut |_| ()), Ok(None), "no build id");
    assert!(!servers.is_down());
}

#[test]
fn files_that_are_wrong_or_too_large_are_refused() {
    let (wrong, _) = server(|_, to| send(to, "200 OK", b"another file"));
    // The length is not said, and there is no end.
    let (endless, _) = server(|_, to| {
        let _ = to.write_all(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n");
        while to.write_all(&[7; 4096]).is_ok() {}
    });
    let (huge, _) = server(|_, to| {
        let _ = to.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 90000000000\r\n\r\n");
    });
    let (cut, _) = server(|_, to| {
        let _ = to.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nright");
    });
    let (failing, _) = server(|_, to| send(to, "500 Internal Server Error", b"right"));
    let folder = tempfile::tempdir().unwrap();
    for (url, says) in [
        (wrong, "is not of this build id"),
        (endless, "--max-download"),
        (huge, "--max-download"),
        (cut, "error"),
        (failing, "the server answers 500"),
    ] {
        let mut servers = Debuginfod::new(&[url], folder.path(), 1 << 20, 1 << 20).unwrap();
        let why = servers.fetch(ID, DebugFile::DebugInfo, &is_it, &mut |_| ()).unwrap_err();
        assert!(why.len() == 1 && why[0].contains(says), "{why:?}");
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "nothing is left");
}

#[test]
fn a_server_that_cannot_be_reached_is_not_asked_again_and_the_next_one_is() {
    let (url, requests) = server(|_, to| send(to, "200 OK", b"right"));
    // Nothing listens there any more.
    let closed = format!("http://{}", TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap());
    let folder = tempfile::tempdir().unwrap();
    let mut servers = Debuginfod::new(&[closed.clone(), url], folder.path(), 1 << 20, 1 << 20).unwrap();
    assert!(servers.fetch(ID, DebugFile::DebugInfo, &is_it, &mut |_| ()).unwrap().is_some());
    assert_eq!((servers.is_down(), requests.load(Ordering::Relaxed)), (false, 1));
    let mut alone = Debuginfod::new(&[closed], &folder.path().join("other"), 1 << 20, 1 << 20).unwrap();
    let why = alone.fetch(ID, DebugFile::DebugInfo, &is_it, &mut |_| ()).unwrap_err();
    assert!(why[0].contains("is this machine online?"), "{why:?}");
    assert!(alone.is_down());
    assert_eq!(alone.fetch(ID, DebugFile::DebugInfo, &is_it, &mut |_| ()), Ok(None), "it is not asked again");
    for url in ["ftp://a", "no url"] {
        assert!(Debuginfod::new(&[url.to_owned()], folder.path(), 1, 1).unwrap_err().contains("DEBUGINFOD_URLS"));
    }
}

#[test]
fn a_server_that_fails_once_gets_more_requests() {
    let (url, requests) = server(|_, to| send(to, "503 Service Unavailable", b""));
    let folder = tempfile::tempdir().unwrap();
    let mut servers = Debuginfod::new(&[url], folder.path(), 1 << 20, 1 << 20).unwrap();
    for _ in 0..3 {
        assert!(!servers.is_down());
        assert!(servers.fetch(ID, DebugFile::DebugInfo, &is_it, &mut |_| ()).is_err());
    }
    assert!(servers.is_down());
    assert_eq!(servers.fetch(ID, DebugFile::DebugInfo, &is_it, &mut |_| ()), Ok(None));
    assert_eq!(requests.load(Ordering::Relaxed), 3);
}
