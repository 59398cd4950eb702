//! The server: checks requests, passes them to the thread that reads the sums, and answers.
//!
//! ```text
//!   connections (web) ──▶ runtime: one thread ──▶ a bounded queue ──▶ the thread that called run: Readings ──▶ the answer
//! ```
//!
//! The sums are read by one thread only, which may also be the only one that has the rights to.

use crate::accept::Format;
use crate::readings::{Readings, Source, Wanted};
use crate::{ExporterError, Token};
use axum::Router;
use axum::extract::{ConnectInfo, Request, State};
use axum::http::header::{AUTHORIZATION, CONNECTION, CONTENT_TYPE, HeaderMap, HeaderValue, WWW_AUTHENTICATE};
use axum::http::{Method, StatusCode};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use bytes::Bytes;
use std::net::SocketAddr;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tokio::sync::oneshot;
use web::{Caller, Connections, HEADERS, Limits, Standing};

/// A scraper and some browsers need few connections. An answer is shared, so a connection that receives slowly costs little memory; one
/// whose client receives nothing is closed after `idle`.
const LIMITS: Limits = Limits {
    connections: 256,
    request: Duration::from_secs(5),
    idle: Duration::from_secs(30),
    grace: Duration::from_millis(50),
};

/// The sums are read at least this often, so that their identities are checked without requests too.
const CHECKED: Duration = Duration::from_secs(10);
/// The time between two checks whether to stop.
const TICK: Duration = Duration::from_millis(200);

/// Options of the server.
#[derive(Clone, Debug)]
pub struct Options {
    /// The address to listen on; port 0 for any free one.
    pub listen: SocketAddr,
    /// The token that requests for data need; required if other hosts can connect.
    pub token: Option<Token>,
    /// The most groups that have series of their own.
    pub top: usize,
}

/// A server that is listening; it answers once [`Self::run`] is called.
pub struct Server {
    runtime: Runtime,
    listener: TcpListener,
    at: SocketAddr,
    options: Options,
}

/// A request that waits for the thread that reads.
struct Question {
    wanted: Wanted,
    answer: oneshot::Sender<Result<Bytes, String>>,
}

#[derive(Clone)]
struct App {
    token: Option<Token>,
    questions: SyncSender<Question>,
}

impl Server {
    /// Starts listening.
    ///
    /// # Errors
    /// Other hosts could connect and there is no token, the address is in use or not of this machine, or the system has no threads.
    pub fn listen(options: Options) -> Result<Self, ExporterError> {
        let at = options.listen;
        if !at.ip().is_loopback() && options.token.is_none() {
            return Err(ExporterError::NeedsToken(at));
        }
        let failed = |e: std::io::Error| ExporterError::Serve(e.to_string());
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = runtime.enable_all().max_blocking_threads(1).build().map_err(failed)?;
        let listener = runtime.block_on(async { web::listen(at) });
        let listener = listener.map_err(|why| ExporterError::Listen { at, why })?;
        let at = listener.local_addr().map_err(failed)?;
        Ok(Self { runtime, listener, at, options })
    }

    /// The address on which the server listens.
    #[must_use]
    pub fn at(&self) -> SocketAddr {
        self.at
    }

    /// Answers requests until `stop` returns true. This thread reads the sums; another one has the connections.
    ///
    /// # Errors
    /// The system does not allow it.
    pub fn run(self, source: &mut dyn Source, stop: &dyn Fn() -> bool) -> Result<(), ExporterError> {
        let Self { runtime, listener, options, .. } = self;
        let (questions, received) = sync_channel(LIMITS.connections as usize);
        let (end, ended) = oneshot::channel::<()>();
        let app = App { token: options.token, questions };
        std::thread::scope(|scope| {
            let serving = std::thread::Builder::new().name("connections".to_owned()).spawn_scoped(scope, move || {
                runtime.block_on(async move {
                    let routes = routes(app).into_make_service_with_connect_info::<Caller>();
                    let served = axum::serve(Connections::new(listener, LIMITS), routes);
                    tokio::select! {
                        served = served => served.map_err(|e| e.to_string()),
                        _ = ended => Ok(()),
                    }
                })
            });
            let serving = serving.map_err(|e| ExporterError::Serve(e.to_string()))?;
            read(Readings::new(source, options.top), &received, stop);
            drop(end);
            let served = serving.join().unwrap_or_else(|_| Err("the thread of connections failed".to_owned()));
            served.map_err(ExporterError::Serve)
        })
    }
}

