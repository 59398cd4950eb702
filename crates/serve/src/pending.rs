//! The time before a trace is ready: the server listens, the page shows the progress, and requests for data wait.
//!
//! ```text
//!                   /, /assets/…       the pages, also before
//!   Preparing ────▶ /api/progress      what is being done; then "ready", or why it failed
//!                   other requests     wait; then the answer, or why there is none
//! ```

use crate::pages;
use axum::Router;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use serde_json::json;
use std::time::{Duration, Instant};
use tokio::sync::watch;
use tower_service::Service;

/// How long the server answers after a failure, so that an open page can show it.
const AFTER_FAILURE: Duration = Duration::from_secs(2);
const PROGRESS: &str = "/api/progress";

/// What the server can answer.
pub(crate) enum Phase {
    /// Only what is being done, as a text for the user, how much of it is done (0 to 1) if that is known, and since when.
    Preparing(String, Option<f64>, Instant),
    /// Everything.
    Ready(Router),
    /// Nothing, and why.
    Failed(String),
}

/// Passes the progress of a preparation to a server, and its result. If it is dropped without one, the server ends.
pub struct Preparation(watch::Sender<Phase>);

impl Preparation {
    /// Creates both ends.
    pub(crate) fn new() -> (Self, watch::Receiver<Phase>) {
        let (send, receive) =
            watch::channel(Phase::Preparing("Opening the recording".to_owned(), None, Instant::now()));
        (Self(send), receive)
    }

    /// Shows what is being done, as a text for the user without a full stop, and how much of it is done, 0 to 1, if that is known.
    pub fn show(&self, doing: String, share: Option<f64>) {
        self.0.send_modify(|phase| {
            if let Phase::Preparing(text, done, _) = phase {
                (*text, *done) = (doing, share);
            }
        });
    }

    /// Shows on open pages why the preparation failed, and ends the server soon after.
    pub fn failed(self, why: &str) {
        self.0.send_replace(Phase::Failed(why.to_owned()));
    }

    pub(crate) fn done(self, answers: Router) {
        self.0.send_replace(Phase::Ready(answers));
    }
}

/// Answers a request as far as that is possible now, or waits.
pub(crate) async fn answer(State(phase): State<watch::Receiver<Phase>>, request: Request) -> Response {
    let path = request.uri().path();
    if path == PROGRESS {
        return progress(&phase.borrow());
    }
    if path == "/" || pages::page(path).is_some() {
        return pages::answer(path);
    }
    let router = match ready(phase).await {
        Ok(router) => router,
        Err(why) => return (StatusCode::INTERNAL_SERVER_ERROR, format!("{why}\n")).into_response(),
    };
    let mut router = router;
    router.call(request).await.unwrap_or_else(|never| match never {})
}

/// Waits for the routes of a trace.
async fn ready(mut phase: watch::Receiver<Phase>) -> Result<Router, String> {
    let done = phase.wait_for(|phase| !matches!(phase, Phase::Preparing(..))).await;
    match done.as_deref() {
        Ok(Phase::Ready(router)) => Ok(router.clone()),
        Ok(Phase::Failed(why)) => Err(why.clone()),
        _ => Err("the preparation of the recording ended unexpectedly".to_owned()),
    }
}

fn progress(phase: &Phase) -> Response {
    let answer = match phase {
        Phase::Preparing(doing, share, since) => {
            json!({"ready": false, "doing": doing, "share": share, "seconds": since.elapsed().as_secs_f64()})
        }
        Phase::Ready(_) => json!({"ready": true}),
        Phase::Failed(why) => json!({"ready": false, "failed": why}),
    };
    ([(CONTENT_TYPE, "application/json")], answer.to_string()).into_response()
}

/// Returns whether a trace is being prepared.
pub(crate) fn is_preparing(phase: &watch::Receiver<Phase>) -> bool {
    matches!(*phase.borrow(), Phase::Preparing(..))
}

/// Waits until the preparation has failed and the page, if one is open, has had time to show it; forever if it does not fail.
pub(crate) async fn failure(mut phase: watch::Receiver<Phase>, is_page_open: impl FnOnce() -> bool) {
    let failed = phase.wait_for(|phase| matches!(phase, Phase::Failed(_))).await.is_ok();
    if failed {
        tokio::time::sleep(if is_page_open() { AFTER_FAILURE } else { Duration::ZERO }).await;
    } else if matches!(*phase.borrow(), Phase::Ready(_)) {
        std::future::pending::<()>().await;
    }
}
