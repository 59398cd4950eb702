//! The findings: computed once, on the first request, while other requests are answered.

use crate::queries::{QueryError, Worker};
use diagnose::{Options, RULES};
use engine::Session;
use serde_json::json;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The diagnosis and its progress.
#[derive(Default)]
pub(crate) struct Findings(Arc<Mutex<State>>);

#[derive(Default)]
enum State {
    #[default]
    NotStarted,
    Running,
    Done(Result<Arc<str>, String>),
}

impl Findings {
    /// Returns the diagnosis as printed by `corewise diagnose --format json`, with a description of each rule (`rules`); `None` while
    /// it is being computed. The first call starts it.
    pub(crate) fn get(&self, worker: &Worker) -> Result<Option<Arc<str>>, QueryError> {
        let mut state = lock(&self.0);
        match &*state {
            State::Done(result) => return result.clone().map(Some).map_err(QueryError::Failed),
            State::Running => return Ok(None),
            State::NotStarted => {}
        }
        let to = Arc::clone(&self.0);
        worker.queue(move |session| {
            let result = diagnosed(session).map(Arc::from);
            *lock(&to) = State::Done(result);
        })?;
        *state = State::Running;
        Ok(None)
    }
}

/// Locks the state, which is valid even after a panic: it is replaced as a whole.
fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Diagnoses the recording.
pub(crate) fn diagnosed(session: &Session) -> Result<String, String> {
    let diagnosis = diagnose::diagnose(session, &Options::default()).map_err(|e| e.to_string())?;
    let text = diagnose::json(session, &diagnosis).map_err(|e| e.to_string())?;
    let mut json: serde_json::Value = serde_json::from_str(&text).map_err(|e| e.to_string())?;
    json["rules"] = RULES.iter().map(|rule| json!({"rule": rule.id, "about": rule.about})).collect();
    Ok(json.to_string())
}