/// Answers questions until there are none or `stop` says so.
fn read(mut readings: Readings<'_>, received: &Receiver<Question>, stop: &dyn Fn() -> bool) {
    while !stop() {
        match received.recv_timeout(TICK) {
            // The client has gone.
            Ok(question) if question.answer.is_closed() => {}
            Ok(Question { wanted, answer }) => drop(answer.send(readings.answer(wanted))),
            // A failed reading is reported to the next request.
            Err(RecvTimeoutError::Timeout) => drop(readings.refresh(CHECKED)),
            Err(RecvTimeoutError::Disconnected) => return,
        }
    }
}

fn routes(app: App) -> Router {
    Router::new()
        .route("/metrics", get(metrics))
        .route("/api/now", get(now))
        .route("/-/healthy", get(|| async { "corewise watch is running\n" }))
        .fallback(page)
        .with_state(app.clone())
        .layer(from_fn_with_state(app, guarded))
}

/// Checks a request and adds the headers to every answer. The connection of a refused request is closed.
async fn guarded(
    State(app): State<App>,
    ConnectInfo(caller): ConnectInfo<Caller>,
    request: Request,
    next: Next,
) -> Response {
    let checked = check(&app, &request);
    caller.set(*checked.as_ref().unwrap_or(&Standing::Unknown));
    let is_refused = checked.is_err();
    let mut response = match checked {
        Ok(_) => {
            let _answering = caller.answering();
            next.run(request).await
        }
        Err(refused) => refused,
    };
    if is_refused {
        response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    }
    response.headers_mut().extend(HEADERS);
    response
}

/// Without a token, requests must name this machine, so that no page of another origin reads the sums through a browser. With one, data
/// need the token, which no other page has; the page itself has no data, and asks for the token.
#[allow(clippy::result_large_err)] // made once per request
fn check(app: &App, request: &Request) -> Result<Standing, Response> {
    if request.method() != Method::GET && request.method() != Method::HEAD {
        return Err((StatusCode::METHOD_NOT_ALLOWED, "only GET and HEAD are allowed\n").into_response());
    }
    let Some(token) = &app.token else {
        web::check_place(request.headers(), false).map_err(IntoResponse::into_response)?;
        return Ok(Standing::Guest);
    };
    let has_token = |headers: &HeaderMap| {
        let mut values = headers.get_all(AUTHORIZATION).iter();
        let (Some(one), None) = (values.next(), values.next()) else { return false };
        one.to_str().is_ok_and(|value| token.is_in(value))
    };
    if has_token(request.headers()) {
        return Ok(Standing::Owner);
    }
    if matches!(request.uri().path(), "/metrics" | "/api/now") {
        let words = "unauthorised: send the token of --token-file as `Authorization: Bearer TOKEN`\n";
        return Err((StatusCode::UNAUTHORIZED, [(WWW_AUTHENTICATE, "Bearer")], words).into_response());
    }
    // Closed before those with the token.
    Ok(Standing::Unknown)
}

async fn metrics(State(app): State<App>, headers: HeaderMap) -> Response {
    let format = Format::accepted(&headers);
    answer(&app, Wanted::Metrics(format), format.content_type()).await
}

async fn now(State(app): State<App>) -> Response {
    answer(&app, Wanted::Now, "application/json").await
}

async fn answer(app: &App, wanted: Wanted, content_type: &'static str) -> Response {
    const BUSY: &str = "the server is busy: try again\n";
    let (to, from) = oneshot::channel();
    match app.questions.try_send(Question { wanted, answer: to }) {
        Ok(()) => {}
        Err(TrySendError::Full(_)) => return (StatusCode::SERVICE_UNAVAILABLE, BUSY).into_response(),
        Err(TrySendError::Disconnected(_)) => return ending(),
    }
    match from.await {
        Ok(Ok(bytes)) => ([(CONTENT_TYPE, content_type)], bytes).into_response(),
        Ok(Err(why)) => (StatusCode::INTERNAL_SERVER_ERROR, format!("{why}\n")).into_response(),
        Err(_) => ending(),
    }
}

fn ending() -> Response {
    (StatusCode::SERVICE_UNAVAILABLE, "corewise watch is ending\n").into_response()
}

async fn page(request: Request) -> Response {
    const NOT_BUILT: &str = "this build of corewise has no page: run `make` in its source folder, with npm installed; /metrics has the figures\n";
    match (web::WATCH.page(request.uri().path()), request.uri().path()) {
        (Some((kind, bytes)), _) => ([(CONTENT_TYPE, kind)], bytes).into_response(),
        (None, "/") => (StatusCode::NOT_FOUND, NOT_BUILT).into_response(),
        (None, _) => (StatusCode::NOT_FOUND, "page not found\n").into_response(),
    }
}
