//! Connections: limited in number and in time.
//!
//! Every user of the machine can connect to a loopback port, so connections whose requests were not accepted are closed soon:
//!
//! ```text
//!   accepted ──▶ a complete request within `request` ──▶ accepted: known, kept while it sends requests within `idle`
//!       │                                           └──▶ refused and closed
//!       └── all places taken: the oldest unknown connection is closed, after `grace` for its request; if there is none, the oldest
//!           guest, so that guests cannot keep the owner or each other out
//! ```

use axum::extract::connect_info::Connected;
use axum::serve::{IncomingStream, Listener};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::future::Future;
use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, oneshot};
use tokio::time::{Instant, Sleep, sleep_until};

/// The number of other open files.
const OTHER_FILES: u64 = 256;
/// The number of connections if the system allows few open files.
const MIN_CONNECTIONS: u64 = 16;

/// How soon it is checked again which connection may be closed, while all places are taken.
const RECHECK: Duration = Duration::from_millis(1);

/// The limits of connections.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The maximum number of connections; fewer if the system allows few open files. Further connections wait in the system's queue.
    pub connections: u64,
    /// The time for a complete request, from the connection or its first byte.
    pub request: Duration,
    /// The time from an answer to the next request, and for the client to receive more of an answer.
    pub idle: Duration,
    /// The time before an unknown connection or a guest's may be closed for another. A client on this machine sends its request
    /// immediately; a longer time would let connections wait in the system's queue for too long.
    pub grace: Duration,
}

/// Accepts connections while there are places.
pub struct Connections {
    listener: TcpListener,
    limits: Limits,
    places: Arc<Places>,
}

/// The open connections, the oldest first.
struct Places {
    max: usize,
    grace: Duration,
    taken: Mutex<Vec<Taken>>,
    freed: Notify,
}

struct Taken {
    since: Instant,
    caller: Caller,
    /// Ends the connection when dropped.
    _end: oneshot::Sender<()>,
}

/// The state of a connection, as set by its requests.
#[derive(Clone, Debug, Default)]
pub struct Caller(Arc<State>);

#[derive(Debug, Default)]
struct State {
    /// A [`Standing`].
    from: AtomicU8,
    answering: AtomicBool,
}

/// Which connection is closed first when all places are taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Standing {
    /// The last request was refused, or there was none yet: closed first.
    Unknown,
    /// The last request was accepted, but others come first.
    Guest,
    /// The last request was the owner's: never closed for another.
    Owner,
}

impl Caller {
    /// Records the standing of the last request.
    pub fn set(&self, standing: Standing) {
        self.0.from.store(standing as u8, Ordering::Relaxed);
    }

    /// Returns whether the last request was accepted.
    #[must_use]
    pub fn is_known(&self) -> bool {
        !self.is(Standing::Unknown)
    }

    fn is(&self, standing: Standing) -> bool {
        self.0.from.load(Ordering::Relaxed) == standing as u8
    }

    /// Marks a request as being answered until the returned guard is dropped; meanwhile the connection does not time out.
    #[must_use]
    pub fn answering(&self) -> Answering {
        self.0.answering.store(true, Ordering::Relaxed);
        Answering(self.clone())
    }
}

