//! Requests and answers.

use crate::asked::{Rows, Slices, Threads};
use crate::connections::Caller;
use crate::findings::Findings;
use crate::guard::{Guard, HEADERS};
use crate::prepare::Levels;
use crate::questions::{Questions, Unanswered};
use crate::{Prepared, Tracks, answer, pages, panels, rows, tracks};
use axum::Router;
use axum::extract::rejection::QueryRejection;
use axum::extract::{ConnectInfo, Path, Query, Request, State};
use axum::http::header::{CONNECTION, CONTENT_TYPE, HeaderValue, LOCATION, SET_COOKIE};
use axum::http::{Method, StatusCode};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// Of an answer: [`Slices::wanted`] bounds what is drawn to half of it.
const MOST_SLICES: usize = 1 << 20;
/// Threads of an answer.
const MOST_THREADS: usize = 100_000;

/// Who may ask, and when somebody did.
pub(crate) struct Door {
    pub(crate) guard: Guard,
    pub(crate) seen: Seen,
}

/// What requests about a trace are answered from.
pub(crate) struct App {
    pub(crate) levels: Prepared,
    pub(crate) tracks: Tracks,
    pub(crate) about: String,
    /// For what is told of a moment.
    pub(crate) moments: Questions,
    /// For what is reckoned of a time.
    pub(crate) times: Questions,
    pub(crate) findings: Findings,
}

/// When somebody asked last.
pub(crate) struct Seen {
    began: Instant,
    last_ms: AtomicU64,
    being_answered: AtomicU64,
}

/// A request that is being answered, until it is dropped.
struct Answering<'a>(&'a Seen);

