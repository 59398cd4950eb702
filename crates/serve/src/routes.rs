//! The routes of requests.

use crate::changes::{self, ChangesReceiver};
use crate::findings::Findings;
use crate::frames::{self, FrameLists};
use crate::guard::{Guard, NO_TOKEN};
use crate::pending::{self, Phase};
use crate::prepare::Levels;
use crate::queries::{QueryError, Worker};
use crate::query::{Rows, Slices, Threads};
use crate::{Prepared, Tracks, answer, pages, panels, rows, tracks};
use axum::Router;
use axum::extract::rejection::QueryRejection;
use axum::extract::{ConnectInfo, Path, Query, Request, State};
use axum::http::StatusCode;
use axum::http::header::{CONNECTION, CONTENT_TYPE, HeaderValue, LOCATION, SET_COOKIE};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;
use tokio::sync::watch;
use web::{Caller, HEADERS, Standing};

/// The maximum number of slices in an answer; [`Slices::validated`] limits requests to half of it.
const MAX_SLICES: usize = 1 << 20;
/// The maximum number of threads in an answer.
const MAX_THREADS: usize = 100_000;

/// Access control, and the time of the last request.
pub(crate) struct Access {
    pub(crate) guard: Guard,
    pub(crate) activity: Activity,
}

/// The data from which requests about a trace are answered.
pub(crate) struct App {
    pub(crate) levels: Prepared,
    pub(crate) tracks: Tracks,
    pub(crate) about: String,
    /// For short lookups.
    pub(crate) lookups: Worker,
    /// For computations over a time range.
    pub(crate) computations: Worker,
    pub(crate) findings: Findings,
    pub(crate) frames: FrameLists,
}

/// The time of the last request.
pub(crate) struct Activity {
    began: Instant,
    last_ms: AtomicU64,
    being_answered: AtomicU64,
}

/// A guard for a request that is being answered.
struct Answering<'a>(&'a Activity);

impl Drop for Answering<'_> {
    fn drop(&mut self) {
        self.0.now();
        self.0.being_answered.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Activity {
    pub(crate) fn new() -> Self {
        Self { began: Instant::now(), last_ms: AtomicU64::new(0), being_answered: AtomicU64::new(0) }
    }

    fn answering(&self) -> Answering<'_> {
        self.being_answered.fetch_add(1, Ordering::Relaxed);
        Answering(self)
    }

    fn now(&self) {
        self.last_ms.store(self.began.elapsed().as_millis() as u64, Ordering::Relaxed);
    }

    /// Returns whether a request with a token was answered.
    pub(crate) fn has_answered(&self) -> bool {
        self.last_ms.load(Ordering::Relaxed) > 0 || self.being_answered.load(Ordering::Relaxed) > 0
    }

    /// Returns the milliseconds since the last answer; 0 while a request is being answered.
    pub(crate) fn idle_ms(&self) -> u64 {
        if self.being_answered.load(Ordering::Relaxed) > 0 {
            return 0;
        }
        (self.began.elapsed().as_millis() as u64).saturating_sub(self.last_ms.load(Ordering::Relaxed))
    }
}

/// Returns all routes, for what is ready or will be.
pub(crate) fn routes(access: Arc<Access>, phase: watch::Receiver<Phase>) -> Router {
    Router::new().fallback(pending::answer).with_state(phase).layer(from_fn_with_state(access, guarded))
}

/// Returns the routes for one trace or two.
pub(crate) fn data(first: Arc<App>, second: Option<(Arc<App>, ChangesReceiver)>) -> Router {
    let mut all = answers(first);
    if let Some((second, changes)) = second {
        all = all.nest("/second", answers(second)).merge(changes::routes(changes));
    }
    all.fallback(page)
}

async fn page(request: Request) -> Response {
    pages::answer(request.uri().path())
}

fn answers(app: Arc<App>) -> Router {
    Router::new()
        .route("/api/about", get(about))
        .route("/api/threads", get(threads))
        .route("/api/slices", get(slices))
        .route("/api/table/{name}", get(table))
        .merge(panels::routes())
        .merge(frames::routes())
        .with_state(app)
}

/// Checks a request and adds the headers to every answer. The connection of a refused request is closed.
async fn guarded(
    State(access): State<Arc<Access>>,
    ConnectInfo(caller): ConnectInfo<Caller>,
    request: Request,
    next: Next,
) -> Response {
    let mut response = match allowed(&access, &caller, &request) {
        Ok(()) => {
            let _answering = (access.activity.answering(), caller.answering());
            next.run(request).await
        }
        Err(answer) => answer,
    };
    if !caller.is_known() {
        response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    }
    response.headers_mut().extend(HEADERS);
    response
}

