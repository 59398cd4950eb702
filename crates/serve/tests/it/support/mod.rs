//! A server for a drawn trace, and a client that can send anything.

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use engine::{PassOptions, Session, Target};
use serve::{ChangesSender, Options, Server, Tracks};
use std::io::{BufRead, Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A folder that contains a trace.
pub struct Trace {
    pub dir: tempfile::TempDir,
}

impl Trace {
    /// Imports a trace drawn as text (see `testkit::drawing`), by way of perf script output.
    pub fn drawn(text: &str) -> Self {
        Self::printed(&testkit::perf_script::render(&testkit::trace(text).batch))
    }

    /// Imports perf script output.
    pub fn printed(text: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("drawn.txt");
        std::fs::write(&file, text).unwrap();
        let source = engine::open_source(&file).unwrap();
        let folder = dir.path().join("drawn.cw");
        engine::import(source.as_ref(), Target::New(&folder), &PassOptions::default(), &mut |_| ()).unwrap();
        Self { dir }
    }

    pub fn path(&self) -> PathBuf {
        self.dir.path().join("drawn.cw")
    }

    pub fn session(&self) -> Session {
        session(&self.path())
    }

    /// Starts a server, which ends with the test.
    pub fn served(&self) -> Client {
        let serve::Trace { session, tracks, levels } = self.prepared();
        client(Server::bind(session, tracks, levels, &ANYWHERE).unwrap())
    }

    /// Starts a server with a shared address that ends after a time; returns also its token.
    pub fn served_shared(&self, share: Duration) -> (Client, String) {
        let serve::Trace { session, tracks, levels } = self.prepared();
        let server = Server::bind(session, tracks, levels, &Options { share: Some(share), ..ANYWHERE }).unwrap();
        let token = server.shared_address().unwrap().split_once("token=").unwrap().1.to_owned();
        (client(server), token)
    }

    /// Starts a server with a changed session.
    pub fn served_as(&self, change: impl FnOnce(Session) -> Session) -> Client {
        let serve::Trace { session, tracks, levels } = self.prepared();
        client(Server::bind(change(session), tracks, levels, &ANYWHERE).unwrap())
    }

    /// Starts a server for this trace and another one, and takes what changed between them.
    pub fn served_with(&self, other: &Self) -> (Client, ChangesSender) {
        let (to, from) = serve::changes();
        (client(Server::bind_two(self.prepared(), other.prepared(), from, &ANYWHERE).unwrap()), to)
    }

    pub fn prepared(&self) -> serve::Trace {
        Self::prepared_of(self.session())
    }

    pub fn redacted(&self, what: engine::Redact) -> serve::Trace {
        let mut session = self.session();
        session.redact(what);
        Self::prepared_of(session)
    }

    fn prepared_of(session: Session) -> serve::Trace {
        let tracks = Tracks::of(&session).unwrap();
        let levels = serve::prepare(&session, &tracks, &mut |_| ()).unwrap();
        serve::Trace { session, tracks, levels }
    }
}

pub const ANYWHERE: Options = Options { listen: IpAddr::V4(Ipv4Addr::LOCALHOST), port: 0, idle: None, share: None };

pub fn client(server: Server) -> Client {
    let (at, address) = (server.at(), server.address());
    std::thread::spawn(move || server.run());
    let token = address.split_once("token=").unwrap().1.to_owned();
    Client { at, token }
}

pub fn session(path: &Path) -> Session {
    Session::open(path, PassOptions::default()).unwrap()
}

/// A client of a server.
pub struct Client {
    pub at: SocketAddr,
    pub token: String,
}

/// An answer of the server.
#[derive(Debug)]
pub struct Answer {
    pub code: u16,
    pub head: String,
    pub body: Vec<u8>,
}

impl Answer {
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        let lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines.into_iter().find(|(n, _)| n.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }
}

impl Client {
    pub fn cookie(&self) -> String {
        format!("Cookie: corewise_{}={}", self.at.port(), self.token)
    }

    pub fn host(&self) -> String {
        format!("Host: {}", self.at)
    }

    /// Sends a request like the viewer's page.
    pub fn get(&self, path: &str) -> Answer {
        self.ask(&format!("GET {path}"), &[&self.host(), &self.cookie()])
    }

    /// Sends a request with only these headers.
    pub fn ask(&self, line: &str, headers: &[&str]) -> Answer {
        self.send(format!("{line} HTTP/1.1\r\n{}\r\nConnection: close\r\n\r\n", headers.join("\r\n")).as_bytes())
    }

    /// Sends any bytes.
    pub fn send(&self, bytes: &[u8]) -> Answer {
        let mut stream = TcpStream::connect(self.at).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        // The server may answer and close before it has read everything.
        let _ = stream.write_all(bytes);
        let mut all = Vec::new();
        let _ = stream.read_to_end(&mut all);
        let end = all.windows(4).position(|w| w == b"\r\n\r\n").map_or(all.len(), |at| at + 4);
        let head = String::from_utf8_lossy(&all[..end]).into_owned();
        let code = head.split(' ').nth(1).and_then(|code| code.parse().ok()).unwrap_or(0);
        Answer { code, head, body: all.split_off(end) }
    }
}

/// Reads one answer of a connection that stays open: its head and its body.
pub fn one_answer(from: &mut impl BufRead) -> String {
    let (mut answer, mut length) = (String::new(), 0);
    while !answer.ends_with("\r\n\r\n") {
        let before = answer.len();
        assert!(from.read_line(&mut answer).unwrap() > 0, "the connection ended: {answer}");
        let line = answer[before..].to_ascii_lowercase();
        if let Some(bytes) = line.strip_prefix("content-length: ") {
            length = bytes.trim().parse().unwrap();
        }
    }
    let mut body = vec![0; length];
    from.read_exact(&mut body).unwrap();
    answer + &String::from_utf8_lossy(&body)
}

/// Raises the limit of open files, for both ends of a few thousand connections of each test.
pub fn many_files() {
    // SAFETY: a valid limit is read, changed and written.
    unsafe {
        let mut limit: libc::rlimit = std::mem::zeroed();
        assert_eq!(libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit), 0);
        limit.rlim_cur = limit.rlim_max.min(1 << 16);
        assert_eq!(libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit), 0);
    }
}

/// Requests rows.
pub fn arrow(client: &Client, path: &str) -> RecordBatch {
    let answer = client.get(path);
    assert_eq!(answer.code, 200, "{path}: {}", answer.text());
    assert_eq!(answer.header("content-type"), Some("application/vnd.apache.arrow.stream"));
    let body = answer.body;
    let mut reader = arrow_ipc::reader::StreamReader::try_new(&body[..], None).unwrap();
    reader.next().unwrap().unwrap()
}

/// Returns a column of integers.
pub fn longs(batch: &RecordBatch, name: &str) -> Vec<i64> {
    batch.column_by_name(name).unwrap().as_primitive::<Int64Type>().values().to_vec()
}

/// Returns a column of texts.
pub fn texts(batch: &RecordBatch, name: &str) -> Vec<Option<String>> {
    batch.column_by_name(name).unwrap().as_string::<i32>().iter().map(|t| t.map(str::to_owned)).collect()
}
