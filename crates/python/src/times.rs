//! Times as Python users write them.

use crate::errors::error;
use engine::{IntervalName, Session, exact_time};
use model::{Ns, Span};
use pyo3::prelude::*;

/// A range of a recording: a text such as `1.5s..2s` or `period:game#3`, or a pair of times.
#[derive(FromPyObject)]
pub enum Range {
    /// Of one text.
    Text(String),
    /// Of two times, either of which may be missing.
    Times(Option<Time>, Option<Time>),
}

/// A time since the start of the recording.
#[derive(FromPyObject)]
pub enum Time {
    /// A number with a unit (`1.5s`, `20ms`), or in seconds.
    Text(String),
    /// Seconds.
    Seconds(f64),
}

impl Range {
    /// Returns the span that is meant.
    ///
    /// # Errors
    /// A time cannot be read, or the trace has no such interval.
    pub fn span(&self, session: &Session) -> PyResult<Span> {
        let (start, end) = match self {
            Self::Text(text) if text.contains(':') => {
                let name: IntervalName = text.parse().map_err(error)?;
                return session.interval(&name).map(|found| found.span).map_err(error);
            }
            Self::Text(text) => {
                let expected =
                    || error("a range has two times separated by two dots, such as 1.5s..2s, ..10s or 30s..");
                let (start, end) = text.split_once("..").ok_or_else(expected)?;
                let given = |text: &str| Some(text.trim().to_owned()).filter(|text| !text.is_empty());
                (given(start).map(Time::Text), given(end).map(Time::Text))
            }
            Self::Times(start, end) => return span(start.as_ref(), end.as_ref()),
        };
        span(start.as_ref(), end.as_ref())
    }
}

fn span(start: Option<&Time>, end: Option<&Time>) -> PyResult<Span> {
    let start = start.map_or(Ok(Ns::ZERO), Time::ns)?;
    let end = end.map_or(Ok(Ns::MAX), Time::ns)?;
    if start < end { Ok(Span { start, end }) } else { Err(error("the end of a range must be after its start")) }
}

impl Time {
    fn ns(&self) -> PyResult<Ns> {
        let wrong = |of: &dyn std::fmt::Display| {
            error(format!(
                "{of} is not a time since the start of the recording, such as 1.5s, 20ms, 300us, 7ns or a number of seconds"
            ))
        };
        match self {
            Self::Text(text) => {
                let text = text.trim();
                let unit = if text.ends_with(|c: char| c.is_ascii_alphabetic()) { "" } else { "s" };
                exact_time(&format!("{text}{unit}")).ok_or_else(|| wrong(&text))
            }
            Self::Seconds(seconds) => {
                let ns = (seconds * 1e9).round();
                // Above this, the number has no exact integer.
                if (0.0..9e18).contains(&ns) { Ok(Ns(ns as i64)) } else { Err(wrong(seconds)) }
            }
        }
    }
}
