//! A server of drawn snapshots, and requests to it.

use exporter::{ExporterError, Options, Server, Source, Token};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use watch::Snapshot;
use watch::testing::drawn;

/// Drawn snapshots that grow with time: one factor each 10 s of a clock that runs `speed` times as fast.
pub struct Growing {
    pub began: Instant,
    pub change: fn(&mut Snapshot),
    pub readings: Arc<AtomicU64>,
}

impl Source for Growing {
    fn read(&mut self) -> Result<Snapshot, String> {
        self.readings.fetch_add(1, Ordering::Relaxed);
        let mut snapshot = drawn(1 + self.began.elapsed().as_millis() as u64 / 100);
        (self.change)(&mut snapshot);
        Ok(snapshot)
    }
}

/// A server that runs until it is dropped.
pub struct Running {
    pub at: SocketAddr,
    pub readings: Arc<AtomicU64>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<Result<(), ExporterError>>>,
}

impl Running {
    pub fn start(listen: &str, token: Option<Token>, change: fn(&mut Snapshot)) -> Self {
        let server = Server::listen(Options { listen: listen.parse().unwrap(), token, top: 20 }).unwrap();
        let (at, stop, readings) = (server.at(), Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let (stopped, counted) = (Arc::clone(&stop), Arc::clone(&readings));
        let thread = std::thread::spawn(move || {
            let mut source = Growing { began: Instant::now(), change, readings: counted };
            server.run(&mut source, &|| stopped.load(Ordering::Relaxed))
        });
        Self { at, readings, stop, thread: Some(thread) }
    }

    /// The whole answer to the bytes of a request; empty if the connection was closed without one.
    pub fn send(&self, request: &[u8]) -> String {
        let mut stream = TcpStream::connect(self.at).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        // It may be closed before everything was sent.
        let _ = stream.write_all(request);
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        String::from_utf8_lossy(&answer).into_owned()
    }

    /// The answer to a GET, with more headers.
    pub fn get(&self, path: &str, headers: &str) -> String {
        let host = format!("GET {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n{headers}\r\n", self.at);
        self.send(host.as_bytes())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        let ended = self.thread.take().unwrap().join().unwrap();
        assert!(ended.is_ok(), "{ended:?}");
    }
}