impl Drop for Answering<'_> {
    fn drop(&mut self) {
        self.0.now();
        self.0.being_answered.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Seen {
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

    /// Milliseconds since the last answer; 0 while one is being made.
    pub(crate) fn ago_ms(&self) -> u64 {
        if self.being_answered.load(Ordering::Relaxed) > 0 {
            return 0;
        }
        (self.began.elapsed().as_millis() as u64).saturating_sub(self.last_ms.load(Ordering::Relaxed))
    }
}

/// All that can be asked, of one trace or of two.
pub(crate) fn routes(door: Arc<Door>, first: Arc<App>, beside: Option<Arc<App>>) -> Router {
    let mut all = answers(first);
    if let Some(beside) = beside {
        all = all.nest("/beside", answers(beside));
    }
    all.fallback(page).layer(from_fn_with_state(door, guarded))
}

fn answers(app: Arc<App>) -> Router {
    Router::new()
        .route("/api/about", get(about))
        .route("/api/threads", get(threads))
        .route("/api/slices", get(slices))
        .route("/api/table/{name}", get(table))
        .merge(panels::routes())
        .with_state(app)
}

/// Lets through who may ask, and gives every answer the headers. Who may not keeps no connection.
async fn guarded(
    State(door): State<Arc<Door>>,
    ConnectInfo(caller): ConnectInfo<Caller>,
    request: Request,
    next: Next,
) -> Response {
    let mut response = match allowed(&door, &caller, &request) {
        Ok(()) => {
            let _answering = (door.seen.answering(), caller.answering());
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

#[allow(clippy::result_large_err)] // an answer is made once a request
fn allowed(door: &Door, caller: &Caller, request: &Request) -> Result<(), Response> {
    door.guard.place(request.headers()).map_err(IntoResponse::into_response)?;
    if request.method() != Method::GET && request.method() != Method::HEAD {
        return Err((StatusCode::METHOD_NOT_ALLOWED, "nothing can be changed here\n").into_response());
    }
    let token = request.uri().query().filter(|_| request.uri().path() == "/").and_then(|q| q.strip_prefix("token="));
    if token.is_some_and(|told| door.guard.is_token(told)) {
        caller.has_token();
        // Out of the address, so that it is in no history and on no screenshot.
        let headers = [(LOCATION, "/".to_owned()), (SET_COOKIE, door.guard.set_cookie())];
        return Err((StatusCode::SEE_OTHER, headers).into_response());
    }
    door.guard.cookie(request.headers()).map_err(IntoResponse::into_response)?;
    caller.has_token();
    Ok(())
}

async fn page(request: Request) -> Response {
    match pages::page(request.uri().path()) {
        Some((kind, bytes)) => ([(CONTENT_TYPE, kind)], bytes).into_response(),
        None if request.uri().path() == "/" => (StatusCode::NOT_FOUND, NOT_BUILT).into_response(),
        None => (StatusCode::NOT_FOUND, "there is no such page\n").into_response(),
    }
}

const NOT_BUILT: &str = "corewise was built without the viewer's pages: run `make` in its folder, where npm is\n";

async fn about(State(app): State<Arc<App>>) -> Response {
    ([(CONTENT_TYPE, "application/json")], app.about.clone()).into_response()
}

async fn threads(State(app): State<Arc<App>>, asked: Result<Query<Threads>, QueryRejection>) -> Response {
    let Query(asked) = match asked {
        Ok(asked) => asked,
        Err(why) => return no_question(&why.body_text()),
    };
    if asked.last.saturating_sub(asked.first) >= MOST_THREADS {
        return no_question(&format!("ask for {MOST_THREADS} threads at most"));
    }
    let rows = app.tracks.rows(asked.first, asked.last);
    arrow(answer::rows(&tracks::COLUMNS, &rows).map_err(|e| Unanswered::Failed(e.to_string())))
}

async fn slices(State(app): State<Arc<App>>, asked: Result<Query<Slices>, QueryRejection>) -> Response {
    let Query(asked) = match asked {
        Ok(asked) => asked,
        Err(why) => return no_question(&why.body_text()),
    };
    let (span, tracks) = match asked.wanted() {
        Ok(wanted) => wanted,
        Err(why) => return no_question(&why),
    };
    let read = tokio::task::spawn_blocking(move || {
        let (time, width) = (span.start.0..span.end.0, asked.width);
        let levels = &app.levels;
        let of_kind = || levels.kinds.iter().find(|(shown, _)| shown.kind == asked.kind).map(|(_, levels)| levels);
        let states = match asked.kind.as_str() {
            "thread" => &levels.threads,
            "cpu" => &levels.cpus,
            _ => match of_kind() {
                Some(Levels::States(states)) => states,
                Some(Levels::Values(values)) => {
                    let steps = values.slices(time, width, tracks, MOST_SLICES).map_err(unread)?;
                    return answer::steps(&steps).map_err(|e| Unanswered::Failed(e.to_string()));
                }
                None => return Err(Unanswered::Asked("this recording has no tracks of such a kind".into())),
            },
        };
        let slices = states.slices(time, width, tracks, MOST_SLICES).map_err(unread)?;
        answer::slices(&slices).map_err(|e| Unanswered::Failed(e.to_string()))
    });
    arrow(read.await.unwrap_or_else(|e| Err(Unanswered::Failed(e.to_string()))))
}

fn unread(why: levels::Error) -> Unanswered {
    match why {
        levels::Error::TooMany(_) => Unanswered::Asked(why.to_string()),
        _ => Unanswered::Failed(why.to_string()),
    }
}

async fn table(
    State(app): State<Arc<App>>,
    Path(name): Path<String>,
    asked: Result<Query<Rows>, QueryRejection>,
) -> Response {
    match asked {
        Ok(Query(asked)) => arrow(app.moments.ask(move |session, left| rows::rows(session, &name, &asked, left)).await),
        Err(why) => no_question(&why.body_text()),
    }
}

pub(crate) fn arrow(answer: Result<Vec<u8>, Unanswered>) -> Response {
    match answer {
        Ok(bytes) => ([(CONTENT_TYPE, "application/vnd.apache.arrow.stream")], bytes).into_response(),
        Err(why) => unanswered(&why),
    }
}

pub(crate) fn unanswered(why: &Unanswered) -> Response {
    match why {
        Unanswered::Asked(why) => no_question(why),
        Unanswered::Busy => (StatusCode::SERVICE_UNAVAILABLE, "too much is asked at once: ask again\n").into_response(),
        Unanswered::Failed(why) => (StatusCode::INTERNAL_SERVER_ERROR, format!("{why}\n")).into_response(),
    }
}

pub(crate) fn no_question(why: &str) -> Response {
    (StatusCode::BAD_REQUEST, format!("{why}\n")).into_response()
}
