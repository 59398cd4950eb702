//! What is wrong with the recording: diagnosed once, when it is first asked for, while other questions are answered.

use crate::questions::{Questions, Unanswered};
use diagnose::{Options, RULES};
use engine::Session;
use serde_json::json;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The diagnosis, or that it is being made.
#[derive(Default)]
pub(crate) struct Findings(Arc<Mutex<Made>>);

#[derive(Default)]
enum Made {
    #[default]
    No,
    Being,
    Told(Result<Arc<str>, String>),
}

impl Findings {
    /// The diagnosis as `corewise diagnose --format json` tells it, with what each rule finds (`rules`); nothing while it is
    /// being made, which the first question begins.
    pub(crate) fn told(&self, questions: &Questions) -> Result<Option<Arc<str>>, Unanswered> {
        let mut made = lock(&self.0);
        match &*made {
            Made::Told(told) => return told.clone().map(Some).map_err(Unanswered::Failed),
            Made::Being => return Ok(None),
            Made::No => {}
        }
        let to = Arc::clone(&self.0);
        questions.later(move |session| {
            let told = diagnosed(session).map(Arc::from);
            *lock(&to) = Made::Told(told);
        })?;
        *made = Made::Being;
        Ok(None)
    }
}

/// What is held is one value, whole at any time: whoever panicked left it so.
fn lock(made: &Mutex<Made>) -> MutexGuard<'_, Made> {
    made.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The diagnosis.
pub(crate) fn diagnosed(session: &Session) -> Result<String, String> {
    let said = diagnose::diagnose(session, &Options::default()).map_err(|e| e.to_string())?;
    let told = diagnose::json(session, &said).map_err(|e| e.to_string())?;
    let mut told: serde_json::Value = serde_json::from_str(&told).map_err(|e| e.to_string())?;
    told["rules"] = RULES.iter().map(|rule| json!({"rule": rule.id, "about": rule.about})).collect();
    Ok(told.to_string())
}
