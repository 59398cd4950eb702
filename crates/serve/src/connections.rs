//! Connections: a bounded number at once, each for a bounded time.
//!
//! Every user of the machine can connect to a loopback port. So nobody without the token keeps a place for long:
//!
//! ```text
//!   accepted ──▶ a whole request within REQUEST ──▶ with the token: known, kept while it asks again within IDLE
//!       │                                      └──▶ without: refused and closed
//!       └── all places taken: the oldest that is not known goes, once it had GRACE to send its request
//! ```

use axum::extract::connect_info::Connected;
use axum::serve::{IncomingStream, Listener};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::future::Future;
use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, oneshot};
use tokio::time::{Instant, Sleep, sleep_until};

/// At once; a browser opens six. Who finds no place waits in the system's queue behind others that do, so there are as many as a user
/// may usually open files.
const MOST: u64 = 1024;
/// Files that are open beside them.
const OTHER_FILES: u64 = 256;
/// Where the system lets this process open few files.
const LEAST: u64 = 64;
/// For a whole request, from the connection or the first byte of it.
const REQUEST: Duration = Duration::from_secs(10);
/// From an answer to the next request, and for the other side to take more of an answer.
const IDLE: Duration = Duration::from_secs(60);
/// Before it is dropped for others. A browser on this machine sends its request at once; and in this time not so many places are
/// given away that who waits in the system's queue waits for long.
const GRACE: Duration = Duration::from_millis(50);

/// Hands out connections while there are places.
pub(crate) struct Connections {
    listener: TcpListener,
    places: Arc<Places>,
}

/// Who is connected, the oldest first.
struct Places {
    most: usize,
    taken: Mutex<Vec<Taken>>,
    freed: Notify,
}

struct Taken {
    since: Instant,
    caller: Caller,
    /// When it is dropped, the connection ends.
    _end: oneshot::Sender<()>,
}

/// What requests tell of the connection that they came by.
#[derive(Clone, Default)]
pub(crate) struct Caller(Arc<State>);

#[derive(Default)]
struct State {
    known: AtomicBool,
    answering: AtomicBool,
}

impl Caller {
    /// It has shown the token.
    pub(crate) fn has_token(&self) {
        self.0.known.store(true, Ordering::Relaxed);
    }

    /// Whether it has.
    pub(crate) fn is_known(&self) -> bool {
        self.0.known.load(Ordering::Relaxed)
    }

    /// A request of it is being answered, until what this gives is dropped: as long as that takes, it has not to send anything.
    pub(crate) fn answering(&self) -> Answering {
        self.0.answering.store(true, Ordering::Relaxed);
        Answering(self.clone())
    }
}

/// A request that is being answered.
pub(crate) struct Answering(Caller);

impl Drop for Answering {
    fn drop(&mut self) {
        self.0.0.answering.store(false, Ordering::Relaxed);
    }
}

impl Connected<IncomingStream<'_, Connections>> for Caller {
    fn connect_info(stream: IncomingStream<'_, Connections>) -> Self {
        stream.io().caller.clone()
    }
}

impl Places {
    fn taken(&self) -> MutexGuard<'_, Vec<Taken>> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until there is a place; drops the oldest that is not known where there is none.
    async fn wait(&self) {
        loop {
            let freed = self.freed.notified();
            let may_go_at = {
                let mut taken = self.taken();
                if taken.len() < self.most {
                    return;
                }
                let oldest = taken.iter().position(|one| !one.caller.is_known());
                match oldest.and_then(|at| Some((at, taken.get(at)?.since + GRACE))) {
                    Some((at, may_go)) if may_go <= Instant::now() => {
                        taken.remove(at);
                        return;
                    }
                    oldest => oldest.map(|(_, may_go)| may_go),
                }
            };
            match may_go_at {
                Some(may_go) => drop(tokio::time::timeout_at(may_go, freed).await),
                None => freed.await,
            }
        }
    }