#[allow(clippy::result_large_err)] // made once per request
fn allowed(access: &Access, caller: &Caller, request: &Request) -> Result<(), Response> {
    let Access { guard, .. } = access;
    guard.place(request.headers()).map_err(IntoResponse::into_response)?;
    let token = request.uri().query().filter(|_| request.uri().path() == "/").and_then(|q| q.strip_prefix("token="));
    let in_address = token.map(|token| guard.who(token)).filter(|who| *who != Err(NO_TOKEN));
    let who = in_address.unwrap_or_else(|| guard.cookie(request.headers()));
    caller.set(who.map_or(Standing::Unknown, Standing::from));
    let who = who.map_err(IntoResponse::into_response)?;
    who.may(request.method()).map_err(IntoResponse::into_response)?;
    if in_address.is_some() {
        // Redirect without the token, so that it is not in the history or on screenshots.
        let headers = [(LOCATION, "/".to_owned()), (SET_COOKIE, guard.set_cookie(who))];
        return Err((StatusCode::SEE_OTHER, headers).into_response());
    }
    Ok(())
}

async fn about(State(app): State<Arc<App>>) -> Response {
    ([(CONTENT_TYPE, "application/json")], app.about.clone()).into_response()
}

async fn threads(State(app): State<Arc<App>>, query: Result<Query<Threads>, QueryRejection>) -> Response {
    let Query(query) = match query {
        Ok(query) => query,
        Err(why) => return bad_request(&why.body_text()),
    };
    if query.last.saturating_sub(query.first) >= MAX_THREADS {
        return bad_request(&format!("the maximum number of threads is {MAX_THREADS}"));
    }
    let rows = app.tracks.rows(query.first, query.last);
    arrow(answer::rows(&tracks::COLUMNS, &rows).map_err(|e| QueryError::Failed(e.to_string())))
}

async fn slices(State(app): State<Arc<App>>, query: Result<Query<Slices>, QueryRejection>) -> Response {
    let Query(query) = match query {
        Ok(query) => query,
        Err(why) => return bad_request(&why.body_text()),
    };
    let (span, tracks) = match query.validated() {
        Ok(wanted) => wanted,
        Err(why) => return bad_request(&why),
    };
    let read = tokio::task::spawn_blocking(move || {
        let (time, width) = (span.start.0..span.end.0, query.width);
        let levels = &app.levels;
        let of_kind = || levels.kinds.iter().find(|(shown, _)| shown.kind == query.kind).map(|(_, levels)| levels);
        let states = match query.kind.as_str() {
            "thread" => &levels.threads,
            "cpu" => &levels.cpus,
            _ => match of_kind() {
                Some(Levels::States(states)) => states,
                Some(Levels::Values(values)) => {
                    let steps = values.slices(time, width, tracks, MAX_SLICES).map_err(unread)?;
                    return answer::steps(&steps).map_err(|e| QueryError::Failed(e.to_string()));
                }
                None => return Err(QueryError::Invalid("this recording has no tracks of this kind".into())),
            },
        };
        let slices = states.slices(time, width, tracks, MAX_SLICES).map_err(unread)?;
        answer::slices(&slices).map_err(|e| QueryError::Failed(e.to_string()))
    });
    arrow(read.await.unwrap_or_else(|e| Err(QueryError::Failed(e.to_string()))))
}

fn unread(why: levels::Error) -> QueryError {
    match why {
        levels::Error::TooMany(_) => QueryError::Invalid(why.to_string()),
        _ => QueryError::Failed(why.to_string()),
    }
}

async fn table(
    State(app): State<Arc<App>>,
    Path(name): Path<String>,
    query: Result<Query<Rows>, QueryRejection>,
) -> Response {
    match query {
        Ok(Query(query)) => {
            arrow(app.lookups.ask(move |session, cancelled| rows::rows(session, &name, &query, cancelled)).await)
        }
        Err(why) => bad_request(&why.body_text()),
    }
}

pub(crate) fn arrow(answer: Result<Vec<u8>, QueryError>) -> Response {
    match answer {
        Ok(bytes) => ([(CONTENT_TYPE, "application/vnd.apache.arrow.stream")], bytes).into_response(),
        Err(why) => query_error(&why),
    }
}

pub(crate) fn query_error(why: &QueryError) -> Response {
    match why {
        QueryError::Invalid(why) => bad_request(why),
        QueryError::Busy => (StatusCode::SERVICE_UNAVAILABLE, "the server is busy: try again\n").into_response(),
        QueryError::Failed(why) => (StatusCode::INTERNAL_SERVER_ERROR, format!("{why}\n")).into_response(),
    }
}

pub(crate) fn bad_request(why: &str) -> Response {
    (StatusCode::BAD_REQUEST, format!("{why}\n")).into_response()
}
