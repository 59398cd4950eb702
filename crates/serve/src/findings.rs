//! The findings: computed once, on the first request, while other requests are answered.

use crate::queries::{QueryError, Worker};
use diagnose::{Detail, Finding, Line, Options, RULES, System};
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
    /// Returns the diagnosis as printed by `corewise diagnose --format json`, with a description of each rule (`rules`) and
    /// the lines that are shown of each finding (`lines`); `None` while
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
    add_lines(&mut json["findings"], &diagnosis.findings, diagnosis.system);
    json["rules"] = RULES.iter().map(|rule| json!({"rule": rule.id, "about": rule.about})).collect();
    Ok(json.to_string())
}

/// Adds the lines that are shown of each finding, as in a terminal and in a report.
fn add_lines(to: &mut serde_json::Value, findings: &[Finding], system: Option<System>) {
    for (at, finding) in findings.iter().enumerate() {
        let text = |line: &Line| line.words.iter().map(|(words, _)| words.as_str()).collect::<String>();
        let lines = diagnose::lines(finding, system, Detail::Whole);
        to[at]["lines"] =
            lines.iter().map(|line| json!({"of": line.of, "head": line.of.head(), "words": text(line)})).collect();
        add_lines(&mut to[at]["also_resolved"], &finding.also, system);
    }
}