    fn free(&self, caller: &Caller) {
        self.taken().retain(|one| !Arc::ptr_eq(&one.caller.0, &caller.0));
        self.freed.notify_one();
    }
}

impl Connections {
    pub(crate) fn new(listener: TcpListener) -> Self {
        let places = Places { most: most() as usize, taken: Mutex::default(), freed: Notify::new() };
        Self { listener, places: Arc::new(places) }
    }
}

/// As many as there may be files open for, of which the system lets a process have more than it begins with.
fn most() -> u64 {
    let wanted = MOST + OTHER_FILES;
    let limit = getrlimit(Resource::Nofile);
    let mut files = limit.current.unwrap_or(u64::MAX);
    if files < wanted {
        let more = limit.maximum.unwrap_or(u64::MAX).min(wanted);
        if setrlimit(Resource::Nofile, Rlimit { current: Some(more), ..limit }).is_ok() {
            files = more;
        }
    }
    files.saturating_sub(OTHER_FILES).clamp(LEAST, MOST)
}

impl Listener for Connections {
    type Io = Connection;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Connection, SocketAddr) {
        let (stream, from) = Listener::accept(&mut self.listener).await;
        self.places.wait().await;
        // Who has sent its request is heard before the next one takes a place.
        tokio::task::yield_now().await;
        // Answers are written whole: nothing is gained by waiting for more.
        let _ = stream.set_nodelay(true);
        let (end, ended) = oneshot::channel();
        let (since, caller) = (Instant::now(), Caller::default());
        self.places.taken().push(Taken { since, caller: caller.clone(), _end: end });
        let until = Box::pin(sleep_until(since + REQUEST));
        let places = Arc::clone(&self.places);
        (Connection { stream, ended: Some(ended), until, phase: Phase::Request, caller, places }, from)
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

/// A connection; its place is free again when it is dropped.
pub(crate) struct Connection {
    stream: TcpStream,
    /// None any more once it was seen to end: it may not be asked again.
    ended: Option<oneshot::Receiver<()>>,
    until: Pin<Box<Sleep>>,
    phase: Phase,
    caller: Caller,
    places: Arc<Places>,
}

/// What is waited for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// The rest of a request; a connection begins with it.
    Request,
    /// The other side takes an answer, or asks again.
    Answer,
}

impl Connection {
    fn begin(&mut self, phase: Phase, limit: Duration) {
        self.phase = phase;
        self.until.as_mut().reset(Instant::now() + limit);
    }

    /// Ends it when its time is over or its place was given away.
    fn limit<T>(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<T>> {
        if self.ended.as_mut().is_none_or(|ended| Pin::new(ended).poll(cx).is_ready()) {
            self.ended = None;
            return Poll::Ready(Err(ErrorKind::ConnectionAborted.into()));
        }
        if self.until.as_mut().poll(cx).is_pending() {
            return Poll::Pending;
        }
        Poll::Ready(Err(ErrorKind::TimedOut.into()))
    }

    /// The same of a write: as long as some is taken from time to time it may go on.
    fn written<T>(&mut self, cx: &mut Context<'_>, written: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        match written {
            Poll::Pending if self.phase == Phase::Answer => self.limit(cx),
            written => {
                self.begin(Phase::Answer, IDLE);
                if written.is_pending() { self.limit(cx) } else { written }
            }
        }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.places.free(&self.caller);
    }
}

impl AsyncRead for Connection {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        if let Poll::Ready(read) = Pin::new(&mut self.stream).poll_read(cx, buf) {
            if buf.filled().len() > before && self.phase == Phase::Answer {
                self.begin(Phase::Request, REQUEST);
            }
            return Poll::Ready(read);
        }
        // What is being answered takes its time; then it is written.
        if self.caller.0.answering.load(Ordering::Relaxed) {
            return Poll::Pending;
        }
        ready!(self.limit(cx))?;
        Poll::Pending
    }
}

impl AsyncWrite for Connection {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(cx, buf);
        self.written(cx, written)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