/// A guard for a request that is being answered.
pub struct Answering(Caller);

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

    /// Waits for a free place; if there is none, closes the oldest unknown connection, or else the oldest guest's.
    async fn wait(&self) {
        loop {
            let freed = self.freed.notified();
            let may_go_at = {
                let mut taken = self.taken();
                if taken.len() < self.max {
                    return;
                }
                let oldest_of = |from| taken.iter().position(|one| one.caller.is(from));
                let oldest = oldest_of(Standing::Unknown).or_else(|| oldest_of(Standing::Guest));
                match oldest.and_then(|at| Some((at, taken.get(at)?.since + self.grace))) {
                    Some((at, may_go)) if may_go <= Instant::now() => {
                        taken.remove(at);
                        return;
                    }
                    oldest => oldest.map(|(_, may_go)| may_go),
                }
            };
            match may_go_at {
                // A connection that was unknown may be a guest's by now, whose oldest may go before.
                Some(may_go) => drop(tokio::time::timeout_at(may_go.min(Instant::now() + RECHECK), freed).await),
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
    /// Accepts connections of a listener, within limits.
    #[must_use]
    pub fn new(listener: TcpListener, limits: Limits) -> Self {
        let max = max_connections(limits.connections) as usize;
        let places = Places { max, grace: limits.grace, taken: Mutex::default(), freed: Notify::new() };
        Self { listener, limits, places: Arc::new(places) }
    }
}

/// Returns the maximum number of connections, after raising the limit of open files if possible.
fn max_connections(of: u64) -> u64 {
    let wanted = of + OTHER_FILES;
    let limit = getrlimit(Resource::Nofile);
    let mut files = limit.current.unwrap_or(u64::MAX);
    if files < wanted {
        let more = limit.maximum.unwrap_or(u64::MAX).min(wanted);
        if setrlimit(Resource::Nofile, Rlimit { current: Some(more), ..limit }).is_ok() {
            files = more;
        }
    }
    files.saturating_sub(OTHER_FILES).clamp(MIN_CONNECTIONS.min(of), of)
}

impl Listener for Connections {
    type Io = Connection;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Connection, SocketAddr) {
        let (stream, from) = Listener::accept(&mut self.listener).await;
        self.places.wait().await;
        // Handle requests that have arrived before another connection takes a place.
        tokio::task::yield_now().await;
        // Answers are written at once, so delaying packets gains nothing.
        let _ = stream.set_nodelay(true);
        let (end, ended) = oneshot::channel();
        let (since, caller) = (Instant::now(), Caller::default());
        self.places.taken().push(Taken { since, caller: caller.clone(), _end: end });
        let until = Box::pin(sleep_until(since + self.limits.request));
        let places = Arc::clone(&self.places);
        (
            Connection {
                stream,
                ended: Some(ended),
                until,
                phase: Phase::Request,
                limits: self.limits,
                caller,
                places,
            },
            from,
        )
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

/// A connection; dropping it frees its place.
pub struct Connection {
    stream: TcpStream,
    /// `None` after it has completed, since it must not be polled again.
    ended: Option<oneshot::Receiver<()>>,
    until: Pin<Box<Sleep>>,
    phase: Phase,
    limits: Limits,
    caller: Caller,
    places: Arc<Places>,
}

/// What a connection is waiting for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// The rest of a request; the initial phase.
    Request,
    /// The client to receive an answer, or to send the next request.
    Answer,
}

impl Connection {
    fn begin(&mut self, phase: Phase, limit: Duration) {
        self.phase = phase;
        self.until.as_mut().reset(Instant::now() + limit);
    }

    /// Ends the connection when its time is over or its place was given to another.
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

    /// Like [`Self::limit`] for a write: it may continue as long as the client receives data from time to time.
    fn written<T>(&mut self, cx: &mut Context<'_>, written: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        match written {
            Poll::Pending if self.phase == Phase::Answer => self.limit(cx),
            written => {
                self.begin(Phase::Answer, self.limits.idle);
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
                let request = self.limits.request;
                self.begin(Phase::Request, request);
            }
            return Poll::Ready(read);
        }
        // While a request is being answered, there is no time limit.
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

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Duration = Duration::from_secs(3600);

    /// All places are taken by these, the oldest first: their standing, and whether their time of grace is over.
    fn full(by: &[(Standing, bool)]) -> (Places, Vec<Caller>) {
        let now = Instant::now();
        let (mut taken, mut callers) = (Vec::new(), Vec::new());
        for (standing, over) in by {
            let caller = Caller::default();
            caller.set(*standing);
            let since = if *over { now.checked_sub(LONG).unwrap_or(now) } else { now + LONG };
            taken.push(Taken { since, caller: caller.clone(), _end: oneshot::channel().0 });
            callers.push(caller);
        }
        let grace = Duration::from_millis(50);
        (Places { max: by.len(), grace, taken: Mutex::new(taken), freed: Notify::new() }, callers)
    }

    /// Which connection is closed for another one without a wait, if one is.
    fn closed(by: &[(Standing, bool)]) -> Option<usize> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let (places, callers) = full(by);
        let waited = runtime.block_on(async {
            let mut wait = Box::pin(places.wait());
            std::future::poll_fn(|cx| Poll::Ready(wait.as_mut().poll(cx).is_ready())).await
        });
        let taken = places.taken();
        let is_left = |of: &Caller| taken.iter().any(|one| Arc::ptr_eq(&one.caller.0, &of.0));
        let gone: Vec<usize> = (0..callers.len()).filter(|at| !is_left(&callers[*at])).collect();
        assert_eq!((waited, gone.len() <= 1), (!gone.is_empty(), true), "{by:?}: {gone:?}");
        gone.first().copied()
    }

    #[test]
    fn the_oldest_unknown_connection_is_closed_first_then_the_oldest_guest_and_never_the_owner() {
        use Standing::{Guest, Owner, Unknown};
        assert_eq!(closed(&[(Unknown, true), (Unknown, true)]), Some(0));
        assert_eq!(closed(&[(Guest, true), (Owner, true), (Unknown, true), (Unknown, true)]), Some(2));
        assert_eq!(closed(&[(Owner, true), (Guest, true), (Guest, true)]), Some(1));
        assert_eq!(closed(&[(Owner, true), (Owner, true)]), None);
    }

    #[test]
    fn a_connection_is_not_closed_for_another_before_its_grace_is_over() {
        use Standing::{Guest, Owner, Unknown};
        assert_eq!(closed(&[(Unknown, false), (Owner, true)]), None);
        // The unknown one is the next to go, although the time of a guest is over.
        assert_eq!(closed(&[(Guest, true), (Unknown, false)]), None);
    }

    #[test]
    fn a_free_place_is_taken_without_a_wait() {
        let (places, callers) = full(&[(Standing::Owner, true), (Standing::Owner, true)]);
        places.free(&callers[0]);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(places.wait());
        assert_eq!(places.taken().len(), 1);
    }
}
