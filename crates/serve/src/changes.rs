//! What changed between two traces, by role of threads. The caller compares them, perhaps long after the server has started.

use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use model::ThreadKey;
use serde::Serialize;
use serde_json::json;
use std::sync::{Arc, OnceLock};

/// What changed from the first trace to the second.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Changes {
    /// The answer in a sentence; empty if there is none.
    pub answer: String,
    /// What must be known before the numbers, a sentence each.
    pub notes: Vec<String>,
    /// The lengths of the recordings, ns.
    pub span_ns: [i64; 2],
    /// The metrics, in the order of the values of each role.
    pub metrics: Vec<ChangeMetric>,
    /// The roles. Each thread is in at most one.
    pub roles: Vec<RoleChange>,
}

/// A metric by which threads can be coloured.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct ChangeMetric {
    /// Its stable id, such as `ready_ns`.
    pub id: String,
    /// Its name for users, such as `ready time`.
    pub title: String,
    /// Whether it is a time in ns; otherwise it is a count.
    pub is_time: bool,
}

/// A role: threads with one function, whichever their number.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct RoleChange {
    /// Its name for users, unique.
    pub name: String,
    /// How its threads in the two traces were found to be the same, as words after "matched by"; `None` if only one trace has it.
    pub matched_by: Option<&'static str>,
    /// How sure that is: `high`, `medium` or `low`; of a role of one trace, how sure it is that the other has none.
    pub confidence: &'static str,
    /// Whether it belongs to the recorded program, and is no kernel thread.
    pub is_own: bool,
    /// The keys of its threads in the first and in the second trace.
    pub threads: [Vec<ThreadKey>; 2],
    /// One per metric.
    pub values: Vec<ValueChange>,
}

/// A metric of a role.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct ValueChange {
    /// The sum over the threads of the role in the first and in the second trace, ns or a count; `None` if not recorded, or without threads.
    pub values: [Option<f64>; 2],
    /// Whether both values are too small for their ratio to mean anything.
    pub is_small: bool,
    /// Whether the change is more than chance: `changed` or `same`; `None` if the recordings do not suffice to say.
    pub verdict: Option<&'static str>,
}

/// Creates both ends: the comparison is passed to one, and the server answers from the other.
#[must_use]
pub fn changes() -> (ChangesSender, ChangesReceiver) {
    let answer = Arc::new(OnceLock::new());
    (ChangesSender(Arc::clone(&answer)), ChangesReceiver(answer))
}

/// Takes the comparison. If dropped without one, the viewer shows that there is none.
pub struct ChangesSender(Arc<OnceLock<String>>);

impl ChangesSender {
    /// Passes the comparison, or why there is none, as a sentence.
    pub fn send(self, changes: Result<Changes, String>) {
        let text = match changes {
            Ok(changes) => json!(changes).to_string(),
            Err(why) => message(&why),
        };
        let _ = self.0.set(text);
    }
}

impl Drop for ChangesSender {
    fn drop(&mut self) {
        let _ = self.0.set(message("the comparison ended unexpectedly"));
    }
}

fn message(why: &str) -> String {
    json!({ "message": why }).to_string()
}

/// Answers with the comparison, once there is one.
pub struct ChangesReceiver(Arc<OnceLock<String>>);

/// The route: 202 while the traces are being compared.
pub(crate) fn routes(from: ChangesReceiver) -> Router {
    Router::new().route("/api/changes", get(answer)).with_state(from.0)
}

async fn answer(State(answer): State<Arc<OnceLock<String>>>) -> Response {
    match answer.get() {
        Some(text) => ([(CONTENT_TYPE, "application/json")], text.clone()).into_response(),
        None => (StatusCode::ACCEPTED, "the traces are being compared: try again\n").into_response(),
    }
}
